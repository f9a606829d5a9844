import { ApiError } from '../../api/calls/errors.js'
import { type Connection, type Driver, fillSql } from '../driver/connection.js'
import { postgresDialect } from '../driver/postgres/dialect.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'

/** The version of all schemas. The first change after a release brings 2, and the statements that lead from 1 to it. */
const newest = 1

/** The statements that create the tables of a database. */
export interface Schema {
  readonly sqlite: string
  readonly postgres: string
  /** Tables and views that only the owner of a PostgreSQL database may read. */
  readonly privateTables?: readonly string[]
}

/** Returns the schema of a text for both databases, with more of its own for each. */
export const inBoth = (
  sql: string,
  more: Readonly<Record<'sqlite' | 'postgres', string>>,
  privateTables: () => readonly string[] = () => [],
): Required<Schema> => ({
  // Only a database that is created needs them: no start of the program waits for them.
  get sqlite() {
    return fillSql(sql, sqliteDialect.types) + more.sqlite
  },
  get postgres() {
    return fillSql(sql, postgresDialect.types) + more.postgres
  },
  get privateTables() {
    return privateTables()
  },
})

/** What the number stored in a database means. */
export interface SchemaState {
  readonly is: 'empty' | 'current' | 'newer'
  /** The version of its schema; 0 when it has none. */
  readonly version: number
  /** The version of this program. */
  readonly newest: number
}

/** Returns what the version of a database means; that of an empty one is 0. */
export function toSchemaState(version: number): SchemaState {
  return { is: version === 0 ? 'empty' : version === newest ? 'current' : 'newer', version, newest }
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
 * Creates the tables of an empty database in one transaction: of several processes that start at once, one does. Throws for
 * a database of a newer program, and leaves it unchanged.
 */
export async function migrate(driver: Driver, schema: Schema): Promise<void> {
  const { dialect } = driver
  const stateIn = async (connection: Connection) =>
    requireUsable(toSchemaState(await readVersion(connection)))
  if ((await driver.read(stateIn)).is === 'current') return
  await driver.transaction(async (connection) => {
    if ((await stateIn(connection)).is === 'current') return
    await connection.exec(dialect.schemaSql(schema))
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
