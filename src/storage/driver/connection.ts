import { ApiError } from '../../api/calls/errors.js'
import type { Awaitable } from '../../api/values/objects.js'
import { addressProblem } from './address.js'

/** Thrown when another process has inserted the same row, or when a transaction may have been committed. */
export class StorageFault extends Error {
  override readonly name = 'StorageFault'

  constructor(readonly code: 'already_there' | 'commit_unknown') {
    super(code)
  }
}

export const isStorageFault = (error: unknown, code: StorageFault['code']): error is StorageFault =>
  error instanceof StorageFault && error.code === code

/** Returns a location without the password in it. */
export function withoutPassword(location: string): string {
  if (!isPostgres(location)) return location
  const [, scheme = '', rest = ''] = /^(\w+:\/\/)(.*)$/s.exec(location) ?? []
  const shown = rest.replace(/\?(?:ssl)?password=[^&]*&/gi, '?').replace(/[?&](?:ssl)?password=[^&]*/gi, '')
  // A password may hold what ends one elsewhere.
  const end = shown.lastIndexOf('@')
  return scheme + shown.slice(0, end + 1).replace(/:.*@$/s, '@') + shown.slice(end + 1)
}

/** Returns the error of whoever uses a database that has moved to another place. */
export function movedError(place: string): ApiError {
  const next = isPostgres(place) ? 'set PROSPECT_DATABASE_URL to that' : 'use it there'
  return new ApiError('storage_failed', {
    reason: `it has moved to ${place}; ${next}`,
    isIntact: true,
    place,
  })
}

/** Scope of a transaction that only takes due work. */
export const dueWork = 'due work'

/** Whether a database is on a server, by its location. */
export const isPostgres = (location: string): boolean => /^postgres(?:ql)?:/i.test(location)

/**
 * Returns what is wrong with the location of a database; `undefined` for a PostgreSQL address, a path or `:memory:`. What
 * looks like another address must not become the name of a file: a password in it could be read there. It never repeats
 * what stands between `//` and `@`.
 */
