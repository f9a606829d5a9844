import type { Connection } from '../../storage/driver/connection.js'
import { written as inPostgres } from './postgres.js'
import type { Size } from './selectivity.js'
import type { Condition } from './sql-conditions.js'
import { written as inSqlite } from './sqlite.js'
import type { TextTable } from './text-columns.js'
import type { TextQuery } from './text-query.js'

/** Records whose texts fulfil a query, among few or many. */
export function inTexts(
  { dialect }: Pick<Connection, 'dialect'>,
  table: TextTable,
  { texts, negated }: TextQuery,
  of: Size,
): Condition {
  if (dialect === 'postgres') {
    const sql = 'words @@ CAST(? AS TSQUERY)'
    return [negated ? `NOT (${sql})` : sql, inPostgres(table, texts)]
  }
  const found = `FROM ${table}_text WHERE ${table}_text MATCH ?`
  const sql = of === 'few' ? `EXISTS (SELECT 1 ${found} AND rowid = key)` : `key IN (SELECT rowid ${found})`
  return [negated ? `NOT ${sql}` : sql, inSqlite(texts)]
}
