import type { Refusal } from '../../api/calls/errors.js'
import type { Ids } from '../../api/ports/ports.js'
import type { Fields } from '../../api/values/objects.js'
import { isInvalid } from '../../identity/readers.js'
import { type Connection, insertInto, send, type Value } from '../../storage/driver/connection.js'
import type { RowInserter } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/keyword.js'
import type { RecordKind } from '../kinds/kind.js'

/**
 * Whether a record was new, and whether a known one differs from what was stored; `unknown` where it only adds to a known one,
 * and there is none; `older` where a newer snapshot of the same open data is stored; or why it is rejected.
 */
export type Outcome = 'added' | 'updated' | 'unchanged' | 'unknown' | 'older' | Refusal

/** A row as it is decided; `before` is the row that it replaces. */
export interface Change<Row extends Candidate = Candidate, Before = Candidate> {
  /** Its columns by their names, and the texts that keyword searches find it by. */
  readonly row: Row
  readonly before: Before | undefined
  /** Returns what the imported record says, in the format of an import. */
  readonly said: () => Fields
}

/** The same of a row that is found by texts. */
export interface TextChange<Row extends Candidate, Before> extends Change<Row, Before> {
  /** Whether the texts differ from those of the replaced row, or what is kept with them. */
  readonly hasNewTexts: boolean
}

/** The catalogue that records are imported into, or for a dry run what it would have become. */
export interface ImportTarget {
  readMaxKey(table: RecordKind): Promise<number>
  /** Reads what is stored beside the rows that are imported. */
  read<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  readRows<Row extends Candidate>(table: CandidateTable, lookups: readonly Lookup[]): Promise<Row[]>
  /** Keeps changes of a table; `write` writes them into a catalogue. */
  keep<C extends Change>(
    table: CandidateTable,
    changes: readonly C[],
    write: (connection: Connection, changes: readonly C[]) => Promise<void>,
  ): Promise<void>
}

/** A target that writes everything into a catalogue; `note` is called before rows are written. */
export const toImportTarget = (
  connection: Connection,
  note: (kind: RecordKind, changes: readonly Change[]) => Promise<void>,
): ImportTarget => ({
  readMaxKey: (table) => readMaxKey(connection, table),
  read: (work) => work(connection),
  readRows: (table, lookups) => readRows(connection, table, lookups),
  keep: async ({ name }, changes, write) => {
    if (changes.length === 0) return
    await note(name, changes)
    await write(connection, changes)
  },
})

/** A target that keeps decided rows in `scratch`, a SQLite database with an empty catalogue, and only reads the real one. */
export const toDryRunTarget = (real: Connection, scratch: Connection): ImportTarget => ({
  read: (work) => work(real),
  readMaxKey: async (table) => Math.max(await readMaxKey(real, table), await readMaxKey(scratch, table)),
  async readRows<Row extends Candidate>(table: CandidateTable, lookups: readonly Lookup[]) {
    const stored = await readRows<Row>(real, table, lookups)
    const replaced: Lookup = ['SELECT atom FROM json_each(?)', stored.map(({ key }) => key)]
    const decided = await readRows<Row>(scratch, table, [...lookups, replaced])
    return [...new Map([...stored, ...decided].map((row) => [row.key, row])).values()]
  },
  async keep({ name, columns }, changes) {
    const updates = columns.map((column) => `${column} = excluded.${column}`).join(', ')
    const { sql } = insertInto(name, columns, `ON CONFLICT (key) DO UPDATE SET ${updates}`)
    for (const { row } of changes) {
      const values = row as Candidate & Readonly<Record<string, Value>>
      await scratch.run(sql, ...columns.map((column) => values[column] ?? null))
    }
  },
})

async function readMaxKey(connection: Connection, table: RecordKind): Promise<number> {
  const row = await connection.get<{ key: number | null }>(`SELECT max(key) AS key FROM ${table}`)
  return row?.key ?? 0
}

async function readRows<Row>(
  connection: Connection,
  { name, columns }: CandidateTable,
  lookups: readonly Lookup[],
): Promise<Row[]> {
  const asked = lookups.filter(([, values]) => values.length > 0)
  if (asked.length === 0) return []
  // A single lookup can be answered from its index, without the rows.
  const [[, , alone] = []] = asked.length === 1 ? asked : []
  const where = alone ?? `key IN (${asked.map(([sql]) => sql).join(' UNION ')})`
  return await connection.all<Row>(
    `SELECT ${columns.join(', ')} FROM ${name} WHERE ${where}`,
    ...asked.map(([, values]) => JSON.stringify(values)),
  )
}

/** A set of open data that is imported: its name and day, its row among the sources, and whether it adds companies by name alone. */
export interface OpenImport {
  readonly name: string
  readonly snapshot: string
  readonly source: number
  readonly creates: boolean
}

/** The transaction that a portion of records is imported in. */
export type ImportContext = Awaited<ReturnType<typeof createImportContext>>

export async function createImportContext(
  kind: RecordKind,
  target: ImportTarget,
  ids: Pick<Ids, 'uuid'>,
  open?: OpenImport,
) {
  const maxKeys = new Map<RecordKind, number>()
  // Other kinds may create companies.
  for (const table of new Set<RecordKind>([kind, 'companies']))
    maxKeys.set(table, await target.readMaxKey(table))
  return {
    target,
    ids,
    /** The open data that is imported; `undefined` for any other file. */
    open,
    /** Number of companies created because another record named them. */
    createdCompanies: 0,
    /** Returns the key of the next row of a table. Only one transaction at a time adds rows. */
    nextKey(table: RecordKind): number {
      const key = (maxKeys.get(table) ?? 0) + 1
      maxKeys.set(table, key)
      return key
    },
  }
}

