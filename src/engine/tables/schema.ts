import { inBoth, migrate, prepareDatabase } from '../../storage/database/migrate.js'
import type { MovedPart } from '../../storage/database/move.js'
import { openDatabase } from '../../storage/database/open.js'
import { type Connection, type Driver, tablesIn } from '../../storage/driver/connection.js'
import suppressions from '../../storage/state/suppressions.sql'
import { deliveriesQueue } from './deliveries.js'
import faults from './faults.sql'
import { jobsQueue } from './jobs.js'
import { listWorkspaces } from './members.js'
import postgresTriggers from './postgres-triggers.sql'
import providers from './providers.sql'
import { repliesQueue } from './replies.js'
import sqliteTriggers from './sqlite-triggers.sql'
import tables from './tables.sql'

const tablesSql = tables + suppressions + faults + providers

/** Returns the engine as it moves to another database. */
export const movedEngine = (): MovedPart => ({
  schema: engineSchema,
  tables: tablesIn(tablesSql),
  schemaSuffix: '',
  pageBytes: 4_096,
  seeded: ['clock'],
  leased: [
    repliesQueue,
    jobsQueue,
    deliveriesQueue,
    { table: 'provider_calls', key: [], open: "state = 'asked'" },
    { table: 'provider_listeners', key: [] },
  ],
})

/** Returns what tells an engine from all others: its first workspace. `undefined` where it has none. */
export async function identifyEngine(tx: Connection): Promise<string | undefined> {
  const [first] = await listWorkspaces(tx)
  return first && `${first.id} ${first.createdAt}`
}

export const engineSchema = inBoth(tablesSql, { sqlite: sqliteTriggers, postgres: postgresTriggers }, () => [
  ...tablesIn(tablesSql).map(({ name }) => name),
  'entries',
])

/**
 * Opens the engine's database, and creates its tables where there are none. `now` is this machine's clock, compared with the
 * server's; `direct` the address of the server behind a pooler.
 */
export async function openEngineDatabase(
  location: string,
  postgres: { readonly now?: () => number; readonly direct?: string } = {},
): Promise<Driver> {
  return prepareDatabase(await openDatabase(location, { postgres }), (driver) =>
    migrate(driver, engineSchema),
  )
}
