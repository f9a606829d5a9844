import { type Connection, send, type Value } from '../../storage/driver/connection.js'
import { vectorsOf } from '../full-text/postgres.js'
import { type TextTable, textColumns } from '../full-text/text-columns.js'
import type { Words } from '../full-text/tokenizer.js'

/** Where rows are written, and what cuts their texts into words. */
export interface Rows {
  readonly connection: Connection
  readonly words: Words
}

/** Writes the rows of a table, with the texts that they are searched by. */
export interface RowWriter {
  add(to: Rows, key: number, values: readonly Value[], texts: readonly string[]): void
  /**
   * `isFoundAsBefore` says that the columns that records are found by have their old values; texts are left out where they
   * are as before.
   */
  change(
    to: Rows,
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
  const inserting = (all: readonly string[]) =>
    `INSERT INTO ${table} (${all.join(', ')}, key) VALUES (${all.map(() => '?, ').join('')}?)`
  const updating = (some: readonly string[]) =>
    `UPDATE ${table} SET ${some.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
  const [insert, insertWithWords] = [inserting(columns), inserting([...columns, 'words'])]
  const [updateAll, updateFacts] = [updating(columns), updating(facts.map((at) => columns[at] ?? ''))]
  return {
    add({ connection, words }, key, values, texts) {
      if (connection.dialect === 'postgres')
        return void send(connection, insertWithWords, ...values, vectorsOf(table, words)(texts), key)
      connection.run(insert, ...values, key)
      connection.run(addTexts[table], key, ...texts)
    },
    change(to, key, values, isFoundAsBefore, texts) {
      if (isFoundAsBefore) send(to.connection, updateFacts, ...facts.map((at) => values[at] ?? null), key)
      else send(to.connection, updateAll, ...values, key)
      if (texts) changeTexts(to, table, key, texts)
    },
  }
}

/** Gives a row other texts to be searched by. */
export function changeTexts(
  { connection, words }: Rows,
  table: TextTable,
  key: number,
  texts: readonly string[],
): void {
  if (connection.dialect === 'sqlite') send(connection, replaceTexts[table], key, ...texts)
  else send(connection, `UPDATE ${table} SET words = ? WHERE key = ?`, vectorsOf(table, words)(texts), key)
}

const textsInto = (table: TextTable): string => {
  const columns = textColumns[table]
  return `INTO ${table}_text (rowid, ${columns.join(', ')}) VALUES (?${columns.map(() => ', ?').join('')})`
}
const perTable = (verb: string): Readonly<Record<TextTable, string>> => ({
  companies: `${verb} ${textsInto('companies')}`,
  people: `${verb} ${textsInto('people')}`,
  jobs: `${verb} ${textsInto('jobs')}`,
})
/** The statements that add the texts of a row in SQLite, by table. */
export const addTexts = perTable('INSERT')
const replaceTexts = perTable('INSERT OR REPLACE')
