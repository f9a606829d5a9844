import {
  addRow,
  type Connection,
  type Dialect,
  insertInto,
  type MovedTable,
  type TableFiller,
} from '../connection.js'

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
  writeRows: (connection, write, rows) => {
    for (const row of rows) addRow(connection, write, ...row)
  },
  fill: createFiller,
  readNumbering: async (connection, table, column) => {
    const highest = await connection.get<{ last: number | null }>(
      `SELECT max(${column}) AS last FROM ${table}`,
    )
    const assigned = (await hasNumbering(connection))
      ? await connection.get<{ last: number }>(
          'SELECT seq AS last FROM sqlite_sequence WHERE name = ?',
          table,
        )
      : undefined
    return Math.max(highest?.last ?? 0, assigned?.last ?? 0)
  },
  continueNumbering: async (connection, table, _, last) => {
    // Without AUTOINCREMENT, the next number follows the highest one.
    if (!(await hasNumbering(connection))) return
    await connection.run('DELETE FROM sqlite_sequence WHERE name = ?', table)
    await connection.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', table, last)
  },
  // Nobody else has a file open while it is moved.
  refuseChangesSql: () => '',
  permitChangesSql: () => '',
}

const hasNumbering = async (connection: Connection): Promise<boolean> =>
  (await connection.get("SELECT 1 AS one FROM sqlite_schema WHERE name = 'sqlite_sequence'")) !== undefined

function createFiller(connection: Connection, tables: readonly MovedTable[]): TableFiller {
  const inserts = new Map(
    tables.map(({ name, columns, makes }) => {
      const made = makes?.(sqliteDialect)
      const other = made && { ...made, insert: insertInto(made.into ?? name, made.columns) }
      return [name, { own: insertInto(name, columns), other }] as const
    }),
  )
  return {
    begin: async () => {},
    add: async ({ name, columns }, rows) => {
      const { own, other } = inserts.get(name) ?? {}
      if (!own) return
      for (const row of rows) {
        addRow(connection, own, ...columns.map((column) => row[column] ?? null))
        if (other) addRow(connection, other.insert, ...other.valuesOf(row))
      }
      // Inserts what was added: a rule that refuses it is one of this table.
      await connection.get('SELECT 1')
    },
    end: async () => {},
  }
}
