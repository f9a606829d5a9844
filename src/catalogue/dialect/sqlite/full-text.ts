import { type Connection, send, type Value } from '../../../storage/driver/connection.js'
import type { Condition, Selectivity } from '../../full-text/sql-conditions.js'
import { type TextQuery, type Texts, type TextTable, textColumns } from '../../full-text/text-query.js'

// The words of a table stand in an FTS5 table of their own, such as `people_text`, under the row's key.

/** Returns the condition that the texts of a row fulfil a query. Few rows are cheaper to look up one by one. */
export function matchTexts(
  table: TextTable,
  { texts, negated }: TextQuery,
  selectivity: Selectivity,
): Condition {
  const matches = `FROM ${table}_text WHERE ${table}_text MATCH ?`
  const sql =
    selectivity === 'few'
      ? `EXISTS (SELECT 1 ${matches} AND rowid = key)`
      : `key IN (SELECT rowid ${matches})`
  return [negated ? `NOT ${sql}` : sql, toFts5(texts)]
}

/** Returns texts in the query language of FTS5. */
export function toFts5(texts: Texts): string {
  if ('phrase' in texts) return quote(texts.phrase)
  if ('beginning' in texts) return `^ ${quote(texts.beginning)}`
  if ('all' in texts) return `(${texts.all.map(toFts5).join(' AND ')})`
  if ('any' in texts) return `(${texts.any.map(toFts5).join(' OR ')})`
  if ('held' in texts) return `(${toFts5(texts.held)} NOT ${toFts5(texts.butNot)})`
  return `({${texts.columns.join(' ')}} : ${toFts5(texts.hold)})`
}

const quote = (words: string): string => `"${words.replaceAll('"', '""')}"`

/** Returns a function that inserts a row with its texts; values come in the order of the columns. */
export function rowInserter(table: TextTable, columns: readonly string[]) {
  const insert = `INSERT INTO ${table} (${columns.join(', ')}, key) VALUES (${columns.map(() => '?, ').join('')}?)`
  return (
    { connection }: { readonly connection: Connection },
    key: number,
    values: readonly Value[],
    texts: readonly string[],
  ): void => {
    connection.run(insert, ...values, key)
    connection.run(addTexts[table], key, ...texts)
  }
}

/** Replaces the texts that a row is found by. */
export function replaceTexts(
  { connection }: { readonly connection: Connection },
  table: TextTable,
  key: number,
  texts: readonly string[],
): void {
  send(connection, textStatement('INSERT OR REPLACE', table), key, ...texts)
}

/** Deletes the texts that rows are found by. */
export async function deleteTexts(
  connection: Connection,
  table: TextTable,
  keys: readonly number[],
): Promise<void> {
  for (const key of keys) await connection.run(`DELETE FROM ${table}_text WHERE rowid = ?`, key)
}

const textStatement = (verb: string, table: TextTable): string =>
  `${verb} INTO ${table}_text (rowid, ${textColumns[table].join(', ')})
    VALUES (?${textColumns[table].map(() => ', ?').join('')})`

/** The statements that add the texts of a row, by table. */
export const addTexts: Readonly<Record<TextTable, string>> = {
  companies: textStatement('INSERT', 'companies'),
  people: textStatement('INSERT', 'people'),
  jobs: textStatement('INSERT', 'jobs'),
}
