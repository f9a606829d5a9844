import { parseExact, toJson } from '../../api/values/json.js'
import type { Awaitable } from '../../api/values/objects.js'
import { type Connection, type Driver, readBehind, type StoredRow, type Value } from '../driver/connection.js'

/** Recognises the person who is to be erased. */
export interface SubjectMatcher {
  /** Returns whether a text or a value of JSON mentions the person. */
  mentions(value: unknown): boolean
  /** Returns whether a record is about the person, and not about something else that mentions them. */
  isAbout(value: unknown): boolean
  /**
   * Returns a record of something else without the records about the person in its lists, and with `blank` in place of each
   * text that mentions them; the same value where there is neither.
   */
  without<T>(value: T, blank: null | undefined | ''): T
}

/** What happens to a row with personal data. */
export interface RowErasure {
  /** The row goes, or columns get new values. */
  readonly change?: 'delete' | Readonly<Record<string, Value>>
  /** What is counted instead of one row of the table. */
  readonly counts?: Readonly<Record<string, number>>
  /** The person's data in other tables that go with the row. */
  readonly found?: readonly unknown[]
  /** Changes other tables in the same transaction, before the row itself. */
  readonly also?: (connection: Connection) => Promise<unknown>
}

/** Whether nothing is changed. A function is also called with each row that would be, as it is stored. */
export type DryRun = boolean | CollectRow

/** Takes a row of a table with the person's data; `found` is what other tables have of it. */
export type CollectRow = (table: string, row: StoredRow, found: readonly unknown[]) => void

/** A table with personal data; rows are typed where `erase` reads them. */
export interface PersonalTable<Row = never> {
  readonly table: string
  /** What its erased rows are counted as; they are not when there is no name. */
  readonly counted?: string
  /** Columns that its rows are identified by and read in the order of. */
  readonly key: readonly string[]
  /** Columns that may hold personal data, and those that tell whose it is. */
  readonly columns: readonly string[]
  /** Rows read in one transaction. */
  readonly portion?: number
  /** Narrows the rows that are read; asked when their turn comes. */
  readonly where?: () => readonly [sql: string, ...values: Value[]]
  /** Returns what happens to a row; `undefined` when it has none of the person's data. */
  erase(row: Row, subject: SubjectMatcher, connection: Connection): Awaitable<RowErasure | undefined>
}

const rowsAtOnce = 500

/** Erases a person from tables, each portion in a transaction; with `dryRun` it only counts. Repeated, it erases the rest. */
export async function eraseFromTables(
  driver: Driver,
  tables: readonly PersonalTable[],
  subject: SubjectMatcher,
  dryRun: DryRun,
) {
  const counts = new Map<string, number>()
  for (const table of tables) {
    let last: StoredRow | undefined
    do {
      const after = last
      const erasePortion = (connection: Connection) => eraseRows(connection, table, subject, after, dryRun)
      const portion = await (dryRun ? driver.read(erasePortion) : driver.transaction(erasePortion))
      // A transaction may run again, so each counts for itself.
      for (const [name, count] of portion.counts) counts.set(name, (counts.get(name) ?? 0) + count)
      last = portion.last
    } while (last)
  }
  return Object.fromEntries(counts)
}

async function eraseRows(
  connection: Connection,
  { table, key, columns, portion: limit = rowsAtOnce, where, counted, erase }: PersonalTable,
  subject: SubjectMatcher,
  last: StoredRow | undefined,
  dryRun: DryRun,
): Promise<{ counts: [name: string, count: number][]; last: StoredRow | undefined }> {
  const some = { table, key, columns: [...new Set([...key, ...columns])].join(', '), limit, last }
  const rows = await readBehind(connection, { ...some, where: where?.() ?? ['TRUE'] })
  const at = `WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`
  const counts: [string, number][] = []
  for (const row of rows) {
    const erasure = await erase(row as never, subject, connection)
    if (!erasure) continue
    const { change, also, found = [] } = erasure
    const own = key.map((column) => row[column] ?? null)
    if (typeof dryRun === 'function')
      dryRun(table, (await connection.get<StoredRow>(`SELECT * FROM ${table} ${at}`, ...own)) ?? row, found)
    else if (!dryRun) {
      await also?.(connection)
      if (change === 'delete') await connection.run(`DELETE FROM ${table} ${at}`, ...own)
      else if (change) {
        const set = Object.keys(change).map((column) => `${column} = ?`)
        await connection.run(`UPDATE ${table} SET ${set.join(', ')} ${at}`, ...Object.values(change), ...own)
      }
    }
    counts.push(...Object.entries(erasure.counts ?? (counted ? { [counted]: 1 } : {})))
  }
  return { counts, last: rows.at(-1) }
}

/** What a row counts as that is about something else, and lost what it said of the person. */
export const emptiedCount = { mentions: 1 } as const

/** Deletes or empties a row whose JSON is about the person; where it is about something else, that stays without them. */
export function eraseJson(
  subject: SubjectMatcher,
  column: string,
  json: string,
  whenAbout: NonNullable<RowErasure['change']> = 'delete',
): RowErasure | undefined {
  const value = parseExact(json)
  if (!subject.mentions(value)) return undefined
  if (subject.isAbout(value)) return { change: whenAbout }
  return { change: { [column]: toJson(subject.without(value, null)) }, counts: emptiedCount }
}
