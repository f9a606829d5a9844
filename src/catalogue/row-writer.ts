import type { Value } from '../storage/driver.js'
import type { Statements } from './statements.js'

/** Writes the rows of a table. */
export interface RowWriter {
  add(statements: Statements, key: number, values: readonly Value[]): void
  /** `isFoundAsBefore` says that the columns that records are found by have their old values. */
  change(statements: Statements, key: number, values: readonly Value[], isFoundAsBefore: boolean): void
}

/**
 * Makes the writer of a table from its columns, all but the key; values come in their order. An update writes every
 * index of the columns that it names, whether they change or not: so it names those that records are found by, whose
 * indexes are spread wide, only when one of them changes.
 */
export function rowWriter(table: string, columns: readonly string[], found: readonly string[]): RowWriter {
  const facts = columns.flatMap((column, at) => (found.includes(column) ? [] : [at]))
  const insert = `INSERT INTO ${table} (${columns.join(', ')}, key) VALUES (${columns.map(() => '?, ').join('')}?)`
  const updating = (some: readonly string[]) =>
    `UPDATE ${table} SET ${some.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
  const [updateAll, updateFacts] = [updating(columns), updating(facts.map((at) => columns[at] ?? ''))]
  return {
    add(statements, key, values) {
      statements.run(insert, ...values, key)
    },
    change(statements, key, values, isFoundAsBefore) {
      if (isFoundAsBefore) statements.run(updateFacts, ...facts.map((at) => values[at] ?? null), key)
      else statements.run(updateAll, ...values, key)
    },
  }
}
