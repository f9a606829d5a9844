import { afterAll } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { openState } from '../../src/storage/state/open.js'
import { type Machine, machine } from './command.js'
import { newFolder } from './new-folder.js'
import { emptyEngine, emptySchema, emptyTables, freshSchema, type TestDatabase } from './postgres.js'

type Databases = readonly [name: string, open: () => Promise<Driver>][]

/** The databases that runs of a file's tests may be kept in, and how a test gets an empty one. */
export const states = (): Databases => [
  ['SQLite', () => openState(':memory:')],
  ['PostgreSQL', shared(openState, (schema) => schema.sql(emptyTables(schema.name)))],
]

/** The databases that an engine of a file's tests may be in, and how a test gets an empty one. */
export const engines = (): Databases => [
  ['SQLite', () => openEngineDatabase(':memory:')],
  ['PostgreSQL', shared(openEngineDatabase, emptyEngine)],
]

/** Machines that keep everything in their home, or in a database of their own on a server. */
export const machines: readonly [name: string, open: () => Promise<Machine>][] = [
  ['SQLite', async () => machine()],
  [
    'PostgreSQL',
    async () => {
      const { url, drop } = await emptySchema()
      const one = machine(undefined, { PROSPECT_DATABASE_URL: url })
      const remove = async () => {
        one.remove()
        await drop()
      }
      return { ...one, remove }
    },
  ],
]

interface Place {
  readonly location: string
  drop(): Promise<unknown>
}

/** Where several processes have one database, which is not there yet. */
export const places: readonly [name: string, open: () => Promise<Place>][] = [
  [
    'SQLite',
    async () => {
      const { at, remove } = newFolder()
      return { location: at('shared.db'), drop: async () => remove() }
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const { url, drop } = await freshSchema()
      return { location: url, drop }
    },
  ],
]

/** One on a server, which the tests of a file empty for each other. */
function shared(
  open: (location: string) => Promise<Driver>,
  empty: (schema: TestDatabase) => Promise<unknown>,
): () => Promise<Driver> {
  let opened: Promise<{ schema: TestDatabase; driver: Driver }> | undefined
  const first = async () => {
    const schema = await freshSchema()
    return { schema, driver: await open(schema.url) }
  }
  afterAll(async () => {
    if (!opened) return
    const { schema, driver } = await opened
    await driver.close()
    await schema.drop()
  })
  return async () => {
    opened ??= first()
    const { schema, driver } = await opened
    await empty(schema)
    return driver
  }
}