/** Decides about records in their order. A record that is refused has changed nothing. */
export function decideEach<T, R>(records: readonly T[], decide: (record: T, index: number) => R) {
  return records.map((record, index) => {
    try {
      return decide(record, index)
    } catch (error) {
      if (isInvalid(error)) return error
      throw error
    }
  })
}

/** Reads the jobs or posts with some identities. */
export async function readIdentities<Row extends Candidate & { readonly identity: string }>(
  context: ImportContext,
  table: CandidateTable,
  identities: readonly (string | undefined)[],
): Promise<Candidates<Row>> {
  const rows = await context.target.readRows<Row>(table, [lookUp(table.name, 'identity', identities)])
  return new Candidates(rows)
}

/** A row that a record may be the same as. */
export interface Candidate {
  readonly key: number
}

/** A table, and the columns of its rows that decide about records. */
export interface CandidateTable {
  readonly name: RecordKind
  readonly columns: readonly string[]
}

/** A query for keys of rows, the list that takes the place of its `?`, and its condition where that says the same. */
type Lookup = readonly [sql: string, values: readonly unknown[], condition?: string]

/** Returns the lookup of rows that have one of some texts in a column: of each text all, or the oldest `max`. */
export function lookUp(
  table: RecordKind,
  column: string,
  texts: Iterable<string | undefined>,
  max?: number,
): Lookup {
  const values = [...new Set(texts)].filter((text) => text !== undefined)
  const where = `${column} IN (SELECT value FROM json_each(?))`
  if (max === undefined) return [`SELECT key FROM ${table} WHERE ${where}`, values, where]
  const places = `SELECT key, row_number() OVER (PARTITION BY ${column} ORDER BY key) AS place FROM ${table} WHERE ${where}`
  return [`SELECT key FROM (${places}) AS places WHERE place <= ${max}`, values]
}

/** The rows that records may be the same as. A row that is decided replaces the stored one, and later records find it. */
export class Candidates<Row extends Candidate> {
  readonly #rows = new Map<number, Row>()
  readonly #indexes: [column: keyof Row, keys: Map<unknown, number | number[]>][] = []

  constructor(rows: Iterable<Row>) {
    this.add(rows)
  }

  add(rows: Iterable<Row>): void {
    for (const row of rows) this.set(row)
  }

  set(row: Row): void {
    const before = this.#rows.get(row.key)
    this.#rows.set(row.key, row)
    for (const [column, keys] of this.#indexes)
      if (!before || before[column] !== row[column]) addKey(keys, row[column], row.key)
  }

  all = (): Row[] => [...this.#rows.values()]

  /** Returns the rows that have a value in a column, the oldest first. */
  find<Column extends keyof Row>(column: Column, value: Row[Column]): Row[] {
    const keys = this.#indexOf(column).get(value)
    if (keys === undefined) return []
    const found: Row[] = []
    for (const key of typeof keys === 'number' ? [keys] : keys.toSorted((a, b) => a - b)) {
      const row = this.#rows.get(key)
      if (row?.[column] === value) found.push(row)
    }
    return found
  }

  #indexOf(column: keyof Row): Map<unknown, number | number[]> {
    const index = this.#indexes.find(([indexed]) => indexed === column)
    if (index) return index[1]
    const keys = new Map<unknown, number | number[]>()
    for (const row of this.#rows.values()) addKey(keys, row[column], row.key)
    this.#indexes.push([column, keys])
    return keys
  }
}

function addKey(keys: Map<unknown, number | number[]>, value: unknown, key: number): void {
  if (value === null || value === undefined) return
  const there = keys.get(value)
  if (there === undefined) keys.set(value, key)
  else if (typeof there === 'number') {
    if (there !== key) keys.set(value, [there, key])
  } else if (!there.includes(key)) there.push(key)
}

export const hasSameValues = <One, Other>(
  one: One,
  other: Other,
  columns: readonly (keyof One & keyof Other)[],
): boolean => columns.every((column) => (one[column] as unknown) === other[column])

/**
 * Writes rows, all with the same columns. An UPDATE rewrites the indexes of all columns that it names, even when they do not
 * change. So it never names `fixedColumns`, and names `keyColumns`, whose indexes are expensive to write, only when one of
 * them changes.
 */
export function writeRows<Row extends Candidate & { readonly texts: readonly string[] }, Before>(
  connection: Connection,
  table: TextTable,
  changes: readonly TextChange<Row, Before>[],
  keyColumns: readonly (keyof Row & keyof Before)[] = [],
  fixedColumns: readonly (keyof Row)[] = [],
): void {
  const [first] = changes
  if (!first) return
  const { texts } = dialectOf(connection)
  const columns = Object.keys(first.row).filter((column) => column !== 'key' && column !== 'texts')
  const without = (some: readonly PropertyKey[]) => (column: string) => !some.includes(column)
  const changing = columns.filter(without(fixedColumns))
  const facts = changing.filter(without(keyColumns))
  const toUpdate = (some: readonly string[]) =>
    `UPDATE ${table} SET ${some.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
  const [updateAll, updateFacts] = [toUpdate(changing), toUpdate(facts)]
  const insert: RowInserter = texts.createRowInserter(table, columns)
  for (const { row, before, hasNewTexts } of changes) {
    const valuesOf = (some: readonly string[]) => {
      const values: Value[] = []
      for (const column of some) values.push(row[column as keyof Row] as Value)
      return values
    }
    if (!before) insert(connection, row.key, valuesOf(columns), row.texts)
    else if (hasSameValues(row, before, keyColumns))
      send(connection, updateFacts, ...valuesOf(facts), row.key)
    else send(connection, updateAll, ...valuesOf(changing), row.key)
    if (before && hasNewTexts) texts.replaceTexts(connection, table, row)
  }
}
