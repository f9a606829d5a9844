import type { Driver } from '../../storage/driver/connection.js'
import { atOnce, type Statements } from './sync-steps.js'

// The mark of a table whose indexes were dropped to fill it: a table with their own statements, there from the
// transaction that drops the first of them to the one that has built the last.
const mark = `CREATE TABLE unbuilt_indexes
  (name TEXT PRIMARY KEY, owner TEXT NOT NULL, column TEXT NOT NULL, sql TEXT NOT NULL) STRICT`

interface Index {
  readonly name: string
  readonly sql: string
}

// One that begins with the key grows at its end, which costs little.
const droppable = `SELECT schema.name, schema.tbl_name AS owner, columns.name AS column, schema.sql
  FROM sqlite_schema AS schema
    JOIN pragma_index_list(schema.tbl_name) AS list ON list.name = schema.name
    JOIN pragma_index_info(schema.name) AS columns ON columns.seqno = 0
  WHERE schema.tbl_name IN (SELECT value FROM json_each(?))
    AND list.origin = 'c' AND list."unique" = 0 AND columns.name <> 'key'`

/** Whether indexes are missing. */
export const areMissing = (statements: Statements): boolean =>
  statements.get(`SELECT name FROM sqlite_schema WHERE name = 'unbuilt_indexes'`) !== undefined

/**
 * Drops the indexes of tables that are about to be filled, all but those that are unique or begin with the key, and
 * marks them as missing. A record that is found through one of them is found all the same, only later.
 */
export function dropIndexes(statements: Statements, tables: readonly string[]): void {
  const dropped = statements.all<Index>(droppable, JSON.stringify(tables))
  statements.run(mark)
  statements.run(
    `INSERT INTO unbuilt_indexes (name, owner, column, sql) ${droppable}`,
    JSON.stringify(tables),
  )
  for (const { name } of dropped) statements.run(`DROP INDEX "${name}"`)
}

/** Builds the missing indexes that a lookup by a column needs, if there are any. */
export function buildFor(statements: Statements, table: string, column: string): void {
  if (!areMissing(statements)) return
  const needed = 'SELECT name, sql FROM unbuilt_indexes WHERE owner = ? AND column = ?'
  for (const index of statements.all<Index>(needed, table, column)) build(statements, index)
}

/** Builds all missing indexes, each in a transaction of its own, and then takes the mark away with `last`. */
export async function buildIndexes(driver: Driver, last: (statements: Statements) => void): Promise<void> {
  const buildOne = () =>
    driver.transaction((connection) => {
      const statements = atOnce(connection)
      if (!areMissing(statements)) return false
      const index = statements.get<Index>('SELECT name, sql FROM unbuilt_indexes LIMIT 1')
      if (index) build(statements, index)
      else {
        last(statements)
        statements.run('DROP TABLE unbuilt_indexes')
      }
      return index !== undefined
    })
  while (await buildOne());
}

/** What is kept in the file is a statement like any text in it: only one that makes an index is run. */
function build(statements: Statements, { name, sql }: Index): void {
  if (/^CREATE INDEX\s/i.test(sql)) statements.run(sql)
  statements.run('DELETE FROM unbuilt_indexes WHERE name = ?', name)
}
