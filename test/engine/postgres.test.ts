import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { sample } from '../support/effort.js'
import { benchDatabase } from '../support/engine.js'
import { emptyEngine, freshSchema, type TestDatabase } from '../support/postgres.js'

// An engine behaves alike in both databases, so the tests of SQLite run again here: a third of the files, those that
// write most, or all with --long.
const suites = [
  'jobs',
  'purge',
  'limits',
  'deliveries',
  'personas',
  'handlers/cursor',
  'credits/idempotency',
  'credits/row-claims',
  'admin/erasure',
  'worker/worker',
  'clock-steps',
  'credits/ledger',
  'faults',
]

interface Place {
  readonly schema: TestDatabase
  readonly driver: Driver
}

/** Databases that no bench is in any more: the next finds its tables made and its connections open. */
const emptied: Place[] = []
const used = new Map<Driver, Place>()

async function open(): Promise<Driver> {
  const place = emptied.pop() ?? (await make())
  const driver = { ...place.driver, close: () => give(driver) }
  used.set(driver, place)
  return driver
}

async function make(): Promise<Place> {
  const schema = await freshSchema()
  return { schema, driver: await openEngineDatabase(schema.url) }
}

async function give(driver: Driver): Promise<void> {
  const place = used.get(driver)
  if (!place) return
  used.delete(driver)
  await emptyEngine(place.schema)
  emptied.push(place)
}

describe('an engine in PostgreSQL', async () => {
  const { open: inMemory } = benchDatabase
  beforeAll(() => {
    benchDatabase.open = open
  })
  afterEach(() => Promise.all([...used.keys()].map(give)))
  afterAll(async () => {
    benchDatabase.open = inMemory
    for (const { schema, driver } of emptied) {
      await driver.close()
      await schema.drop()
    }
  })

  it('runs test files that exist, also those that only --long runs', () => {
    const path = (suite: string) => fileURLToPath(new URL(`./${suite}.test.ts`, import.meta.url))
    expect(suites.filter((suite) => !existsSync(path(suite)))).toEqual([])
  })

  // The query makes each a separate module, even when this process has already run the file.
  for (const suite of sample(suites, 3)) await import(/* @vite-ignore */ `./${suite}.test.ts?in-postgres`)
})
