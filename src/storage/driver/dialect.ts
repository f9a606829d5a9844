import type { Connection, Value } from './connection.js'

/** What SQLite and PostgreSQL spell differently; the catalogue's own differences are in `src/catalogue/dialect`. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Follows a SELECT whose rows nothing else may change until the transaction ends. */
  readonly forUpdate: string
  /** The same, but skips rows that another transaction has locked. */
  readonly forUpdateSkipLocked: string
  /** Returns a text as the database can store and compare it. */
  toStorableText(text: string): string
  /** Returns what a schema change runs. Throws when it has no text for this database. */
  migrationSql(texts: { readonly sqlite: string; readonly postgres?: string }): string
  /** Returns the schema number that a database stores; 0 for an empty one. */
  readSchemaNumber(connection: Connection): Promise<number>
  /** Returns what stores a schema number and, on a server, hides the named tables and views from other roles. */
  writeSchemaNumberSql(stored: number, privateTables: readonly string[]): string
  /** Inserts rows that no statement of this transaction reads: `one` takes a row, `all` takes a JSON list of rows. */
  insertRows(
    connection: Connection,
    sql: { readonly one: string; readonly all: string },
    rows: readonly (readonly Value[])[],
  ): void | Promise<void>
  /** Lets the numbers of new rows follow those that were inserted with their numbers. */
  continueNumbering(connection: Connection, table: string, column: string): Promise<void>
}
