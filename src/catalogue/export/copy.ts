import { createHash } from 'node:crypto'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { type CopiedRow, type CopiedTable, dialectOf } from '../dialect/dialect.js'
import { findTooLong } from '../records/lengths.js'
import { endLoad } from '../write/bulk-load.js'
import { copiedTables } from './copied-tables.js'

/** What comes of a copy: rows that were brought over, or why there are none. */
export type Copied = { readonly rows: number } | { readonly tooLong: string } | 'not empty' | 'not the same'

/** Rows read at once. */
const portion = 1_000

/**
 * Brings all of a catalogue, of one moment, into an empty one of either kind: all of it or nothing. What is there then is
 * read again and compared with what was read here.
 */
export async function copyCatalogue(
  from: Driver,
  to: Driver,
  onProgress: (rows: number) => void = () => {},
): Promise<Copied> {
  return await from.read(async (source) => {
    try {
      const copied = await to.transaction((connection) => copyAll(source, connection, onProgress))
      await endLoad(to)
      return copied
    } catch (error) {
      if (error instanceof Different) return 'not the same'
      throw error
    }
  })
}

/** What undoes a copy that does not say the same. */
class Different extends Error {}

async function copyAll(
  source: Connection,
  connection: Connection,
  onProgress: (rows: number) => void,
): Promise<Copied> {
  for (const table of Object.keys(copiedTables))
    if (await connection.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) return 'not empty'
  for (const side of [source, connection]) await dialectOf(side).copy.waitLonger(side)
  const tooLong = await findTooLong(source, connection)
  if (tooLong !== undefined) return { tooLong }
  const target = dialectOf(connection).copy.createTarget(connection, copiedTables)
  await target.begin()
  let rows = 0
  const there = await digestOf(source, async (table, some) => {
    await target.add(table, some)
    rows += some.length
    onProgress(rows)
  })
  await target.end()
  const here = await digestOf(connection, async () => {})
  if (there !== here) throw new Different('the copy is not the same')
  return { rows }
}

/** Reads all rows; answers what stands for all that they say. */
async function digestOf(
  connection: Connection,
  each: (table: string, rows: readonly CopiedRow[]) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  for (const [name, table] of Object.entries(copiedTables)) {
    const columns = Object.keys(table.columns)
    for (let last: CopiedRow | undefined, more = true; more; ) {
      const rows = await rowsBehind(connection, name, table, last)
      for (const row of rows) hash.update(`${JSON.stringify(columns.map((column) => row[column] ?? null))}\n`)
      if (rows.length > 0) await each(name, rows)
      last = rows.at(-1)
      more = rows.length === portion
    }
    hash.update(`${name}\n`)
  }
  return hash.digest('hex')
}

async function rowsBehind(
  connection: Connection,
  name: string,
  { keys, columns }: CopiedTable,
  last: CopiedRow | undefined,
): Promise<CopiedRow[]> {
  const all = Object.keys(columns)
  const key = all.slice(0, keys)
  const behind = last ? ` WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})` : ''
  const sql = `SELECT ${all.join(', ')} FROM ${name}${behind} ORDER BY ${key.join(', ')} LIMIT ${portion}`
  return await connection.all<CopiedRow>(
    sql,
    ...key.flatMap((column) => (last ? [last[column] ?? null] : [])),
  )
}
