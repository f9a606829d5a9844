import { type Connection, send, type Value } from '../../storage/driver/connection.js'
import type { RowInserter } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/keyword.js'
import { createTokenizer } from '../full-text/tokenizer.js'
import type { Candidate } from './candidates.js'

/** A decided row, and the one that it replaces. */
interface RowChange<Row, Before> {
  /** Its columns by their names, and the texts that keyword searches find it by. */
  readonly row: Row
  readonly before: Before | undefined
  /** Whether the texts differ from those of the replaced row. */
  readonly hasNewTexts: boolean
}

/** Returns whether two rows have the same values in some columns. */
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
  changes: readonly RowChange<Row, Before>[],
  keyColumns: readonly (keyof Row & keyof Before)[] = [],
  fixedColumns: readonly (keyof Row)[] = [],
): void {
  const [first] = changes
  if (!first) return
  const to = { connection, tokenize: createTokenizer() }
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
    if (!before) insert(to, row.key, valuesOf(columns), row.texts)
    else if (hasSameValues(row, before, keyColumns))
      send(connection, updateFacts, ...valuesOf(facts), row.key)
    else send(connection, updateAll, ...valuesOf(changing), row.key)
    if (before && hasNewTexts) texts.replaceTexts(to, table, row.key, row.texts)
  }
}
