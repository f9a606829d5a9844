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
  /** Tables and views that only the owner of a PostgreSQL database may read. */
  readonly privateTables?: readonly string[]
}

/** What the number stored in a database means. */
export interface SchemaState {
  readonly is: 'empty' | 'older' | 'current' | 'newer'
  /** The version of its schema; 0 when it has none. */
  readonly version: number
  /** The version of this program. */
  readonly newest: number
}

export const newestVersion = ({ steps }: Schema): number => 1 + steps.length

/** Returns what the version of a database means; that of an empty one is 0. */
export function toSchemaState(version: number, schema: Schema): SchemaState {
  const newest = newestVersion(schema)
  if (version === 0) return { is: 'empty', version, newest }
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
 * for a database of a newer program, and leaves it unchanged.
 */
export async function migrate(driver: Driver, schema: Schema): Promise<void> {
  const { dialect } = driver
  const stateIn = async (connection: Connection) =>
    requireUsable(toSchemaState(await readVersion(connection), schema))
  if ((await driver.read(stateIn)).is === 'current') return
  await driver.transaction(async (connection) => {
    const { is, version, newest } = await stateIn(connection)
    if (is === 'current') return
    for (const migration of [schema.first, ...schema.steps].slice(version)) {
      await connection.exec(dialect.migrationSql(migration))
      await migration.work?.(connection)
    }
    await connection.exec(dialect.writeSchemaNumberSql(newest, schema.privateTables ?? []))
  })
}

/** Returns the state of a database that this program can use. Throws for any other. */
export function requireUsable(state: SchemaState): SchemaState {
  const { is, version, newest } = state
  if (is === 'newer')
    throw new ApiError('storage_failed', {
      reason: `it has schema version ${version}, newer than this program's ${newest}; upgrade prospect`,
    })
  return state
}

/** Returns the version of a database; 0 of an empty one. */
export const readVersion = (connection: Connection) => connection.dialect.readSchemaNumber(connection)
