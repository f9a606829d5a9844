import { type Connection, send, type Value } from '../../../storage/driver/connection.js'
import type { TextTable } from '../../full-text/text-query.js'
import { addTexts } from './full-text.js'
import { deferIndexes } from './load.js'

interface CopiedTable {
  readonly columns: Readonly<Record<string, unknown>>
  readonly textsOf?: (record: string) => readonly string[]
}

/** Does nothing: no transaction is ended for waiting. */
export async function waitLonger(): Promise<void> {}

/** Creates the target of a copy. Its indexes are built, and its words merged, when the load that it begins is ended. */
export const createTarget = (connection: Connection, tables: Readonly<Record<string, CopiedTable>>) => ({
  begin: async () => deferIndexes(connection, Object.keys(tables)),
  async add(name: string, rows: readonly Readonly<Record<string, Value>>[]): Promise<void> {
    const { columns = {}, textsOf } = tables[name] ?? {}
    const names = Object.keys(columns)
    const sql = `INSERT INTO ${name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
    for (const row of rows) {
      connection.run(sql, ...names.map((column) => row[column] ?? null))
      if (textsOf)
        send(connection, addTexts[name as TextTable], row.key ?? null, ...textsOf(String(row.record)))
    }
  },
  end: async () => {},
})
