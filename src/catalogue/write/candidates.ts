import type { RecordKind } from '../kinds/kind.js'

/** A row that a record may be the same as. */
export interface Candidate {
  readonly key: number
}

/** A table, and the columns of its rows that decide about records. */
export interface CandidateTable {
  readonly name: RecordKind
  readonly columns: readonly string[]
}

/** A query for keys of rows, and the list that takes the place of its `?`. */
export type Lookup = readonly [sql: string, values: readonly unknown[]]

/** Returns the lookup of rows that have one of some texts in a column: of each text all, or the oldest `max`. */
export function lookUp(
  table: RecordKind,
  column: string,
  texts: Iterable<string | undefined>,
  max?: number,
): Lookup {
  const values = [...new Set(texts)].filter((text) => text !== undefined)
  const where = `WHERE ${column} IN (SELECT value FROM json_each(?))`
  if (max === undefined) return [`SELECT key FROM ${table} ${where}`, values]
  const places = `SELECT key, row_number() OVER (PARTITION BY ${column} ORDER BY key) AS place FROM ${table} ${where}`
  return [`SELECT key FROM (${places}) AS places WHERE place <= ${max}`, values]
}

/**
 * The rows that records may be the same as, by the values that they are found by. A row that is decided replaces the stored
 * one, and later records find it.
 */
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
