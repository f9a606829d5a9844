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
  readonly #keys: ReadonlyMap<keyof Row, Map<unknown, number[]>>

  constructor(columns: readonly (keyof Row)[], rows: Iterable<Row>) {
    this.#keys = new Map(columns.map((column) => [column, new Map()]))
    this.add(rows)
  }

  add(rows: Iterable<Row>): void {
    for (const row of rows) this.set(row)
  }

  set(row: Row): void {
    const isNew = !this.#rows.has(row.key)
    this.#rows.set(row.key, row)
    for (const [column, keysByValue] of this.#keys) {
      const value = row[column]
      if (value === null || value === undefined) continue
      const keys = keysByValue.get(value)
      if (!keys) keysByValue.set(value, [row.key])
      else if (isNew || !keys.includes(row.key)) keys.push(row.key)
    }
  }

  /** Returns the rows that have a value in a column, the oldest first. */
  find<Column extends keyof Row>(column: Column, value: Row[Column]): Row[] {
    const rows: Row[] = []
    for (const key of this.#keys.get(column)?.get(value) ?? []) {
      const row = this.#rows.get(key)
      if (row?.[column] === value) rows.push(row)
    }
    return rows.length > 1 ? rows.sort((a, b) => a.key - b.key) : rows
  }
}
