import { afterAll } from 'vitest'
import type { Driver } from '../../src/storage/driver/connection.js'
import { openState } from '../../src/storage/state/open.js'
import { emptyTables, freshSchema, type TestDatabase } from './postgres.js'

/** The databases that runs of a file's tests may be kept in, and how a test gets an empty one. */
export const states = (): readonly [name: string, open: () => Promise<Driver>][] => [
  ['SQLite', () => openState(':memory:')],
  ['PostgreSQL', sharedState()],
]

/** One on a server, which the tests of a file empty for each other. */
function sharedState(): () => Promise<Driver> {
  let opened: Promise<{ schema: TestDatabase; driver: Driver }> | undefined
  const first = async () => {
    const schema = await freshSchema()
    return { schema, driver: await openState(schema.url) }
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
    await schema.sql(emptyTables(schema.name))
    return driver
  }
}
