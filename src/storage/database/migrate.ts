import { ApiError } from '../../api/calls/errors.js'
import type { Awaitable } from '../../api/values/objects.js'
import { type Connection, type Driver, fillSql } from '../driver/connection.js'
import { postgresDialect } from '../driver/postgres/dialect.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'

/** Statements that bring a database to a version of its schema. They never change after a release. */
export interface Migration {
  readonly sqlite: string
  /** The same for PostgreSQL; absent when such a database is never on a server. */
  readonly postgres?: string
  /** Runs after the statements, in the same transaction. */
  readonly work?: (connection: Connection) => Awaitable<void>
}

/** Returns the statements of a text for both databases; `words` stand in it beside the types of columns. */
export const inBoth = (
  sql: string,
  words: Readonly<Record<string, string>> = {},
  more: Partial<Migration> = {},
): Migration => ({
  // Only a migration needs them: no start of the program waits for them.
  get sqlite() {
    return fillSql(sql, { ...sqliteDialect.types, ...words }) + (more.sqlite ?? '')
  },
  get postgres() {
    return fillSql(sql, { ...postgresDialect.types, ...words }) + (more.postgres ?? '')
  },
})

export interface Schema {
  /** Creates version 1 in an empty database. */
  readonly first: Migration
  /** The step to version 2, then one for each version after it. */
  readonly steps: readonly Migration[]
  /** The number that builds before the first release stored in a database with the columns of version 1. */
  readonly unreleased: number
  /** Brings such a database to version 1, where its tables or indexes differ. */
  readonly fromUnreleased?: Migration
  /** Tables and views that only the owner of a PostgreSQL database may read. */
  readonly privateTables?: readonly string[]
}

/** What the number stored in a database means. */
export interface SchemaState {
  /** `unreleased`: version 1, but not yet marked as such. `unfinished`: from a build before that. */
  readonly is: 'empty' | 'unreleased' | 'older' | 'current' | 'newer' | 'unfinished'
  /** The version of its schema; 0 when it has none. */
  readonly version: number
  /** The version of this program. */
  readonly newest: number
}

/** A database stores its version plus this. Builds before the first release stored at most 8, and refuse a larger number. */
const released = 1_000

export const storedNumber = (version: number): number => released + version

export const newestVersion = ({ steps }: Schema): number => 1 + steps.length

/** Returns what a stored number means; an empty database has 0. */
export function toSchemaState(stored: number, schema: Schema): SchemaState {
  const newest = newestVersion(schema)
  if (stored === 0) return { is: 'empty', version: 0, newest }
  if (stored === schema.unreleased) return { is: 'unreleased', version: 1, newest }
  const version = stored - released
  if (version < 1) return { is: 'unfinished', version: 0, newest }
  if (version > newest) return { is: 'newer', version, newest }
  return { is: version < newest ? 'older' : 'current', version, newest }
}

/** Returns the database once `ready` has resolved; closes it when that fails. */
export async function prepareDatabase(driver: Driver, ready: (driver: Driver) => Promise<void>) {
  try {
    await ready(driver)
    return driver
  } catch (error) {
    await driver.close()
    throw error
  }
}

/**
 * Brings a database to the newest version in one transaction: of several processes that start at once, one migrates. Throws
 * for a database of a newer program or of an unfinished build, and leaves it unchanged.
 */
export async function migrate(driver: Driver, schema: Schema): Promise<void> {
  const { dialect } = driver
  const stateIn = async (connection: Connection) =>
    requireUsable(toSchemaState(await readStoredNumber(connection), schema))
  if ((await driver.read(stateIn)).is === 'current') return
  await driver.transaction(async (connection) => {
    const { is, version, newest } = await stateIn(connection)
    if (is === 'current') return
    const earlier = is === 'unreleased' && schema.fromUnreleased ? [schema.fromUnreleased] : []
    for (const migration of [...earlier, ...[schema.first, ...schema.steps].slice(version)]) {
      await connection.exec(dialect.migrationSql(migration))
      await migration.work?.(connection)
    }
    await connection.exec(dialect.writeSchemaNumberSql(storedNumber(newest), schema.privateTables ?? []))
  })
}

/** Returns the state of a database that this program can use. Throws for any other. */
export function requireUsable(state: SchemaState): SchemaState {
  const { is, version, newest } = state
  if (is === 'newer')
    throw new ApiError('storage_failed', {
      reason: `it has schema version ${version}, newer than this program's ${newest}; upgrade prospect`,
    })
  if (is === 'unfinished')
    throw new ApiError('storage_failed', {
      reason:
        'an early build made it, before schema version 1; use it once with the last build before this version, then again with this one',
    })
  return state
}

export const readStoredNumber = (connection: Connection) => connection.dialect.readSchemaNumber(connection)

/** Returns the version of a database that was migrated. */
export const readVersion = async (connection: Connection) => (await readStoredNumber(connection)) - released
