import { ApiError } from '../../api/calls/errors.js'
import type { Awaitable } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../driver/connection.js'
import { engineTables, engineViews } from './engine-tables.js'

/** One step of a schema; steps are numbered from 1 by their place and never change once released. */
export interface Migration {
  readonly sqlite: string
  /** The same for PostgreSQL, where the database may be one. */
  readonly postgres?: string
  /** What statements alone cannot do; in the same transaction, behind them. */
  readonly work?: (connection: Connection) => Awaitable<void>
}

/** The database, once it was made ready; one that cannot be is closed. */
export async function readied(driver: Driver, ready: (driver: Driver) => Promise<void>): Promise<Driver> {
  try {
    await ready(driver)
    return driver
  } catch (error) {
    await driver.close()
    throw error
  }
}

/**
 * Brings a database to the newest schema, in one transaction: several processes may start at once, one of them
 * migrates. A database of a newer program is refused and left as it is.
 */
export async function migrate(driver: Driver, migrations: readonly Migration[]): Promise<void> {
  const { dialect } = driver
  const newest = migrations.length
  const version = await driver.read((connection) => versionOf(connection, dialect))
  if (version === newest) return
  if (version > newest) throw newer(version, newest)
  await driver.transaction(async (connection) => {
    const current = await versionOf(connection, dialect)
    if (current > newest) throw newer(current, newest)
    for (const step of migrations.slice(current)) {
      await connection.exec(textOf(step, dialect))
      await step.work?.(connection)
    }
    await connection.exec(noted(newest, dialect))
  })
}

function textOf({ sqlite, postgres }: Migration, dialect: Driver['dialect']): string {
  if (dialect === 'sqlite') return sqlite
  if (postgres === undefined) throw new Error('a step of this schema has no text for PostgreSQL')
  return `SET LOCAL statement_timeout = 0;${postgres}`
}

/** Notes the version; on a server others have roles too, and nobody is to read secrets but the owner. */
const noted = (version: number, dialect: Driver['dialect']): string =>
  dialect === 'sqlite'
    ? `PRAGMA user_version = ${version}`
    : `CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
       INSERT INTO schema_version (id, version) VALUES (1, ${version})
         ON CONFLICT (id) DO UPDATE SET version = excluded.version;
       DO $$ DECLARE own TEXT; BEGIN
         FOR own IN SELECT format('%I.%I', n.nspname, c.relname)
           FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
           WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v') AND c.relname IN (${ours})
         LOOP EXECUTE 'REVOKE ALL ON ' || own || ' FROM PUBLIC'; END LOOP;
       END $$`

const ours = ['schema_version', ...Object.keys(engineTables), ...engineViews]
  .map((name) => `'${name}'`)
  .join(', ')

/** The schema a database has; 0 for an empty one. */
export async function versionOf(
  connection: Connection,
  dialect: Driver['dialect'] = 'sqlite',
): Promise<number> {
  if (dialect === 'sqlite')
    return (await connection.get<{ user_version: number }>('PRAGMA user_version'))?.user_version ?? 0
  const known = await connection.get<{ found: number }>(
    "SELECT to_regclass('schema_version') IS NOT NULL AS found",
  )
  if (!known?.found) return 0
  return (await connection.get<{ version: number }>('SELECT version FROM schema_version'))?.version ?? 0
}

const newer = (version: number, newest: number) =>
  new ApiError('storage_failed', {
    reason: `it has schema ${version}, newer than this program's ${newest}; upgrade prospect`,
  })
