import { send, type Value } from '../../storage/driver/connection.js'
import { dialectOf, inEachDialect, type RowInserter, type RowTarget } from '../dialect/dialect.js'
import type { TextTable } from '../full-text/text-query.js'

/** Writes the rows of a table, with the texts that they are searched by. */
export interface RowWriter {
  readonly add: RowInserter
  /**
   * `isFoundAsBefore` says that the columns that records are found by have their old values. Texts are left out where they
   * have not changed.
   */
  change(
    to: RowTarget,
    key: number,
    values: readonly Value[],
    isFoundAsBefore: boolean,
    texts: readonly string[] | undefined,
  ): void
}

/**
 * Makes the writer of a table from its columns, all but the key; values come in their order. An update writes every
 * index of the columns that it names, whether they change or not: so it names those that records are found by, whose
 * indexes are spread wide, only when one of them changes.
 */
export function rowWriter(table: TextTable, columns: readonly string[], found: readonly string[]): RowWriter {
  const facts = columns.flatMap((column, at) => (found.includes(column) ? [] : [at]))
  const updating = (some: readonly string[]) =>
    `UPDATE ${table} SET ${some.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
  const insert = inEachDialect(({ texts }) => texts.rowInserter(table, columns))
  const [updateAll, updateFacts] = [updating(columns), updating(facts.map((at) => columns[at] ?? ''))]
  return {
    add: (to, ...row) => insert(to.connection)(to, ...row),
    change(to, key, values, isFoundAsBefore, texts) {
      if (isFoundAsBefore) send(to.connection, updateFacts, ...facts.map((at) => values[at] ?? null), key)
      else send(to.connection, updateAll, ...values, key)
      if (texts) dialectOf(to.connection).texts.replaceTexts(to, table, key, texts)
    },
  }
}
