import { ApiError } from '../../api/calls/errors.js'
import { type Connection, type Driver, fillSql, movedError } from '../driver/connection.js'
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
    return withoutLists(fillSql(sql, sqliteDialect.types) + more.sqlite)
  },
  get postgres() {
    return fillSql(sql, postgresDialect.types) + more.postgres
  },
  get privateTables() {
    return privateTables()
  },
})

const threeOrMore = /(\w+) (NOT )?IN \(('\w+'(?:, '\w+'){2,})\)/g

/**
 * Replaces lists of three or more words by comparisons: SQLite would build a temporary table of the list for every row that a
 * CHECK looks at, two thirds of the work of writing a lookup. Shorter lists stay: the condition of an index has to be spelled
 * as in the queries that use it.
 */
const withoutLists = (sql: string): string =>
  sql.replace(threeOrMore, (_, column: string, not: string | undefined, words: string) => {
    const each = words.split(', ').map((word) => `${column} ${not ? '<>' : '='} ${word}`)
    return `(${each.join(not ? ' AND ' : ' OR ')})`
  })

/** What the number stored in a database means. */
export interface SchemaState {
  readonly is: 'empty' | 'current' | 'newer' | 'moved'
  /** The version of its schema; 0 when it has none, `movedVersion` when it has moved. */
  readonly version: number
  /** The version of this program. */
  readonly newest: number
}

/** The version of a database that has moved: no process uses it any more. */
const movedVersion = -1

/** Returns what the version of a database means; that of an empty one is 0. */
export function toSchemaState(version: number): SchemaState {
  if (version === 0) return { is: 'empty', version, newest }
  if (version === movedVersion) return { is: 'moved', version, newest }
  return { is: version === newest ? 'current' : 'newer', version, newest }
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
 * a database of a newer program, or one that has moved, and leaves it unchanged.
 */
export async function migrate(driver: Driver, schema: Schema): Promise<void> {
  const { is } = await driver.read(requireUsable)
  if (is !== 'current') await driver.transaction((connection) => migrateWithin(connection, schema))
}

/** Creates the tables of an empty database within a transaction. */
export async function migrateWithin(connection: Connection, schema: Schema): Promise<void> {
  const { dialect } = connection
  if ((await requireUsable(connection)).is === 'current') return
  await connection.exec(dialect.schemaSql(schema))
  await connection.exec(dialect.writeSchemaNumberSql(newest, schema.privateTables ?? []))
}

/** Returns the state of a database that this program can use. Throws for any other. */
export async function requireUsable(connection: Connection): Promise<SchemaState> {
  const state = toSchemaState(await readVersion(connection))
  const { is, version } = state
  if (is === 'moved') throw movedError((await readMoved(connection))?.place ?? '')
  if (is === 'newer')
    throw new ApiError('storage_failed', {
      reason: `it has schema version ${version}, newer than this program's ${newest}; upgrade prospect`,
    })
  return state
}

/** Returns the version of a database; 0 of an empty one. */
export const readVersion = (connection: Connection) => connection.dialect.readSchemaNumber(connection)

/** Where a database has moved to. */
export interface Moved {
  readonly place: string
  /** Real time. */
  readonly at: number
  /** Digest of the catalogue that moved with an engine in a file; null where none did. */
  readonly catalogue: string | null
}

/** Returns where a database has moved to; `undefined` of one that has not. */
export async function readMoved(connection: Connection): Promise<Moved | undefined> {
  if ((await readVersion(connection)) !== movedVersion) return undefined
  return connection.get<Moved>('SELECT place, moved_at AS at, catalogue FROM moved')
}

const movedTable = `CREATE TABLE IF NOT EXISTS moved (place TEXT NOT NULL, moved_at BIGINT NOT NULL, catalogue TEXT)`

/** Marks a database as moved: nothing opens it from then on, and its `tables` refuse changes. */
export async function markMoved(
  connection: Connection,
  tables: readonly string[],
  { place, at, catalogue }: Moved,
): Promise<void> {
  const { dialect } = connection
  await connection.exec(movedTable)
  await connection.run('DELETE FROM moved')
  const sql = 'INSERT INTO moved (place, moved_at, catalogue) VALUES (?, ?, ?)'
  await connection.run(sql, place, at, catalogue)
  await connection.exec(dialect.writeSchemaNumberSql(movedVersion, ['moved']))
  await connection.exec(dialect.refuseChangesSql(tables))
}

/** Takes the mark away, when nothing has arrived. */
export async function unmarkMoved(connection: Connection): Promise<void> {
  const { dialect } = connection
  await connection.exec(dialect.writeSchemaNumberSql(newest, []))
  await connection.exec(`${dialect.permitChangesSql()} DROP TABLE moved;`)
}
