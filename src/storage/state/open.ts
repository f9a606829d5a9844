import { inBoth, migrate, prepareDatabase } from '../database/migrate.js'
import type { MovedPart } from '../database/move.js'
import { openDatabase } from '../database/open.js'
import { type Driver, tablesIn } from '../driver/connection.js'
import type { SqliteOptions } from '../driver/sqlite/driver.js'
import crm from './crm.sql'
import runsOnServer from './postgres.sql'
import lookupsHere from './sqlite.sql'
import suppressions from './suppressions.sql'
import tables from './tables.sql'

/** Where the tables are in a database that an engine may share: beside the engine's. */
const schemaSuffix = '_state'

/** A row of a lookup grows when its answer comes: in small pages, most would be moved then. */
const pageBytes = 16_384

interface StateOptions extends SqliteOptions {
  /** This machine's clock, which a server's is compared with. */
  readonly now?: () => number
}

/** Opens `state.db`, or what is in its place on a server, by a `postgres://` address; creates its tables where there are none. */
export async function openState(location: string, { now, ...sqlite }: StateOptions = {}): Promise<Driver> {
  // Plans made while the tables are empty would read all answers of a run for each one that is looked for.
  const postgres = { schemaSuffix, replan: true, ...(now ? { now } : {}) }
  return prepareDatabase(
    await openDatabase(location, { sqlite: { pageBytes, ...sqlite }, postgres }),
    (driver) => migrate(driver, stateSchema),
  )
}

/** Opens the state that several machines share at a `postgres://` address; `undefined` where there is none yet. */
export async function findShared(address: string, options: StateOptions = {}): Promise<Driver | undefined> {
  const { hasSchemaBeside } = await import('../driver/postgres/driver.js')
  return (await hasSchemaBeside(address, schemaSuffix)) ? await openState(address, options) : undefined
}

const all = tables + suppressions + crm

/** The schema of `state.db`, or of what several machines share in its place. */
export const stateSchema = inBoth(all, { sqlite: lookupsHere, postgres: runsOnServer })

/** Returns the runs that machines share, as they move to another server with their engine. */
export const movedRuns = (): MovedPart => ({
  schema: stateSchema,
  tables: tablesIn(all),
  schemaSuffix,
  pageBytes,
  leased: [{ table: 'run_locks', key: ['name'] }],
})
