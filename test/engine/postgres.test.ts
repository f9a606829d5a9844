import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { sample } from '../support/effort.js'
import { benchDatabase } from '../support/engine.js'
import { emptyEngine, freshSchema } from '../support/postgres.js'

// An engine behaves alike in both databases, so the tests of SQLite run again here: a third of the files, those that
// write most, or all with --long. The queue's tests (jobs/queue) are of both databases themselves.
const suites = [
  'credits/holds',
  'purge',
  'limits',
  'worker/deliveries',
  'personas',
  'handlers/cursor',
  'credits/idempotency',
  'credits/row-claims',
  'admin/erasure',
  'worker/worker',
  'clock-steps',
  'credits/ledger',
  'faults',
  'jobs/contacts',
  'jobs/lists',
  'jobs/imports',
  'jobs/events',
]

type Place = Awaited<ReturnType<typeof make>>

/** Databases that no bench is in any more: the next finds its tables made and its connections open. */
const free: Place[] = []
const used = new Set<Place>()

async function make() {
  const schema = await freshSchema()
  return { schema, driver: await openEngineDatabase(schema.url) }
}

async function open(): Promise<Driver> {
  const place = free.pop() ?? (await make())
  used.add(place)
  return { ...place.driver, close: () => give(place) }
}

async function give(place: Place): Promise<void> {
  if (!used.delete(place)) return
  await emptyEngine(place.schema)
  free.push(place)
}

describe('an engine in PostgreSQL', async () => {
  const { open: inMemory } = benchDatabase
  beforeAll(() => {
    benchDatabase.open = open
  })
  afterEach(() => Promise.all([...used].map(give)))
  afterAll(async () => {
    benchDatabase.open = inMemory
    for (const { schema, driver } of free) {
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
