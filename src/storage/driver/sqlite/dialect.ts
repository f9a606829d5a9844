import { addRow, type Dialect } from '../connection.js'

/** The dialect of SQLite. A writer has the whole database, so there are no locks of rows. */
export const sqliteDialect: Dialect = {
  name: 'sqlite',
  types: {
    integer: 'INTEGER',
    text: 'TEXT',
    identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    clustered: ' WITHOUT ROWID',
  },
  now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  forUpdate: '',
  forUpdateSkipLocked: '',
  toStorableText: (text) => text,
  schemaSql: ({ sqlite }) => sqlite,
  readSchemaNumber: async (connection) =>
    (await connection.get<{ user_version: number }>('PRAGMA user_version'))?.user_version ?? 0,
  writeSchemaNumberSql: (stored) => `PRAGMA user_version = ${stored}`,
  insertRows: (connection, insert, rows) => {
    for (const row of rows) addRow(connection, insert, ...row)
  },
  // AUTOINCREMENT remembers the highest number by itself.
  continueNumbering: async () => {},
}
