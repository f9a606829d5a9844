import { send, type Value } from '../../storage/driver/connection.js'
import type { RowTarget } from '../dialect/dialect.js'
import { dialectOf, inEachDialect } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/text-query.js'
import type { Candidate } from './candidates.js'

/** A row that was decided, and the one that it replaces. */
interface RowChange<Row, Before> {
  readonly row: Row
  readonly before: Before | undefined
  /** Whether the texts that keyword searches find it by changed. */
  readonly hasNewTexts: boolean
}

/** Returns whether a row has the same values in some columns. */
export const hasSameValues = <Column extends string>(
  one: Readonly<Record<Column, Value>>,
  other: Readonly<Record<Column, Value>>,
  columns: readonly Column[],
): boolean => columns.every((column) => one[column] === other[column])

/**
 * Creates the writer of a table from its columns without the key. An UPDATE rewrites the indexes of all columns that it
 * names, even when they do not change. So it never names `fixedColumns`, and names `keyColumns`, whose indexes are expensive
 * to write, only when one of them changes.
 */
export function createRowWriter<Column extends string, KeyColumn extends Column = never>(
  table: TextTable,
  columns: readonly Column[],
  keyColumns: readonly KeyColumn[] = [],
  fixedColumns: readonly Column[] = [],
) {
  const changing = columns.filter((column) => !fixedColumns.includes(column))
  const facts = changing.filter((column) => !(keyColumns as readonly string[]).includes(column))
  const updating = (some: readonly string[]) =>
    `UPDATE ${table} SET ${some.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
  const insert = inEachDialect(({ texts }) => texts.createRowInserter(table, columns))
  const [updateAll, updateFacts] = [updating(changing), updating(facts)]
  type Row = Candidate & Readonly<Record<Column, Value>> & { readonly texts: readonly string[] }
  return (
    to: RowTarget,
    { row, before, hasNewTexts }: RowChange<Row, Readonly<Record<KeyColumn, Value>>>,
  ): void => {
    const valuesOf = (some: readonly Column[]) => some.map((column) => row[column])
    if (!before) insert(to.connection)(to, row.key, valuesOf(columns), row.texts)
    else if (hasSameValues(row, before, keyColumns))
      send(to.connection, updateFacts, ...valuesOf(facts), row.key)
    else send(to.connection, updateAll, ...valuesOf(changing), row.key)
    if (before && hasNewTexts) dialectOf(to.connection).texts.replaceTexts(to, table, row.key, row.texts)
  }
}
