import { createHash } from 'node:crypto'
import { isRefusal, Refusal } from '../../api/calls/errors.js'
import {
  type Connection,
  type Driver,
  readPortions,
  type StoredRow,
} from '../../storage/driver/connection.js'
import type { CopiedTable } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import { type StoredAccount, toCompanyTexts } from '../records/company-row.js'
import { type StoredJob, toJobTexts } from '../records/jobs.js'
import type { StoredPerson } from '../records/person.js'
import { toPersonTexts } from '../records/person-row.js'
import { primaryKeys, type TableName } from '../schema/tables.js'
import { endBulkLoad } from '../write/bulk-load.js'
import { findTooLong } from '../write/index-limits.js'

/** The number of copied rows, or why nothing was copied. */
export type CopyResult =
  | { readonly rows: number }
  | { readonly tooLong: string }
  | 'not empty'
  | 'not the same'

/** Rows read at once. */
const portion = 1_000

/**
 * Copies a snapshot of a catalogue into an empty one of either dialect. The copy is atomic: it is read again and
 * compared before it is committed.
 */
export async function copyCatalogue(
  from: Driver,
  to: Driver,
  onProgress: (rows: number) => void = () => {},
): Promise<CopyResult> {
  return await from.read(async (source) => {
    try {
      const copied = await to.transaction((connection) => copyAll(source, connection, onProgress))
      await endBulkLoad(to)
      return copied
    } catch (error) {
      if (isRefusal(error, 'database.copy_differs')) return 'not the same'
      throw error
    }
  })
}

async function copyAll(
  source: Connection,
  connection: Connection,
  onProgress: (rows: number) => void,
): Promise<CopyResult> {
  for (const table of Object.keys(primaryKeys))
    if (await connection.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) return 'not empty'
  for (const side of [source, connection]) await dialectOf(side).copy.waitLonger(side)
  const tooLong = await findTooLong(source, connection)
  if (tooLong !== undefined) return { tooLong }
  const tables = await readCopiedTables(connection)
  const target = dialectOf(connection).copy.createTarget(connection, tables)
  await target.begin()
  let rows = 0
  const there = await digest(source, tables, async (table, some) => {
    await target.add(table, some)
    rows += some.length
    onProgress(rows)
  })
  await target.end()
  const here = await digest(connection, tables, async () => {})
  // Which undoes the copy.
  if (there !== here) throw new Refusal('database.copy_differs')
  return { rows }
}

/** Reads all rows; returns their hash. */
async function digest(
  connection: Connection,
  tables: Readonly<Record<string, CopiedTable>>,
  each: (table: string, rows: readonly StoredRow[]) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  for (const [name, { columns }] of Object.entries(tables)) {
    const all = {
      table: name,
      key: primaryKeys[name as TableName],
      columns: columns.join(', '),
      limit: portion,
    }
    for await (const rows of readPortions(connection, all)) {
      for (const row of rows) hash.update(`${JSON.stringify(columns.map((column) => row[column] ?? null))}\n`)
      if (rows.length > 0) await each(name, rows)
    }
    hash.update(`${name}\n`)
  }
  return hash.digest('hex')
}

const textsOf: Readonly<Record<string, CopiedTable['textsOf']>> = {
  companies: (record) => toCompanyTexts(JSON.parse(record) as StoredAccount),
  people: (record) => toPersonTexts(JSON.parse(record) as StoredPerson),
  jobs: (record) => toJobTexts(JSON.parse(record) as StoredJob),
}

/** Returns the tables of a catalogue as a copy takes them. */
export async function readCopiedTables(
  connection: Connection,
): Promise<Readonly<Record<string, CopiedTable>>> {
  const tables: Record<string, CopiedTable> = {}
  for (const name of Object.keys(primaryKeys))
    tables[name] = {
      columns: await dialectOf(connection).copy.listColumns(connection, name),
      textsOf: textsOf[name],
    }
  return tables
}
