import { ApiError } from '../api/errors.js'
import type { Awaitable } from '../engine/ports.js'
import type { Connection, Driver } from './driver.js'

/** One step of a schema; steps are numbered from 1 by their place and never change once released. */
export interface Migration {
  readonly sqlite: string
  /** What statements alone cannot do; in the same transaction, behind them. */
  readonly work?: (connection: Connection) => Awaitable<void>
}

/**
 * Brings a database to the newest schema, in one transaction: several processes may start at once, one of them
 * migrates. A database of a newer program is refused and left as it is.
 */
export async function migrate(driver: Driver, migrations: readonly Migration[]): Promise<void> {
  const newest = migrations.length
  const version = await driver.read(versionOf)
  if (version === newest) return
  if (version > newest) throw newer(version, newest)
  await driver.transaction(async (connection) => {
    const current = await versionOf(connection)
    if (current > newest) throw newer(current, newest)
    for (const { sqlite, work } of migrations.slice(current)) {
      await connection.exec(sqlite)
      await work?.(connection)
    }
    await connection.exec(`PRAGMA user_version = ${newest}`)
  })
}

/** The schema a database has; 0 for an empty one. */
export async function versionOf(connection: Connection): Promise<number> {
  return (await connection.get<{ user_version: number }>('PRAGMA user_version'))?.user_version ?? 0
}

const newer = (version: number, newest: number) =>
  new ApiError('storage_failed', {
    reason: `it has schema ${version}, newer than this program's ${newest}; upgrade prospect`,
  })
