import { type Connection, send } from '../../storage/driver/connection.js'
import type { TextTable } from '../full-text/text-columns.js'
import { addTexts } from '../records/upsert.js'
import { dropIndexes } from '../write/deferred-indexes.js'
import { mergeLater } from '../write/fts-merge.js'
import { atOnce } from '../write/sync-steps.js'
import { type CopyTarget, copiedTables, textsOfRecord } from './copied-tables.js'

/** Writes a copy into SQLite. Its indexes are built, and its words merged, when the load that this begins is ended. */
export function copyIntoSqlite(connection: Connection): CopyTarget {
  const statements = atOnce(connection)
  return {
    async begin() {
      dropIndexes(statements, Object.keys(copiedTables))
      mergeLater(statements)
    },
    async add(table, rows) {
      const columns = Object.keys(copiedTables[table]?.columns ?? {})
      const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
      const textsOf = textsOfRecord[table as TextTable]
      for (const row of rows) {
        statements.run(sql, ...columns.map((column) => row[column] ?? null))
        if (textsOf)
          send(connection, addTexts[table as TextTable], row.key ?? null, ...textsOf(String(row.record)))
      }
    },
    async end() {},
  }
}