export function locationProblem(location: string): string | undefined {
  if (/^[\s"'`]|[\s"'`]$/.test(location)) return 'begins or ends with a space or a quotation mark'
  if (isPostgres(location)) return addressProblem(location)
  if (!location.includes('://')) return undefined
  const scheme = /^[\w+.-]+(?=:\/\/)/.exec(location)?.[0]
  return scheme === undefined
    ? 'is neither an address nor a path'
    : `is not a PostgreSQL address but one of ${scheme}`
}

/** A value as both databases take it: integers for times (milliseconds) and booleans, JSON as text. */
export type Value = string | number | null | Uint8Array

/** A row of any table, by column. */
export type StoredRow = Readonly<Record<string, string | number | null>>

/** A statement and its values, as the functions of a connection take them. */
export type Statement = [sql: string, ...values: Value[]]

/** A statement that writes one row, or several at once. */
export interface RowWrite {
  readonly sql: string
  readonly width: number
  sqlFor(rows: number): string
}

const valuesFor = (columns: readonly string[], rows: number): string =>
  `VALUES ${Array(rows)
    .fill(`(${columns.map(() => '?').join(', ')})`)
    .join(', ')}`

/** Returns the INSERT of rows with these columns; `onConflict` follows the values. */
export function insertInto(table: string, columns: readonly string[], onConflict = ''): RowWrite {
  const sqlFor = (rows: number) =>
    `INSERT INTO ${table} (${columns.join(', ')}) ${valuesFor(columns, rows)} ${onConflict}`
  return { sql: sqlFor(1), width: columns.length, sqlFor }
}

interface ListWrite extends RowWrite {
  readonly listSql: string
}

type ColumnTypes = Readonly<Record<string, 'BIGINT' | 'TEXT'>>

/** Returns expressions for values with the types of columns. */
const typed = (types: ColumnTypes, valueAt: (at: number) => string): string[] =>
  Object.values(types).map((type, at) => (type === 'TEXT' ? valueAt(at) : `CAST(${valueAt(at)} AS BIGINT)`))

const inList = (at: number): string => `value ->> ${at}`

/** Returns the INSERT of rows whose columns have these types; `onConflict` follows the values. */
export function insertList(table: string, types: ColumnTypes, onConflict: string): ListWrite {
  const columns = Object.keys(types)
  const values = typed(types, inList).join(', ')
  const listSql = `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values} FROM json_each(?) ${onConflict}`
  return { ...insertInto(table, columns, onConflict), listSql }
}

/** Returns the UPDATE of rows from values with these names and types, which `set` and `where` find in `v`. */
export function updateList(table: string, types: ColumnTypes, set: string, where: string): ListWrite {
  const columns = Object.keys(types)
  const sqlOf = (values: readonly string[], source: string) =>
    `UPDATE ${table} SET ${set} FROM (SELECT ${values.map((value, at) => `${value} AS ${columns[at]}`).join(', ')}
      FROM ${source}) AS v WHERE ${where}`
  const values = typed(types, (at) => `column${at + 1}`)
  const sqlFor = (rows: number) => sqlOf(values, `(${valuesFor(columns, rows)}) AS given`)
  const listSql = sqlOf(typed(types, inList), 'json_each(?)')
  return { sql: sqlFor(1), width: columns.length, sqlFor, listSql }
}

/**
 * A text or an integer that SQLite's planner does not look at. It plans a statement with a join or an `ORDER BY` again for
 * each value bound to a bare `?`, because its statistics may know the value; that takes longer than the search itself
 * (decision 3).
 */
export const boundText = 'CAST(? AS TEXT)'
export const boundInteger = 'CAST(? AS BIGINT)'

/** Maps a result, synchronously when it is there: awaiting costs more than a SQLite statement. */
export const mapResult = <T, R>(answer: Awaitable<T>, then: (value: T) => Awaitable<R>): Awaitable<R> =>
  answer instanceof Promise ? answer.then(then) : then(answer)

/**
 * Runs statements. SQL has `?` placeholders and is the subset that SQLite and PostgreSQL share, plus `json_each(?)` for a
 * list in one placeholder (`value` for texts, `atom` for integers), and `INDEXED BY` and `CROSS JOIN … ON`, which only
 * SQLite's planner needs. What else differs is in `dialect`.
 */
export interface Connection {
  readonly dialect: Dialect
  get<T>(sql: string, ...values: Value[]): Awaitable<T | undefined>
  all<T>(sql: string, ...values: Value[]): Awaitable<T[]>
  /** Reads the row that a text identifies. Equal statements of tasks that run side by side may be sent as one. */
  find?<T>(sql: string, text: string): Awaitable<T | undefined>
  /** Returns how many rows changed. */
  run(sql: string, ...values: Value[]): Awaitable<number>
  /** Runs a statement without returning what it changed. When not awaited, its failure fails the transaction. */
  send?(sql: string, ...values: Value[]): Awaitable<void>
  /**
   * Writes a row before the next statement runs or the transaction ends. No other row written this way may depend on it.
   * Its failure fails the transaction.
   */
  add?(write: RowWrite, ...values: Value[]): Awaitable<void>
  /** Runs several statements without placeholders. */
  exec(sql: string): Awaitable<void>
  /** Tells other processes of new work once the transaction is committed. A file has no way to. */
  announce?(): void
  /** A cache of what nothing else can change, cleared when a transaction begins or is undone. Tasks of a commit share it. */
  readonly known: Map<string, unknown>
}

/** Returns SQL of both databases with a word of one in place of each `{name}`. */
export const fillSql = (sql: string, words: Readonly<Record<string, string | number>>): string =>
  Object.entries(words).reduce((text, [name, word]) => text.replaceAll(`{${name}}`, String(word)), sql)

/** Returns the first column of the only row as a number; 0 where it is NULL. */
export async function readNumber(connection: Connection, ...statement: Statement): Promise<number> {
  const row = await connection.get<StoredRow>(...statement)
  return Number(Object.values(row ?? {})[0] ?? 0)
}

/** Joins the conditions that have a value: ` AND a = ? AND b = ?`. */
export function joinGiven(conditions: readonly (readonly [sql: string, value: Value | undefined])[]) {
  const given = conditions.filter((each): each is [string, Value] => each[1] !== undefined)
  return { where: given.map(([sql]) => ` AND ${sql}`).join(''), values: given.map(([, value]) => value) }
}

/** A table as a text of SQL declares it. */
export interface DeclaredTable {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of its primary key. */
  readonly key: readonly string[]
  /** The column whose numbers the database assigns, where the text calls it `{identity}`. */
  readonly identity?: string | undefined
}

/** Columns that a database makes from a row by its own means: of the row itself, or of a row in the table `into`. */
export interface MadeColumns {
  readonly into?: string
  readonly columns: readonly string[]
  valuesOf(row: StoredRow): readonly Value[]
}

/** A table that moves to another database. */
export interface MovedTable extends DeclaredTable {
  /** What its rows are found by besides their own columns. */
  readonly makes?: (dialect: Dialect) => MadeColumns
}

/** Fills empty tables with many rows, within one transaction. Rows of a table come in the order of its key. */
export interface TableFiller {
  /** With `rebuilds`, drops constraints and indexes, which are faster made at the end. */
  begin(): Promise<void>
  add(table: MovedTable, rows: readonly StoredRow[]): Promise<void>
  end(): Promise<void>
}

/** Returns the tables that a text such as `tables.sql` creates, in its order. */
export const tablesIn = (sql: string): DeclaredTable[] =>
  [...sql.matchAll(/CREATE TABLE (\w+) \(\n(.*?)\n\)/gs)].map(([, name = '', body = '']) => {
    const columns = [...body.matchAll(/^ {2}([a-z_]+) /gm)].map(([, column = '']) => column)
    const key = /PRIMARY KEY \((.*)\)/.exec(body)?.[1]?.split(', ') ?? columns.slice(0, 1)
    return { name, columns, key, identity: /^ {2}(\w+) \{identity\}/m.exec(body)?.[1] }
  })

/** Returns at most `limit` rows of a table behind the row `last`, in the order of a key. */
export function readBehind(
  connection: Connection,
  { table, key, columns = '*', where: [condition, ...values] = ['TRUE'], last, limit }: RowsBehind,
): Awaitable<StoredRow[]> {
  const order = key.join(', ')
  const behind = last ? ` AND (${order}) > (${key.map(() => '?').join(', ')})` : ''
  const sql = `SELECT ${columns} FROM ${table} WHERE (${condition})${behind} ORDER BY ${order} LIMIT ?`
  return connection.all(sql, ...values, ...(last ? key.map((column) => last[column] ?? null) : []), limit)
}

interface RowsBehind {
  readonly table: string
  readonly key: readonly string[]
  readonly columns?: string
  readonly where?: readonly [sql: string, ...values: Value[]]
  readonly last?: StoredRow | undefined
  readonly limit: number
}

/** Yields portions of `limit`, each read behind the last row of the one before; the last portion is smaller, maybe empty. */
export async function* portionsOf<T>(limit: number, read: (last: T | undefined) => Awaitable<readonly T[]>) {
  for (let portion: readonly T[] | undefined; !portion || portion.length === limit; yield portion)
    portion = await read(portion?.at(-1))
}

/** What SQLite and PostgreSQL spell differently; the catalogue's own differences are in `src/catalogue/dialect`. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** What tables are made of. SQLite's integers, and columns of type BIGINT, have 64 bits in both. */
  readonly types: {
    readonly integer: string
    /** Compared and sorted by bytes. */
    readonly text: string
    /** A primary key whose numbers the database assigns and never uses twice. */
    readonly identity: string
    /** Follows a table whose rows SQLite stores in the order of the primary key. */
    readonly clustered: string
  }
  /** The time by the clock of the database, in milliseconds since 1970. */
  readonly now: string
  /** Follows a SELECT whose rows nothing else may change until the transaction ends. */
  readonly forUpdate: string
  /** The same, but skips rows that another transaction has locked. */
  readonly forUpdateSkipLocked: string
  /** Returns a text as the database can store and compare it. */
  toStorableText(text: string): string
  /** Returns what a schema change runs. Throws when it has no text for this database. */
  schemaSql(texts: Readonly<Record<'sqlite' | 'postgres', string>>): string
  /** Returns the schema number that a database stores; 0 for an empty one. */
  readSchemaNumber(connection: Connection): Promise<number>
  /** Returns what stores a schema number and, on a server, hides the named tables and views from other roles. */
  writeSchemaNumberSql(stored: number, privateTables: readonly string[]): string
  /** Writes rows that no later statement of this transaction reads. */
  writeRows(
    connection: Connection,
    write: ListWrite,
    rows: readonly (readonly Value[])[],
  ): void | Promise<void>
  fill(connection: Connection, tables: readonly MovedTable[], rebuilds: boolean): TableFiller
  /** Returns the last number that was assigned in a column; 0 where none was. */
  readNumbering(connection: Connection, table: string, column: string): Promise<number>
  /** Lets the numbers of new rows follow the last one. */
  continueNumbering(connection: Connection, table: string, column: string, last: number): Promise<void>
  /** Returns what has tables refuse every change, also of processes that have them open; `place` is in the table `moved`. */
  refuseChangesSql(tables: readonly string[]): string
  /** Returns what undoes that. */
  permitChangesSql(): string
}

/** Returns SQL that the databases spell differently, made once for each of them. */
export function perDialect<T>(make: (dialect: Dialect) => T): (connection: Connection) => T {
  const made = new Map<Dialect['name'], T>()
  return ({ dialect }) => {
    let found = made.get(dialect.name)
    if (found === undefined) {
      found = make(dialect)
      made.set(dialect.name, found)
    }
    return found
  }
}

/** Reads the row that a text identifies: the only `?` of the statement. */
export const findRow = <T>(connection: Connection, sql: string, text: string): Awaitable<T | undefined> =>
  connection.find ? connection.find<T>(sql, text) : connection.get<T>(sql, text)

/** Runs a statement without waiting for it, when the connection can. */
export const send = (connection: Connection, sql: string, ...values: Value[]): Awaitable<unknown> =>
  connection.send ? connection.send(sql, ...values) : connection.run(sql, ...values)

/** Adds a row together with others, when the connection can. */
export const addRow = (connection: Connection, write: RowWrite, ...values: Value[]): Awaitable<unknown> =>
  connection.add ? connection.add(write, ...values) : send(connection, write.sql, ...values)

/**
 * A database, which several processes may have open. A task given to `transaction` runs alone, is durable when its promise
 * resolves and undone when it rejects. It uses its connection and never the database, which would wait for it, and changes
 * nothing else, since it may run more than once. Tasks that arrive together may share a commit, but one that fails does not
 * fail the others. A task given to `read` sees a snapshot of committed data.
 */
export interface Driver {
  readonly dialect: Dialect
  read<T>(work: (connection: Connection) => Awaitable<T>): Promise<T>
  /** Reads the row that a text identifies. Equal reads that wait at the same time run once and share the result. */
  find<T>(sql: string, text: string): Promise<T | undefined>
  /** Like `read`, but tasks of the same name that wait at the same time run once and share the result. */
  readShared<T>(name: string, work: (connection: Connection) => Awaitable<T>): Promise<T>
  /**
   * Runs a task in a transaction. `scope` names all that it reads and writes, such as a workspace by its id, or `dueWork`: on
   * a server, tasks of other scopes run meanwhile. Without a scope it locks the whole database. A `short` task touches no row
   * that one of another scope does, and few of its own: with those of other scopes it may share a commit.
   */
  transaction<T>(work: (connection: Connection) => Awaitable<T>, scope?: string, length?: 'short'): Promise<T>
  /** Changes a setting of the SQLite connection between tasks, as in a PRAGMA: `cache_size = -8192`. */
  set(setting: string): Promise<void>
  /** Resolves when everything committed survives a power cut; at once when each commit does. */
  flush(): Promise<void>
  /** Throws while the server permits no writes. A file does not: there, each write finds out by itself. */
  requireWritable(): Promise<void>
  /** Returns how many milliseconds the server's clock is ahead of this machine's. A file has no clock. */
  aheadMs?(): number
  /**
   * Calls `wake` when another process may have added work; returns a function that stops this. It may miss some, and always
   * does in a file, so callers also poll.
   */
  onWork(wake: () => void): () => void
  close(): Promise<void>
}

/** Maximum number of rows of a run. A place is the number of the run times this, plus the ordinal of the row. */
export const rowsPerRun = 2 ** 32

/** Returns the place of a row. Throws when it is no safe integer, since two rows could then share a place. */
export function toPlace(run: number, ordinal: number): number {
  const place = run * rowsPerRun + ordinal
  if (ordinal >= rowsPerRun)
    throw new ApiError('storage_failed', {
      reason: `a run has no more than ${rowsPerRun.toLocaleString('en')} rows`,
    })
  if (place > Number.MAX_SAFE_INTEGER)
    throw new ApiError('storage_failed', {
      reason: `it has had ${run.toLocaleString('en')} runs, and more cannot be numbered`,
    })
  return place
}

/** Returns the first place of a run and the first one after it. */
export const placesOf = (run: number): [number, number] => [toPlace(run, 0), toPlace(run + 1, 0)]
