import { inBoth, migrate, prepareDatabase, type Schema } from '../../storage/database/migrate.js'
import { openDatabase } from '../../storage/database/open.js'
import { type Driver, tablesIn } from '../../storage/driver/connection.js'
import suppressions from '../../storage/state/suppressions.sql'
import faults from './faults.sql'
import membersAndKeys from './members-and-keys.sql'
import postgresTriggers from './postgres-triggers.sql'
import providers from './providers.sql'
import sqliteTriggers from './sqlite-triggers.sql'
import tables from './tables.sql'

/** Finds the oldest job of each workspace in turn. */
const jobsDue =
  "CREATE INDEX jobs_due ON jobs (workspace_id, created_at, id) WHERE state IN ('queued', 'running');"

/** Returns the tables of the engine, each after those that it refers to, with the columns that identify its rows. */
export const listEngineTables = (): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(tablesIn(tables + suppressions + faults + providers).map(({ name, key }) => [name, key]))

/** Builds before the first release had an index that goes through the jobs of all workspaces together. */
const fromUnreleased = `DROP INDEX jobs_due;${jobsDue}`

export const engineSchema: Schema = {
  first: inBoth(tables, { jobsDue }, { sqlite: sqliteTriggers, postgres: postgresTriggers }),
  steps: [suppressions, faults, providers, membersAndKeys].map((sql) => inBoth(sql)),
  unreleased: 5,
  fromUnreleased: { sqlite: fromUnreleased, postgres: fromUnreleased },
  // Only a migration needs them: no start of the program waits for them.
  get privateTables() {
    return [...Object.keys(listEngineTables()), 'entries']
  },
}

/** Opens the engine's database and brings its schema up to date. `now` is this machine's clock, compared with the server's. */
export async function openEngineDatabase(location: string, now?: () => number): Promise<Driver> {
  return prepareDatabase(await openDatabase(location, now ? { postgres: { now } } : {}), (driver) =>
    migrate(driver, engineSchema),
  )
}
