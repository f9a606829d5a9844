import { inBoth, migrate, prepareDatabase } from '../../storage/database/migrate.js'
import { openDatabase } from '../../storage/database/open.js'
import { type Driver, tablesIn } from '../../storage/driver/connection.js'
import suppressions from '../../storage/state/suppressions.sql'
import faults from './faults.sql'
import postgresTriggers from './postgres-triggers.sql'
import providers from './providers.sql'
import sqliteTriggers from './sqlite-triggers.sql'
import tables from './tables.sql'

const tablesSql = tables + suppressions + faults + providers

/** Returns the tables of the engine, each after those that it refers to, with the columns that identify its rows. */
export const listEngineTables = (): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(tablesIn(tablesSql).map(({ name, key }) => [name, key]))

export const engineSchema = inBoth(tablesSql, { sqlite: sqliteTriggers, postgres: postgresTriggers }, () => [
  ...Object.keys(listEngineTables()),
  'entries',
])

/** Opens the engine's database, and creates its tables where there are none. `now` is this machine's clock, compared with the server's. */
export async function openEngineDatabase(location: string, now?: () => number): Promise<Driver> {
  return prepareDatabase(await openDatabase(location, now ? { postgres: { now } } : {}), (driver) =>
    migrate(driver, engineSchema),
  )
}
