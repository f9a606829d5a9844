import { type Connection, send, type Value } from '../../../storage/driver/connection.js'
import type { Condition } from '../../full-text/sql-conditions.js'
import { type TextQuery, type Texts, type TextTable, textColumns } from '../../full-text/text-query.js'
import { createTokenizer, type Tokenizer } from '../../full-text/tokenizer.js'

// One vector, in the column `words`, holds the words of all text columns, each behind the number of its column. So one index
// answers for all of them, and a phrase never spans two columns. The first word of a column is there a second time, marked.

/** Limits of PostgreSQL: bytes of a vector, positions in it, and letters of a word. */
const maxBytes = 1_000_000
const maxPositions = 16_383
const maxLetters = 500

/** A word that no vector has. */
const noWord = "'!'"

/** Returns the condition that the texts of a row fulfil a query. */
export function matchTexts(table: TextTable, { texts, negated }: TextQuery): Condition {
  const sql = 'words @@ CAST(? AS TSQUERY)'
  return [negated ? `NOT (${sql})` : sql, toTsquery(table, texts)]
}

/** Returns texts in the query language of PostgreSQL. */
export function toTsquery(table: TextTable, texts: Texts): string {
  const tokenize = createTokenizer()
  const all = textColumns[table].map((_, at) => at)
  const write = (some: Texts, columns: readonly number[]): string => {
    if ('phrase' in some) return adjacent(tokenize(some.phrase), columns, '')
    if ('beginning' in some) return adjacent(tokenize(some.beginning), columns, '^')
    if ('all' in some) return `(${some.all.map((one) => write(one, columns)).join(' & ')})`
    if ('any' in some) return `(${some.any.map((one) => write(one, columns)).join(' | ')})`
    if ('held' in some) return `(${write(some.held, columns)} & !${write(some.butNot, columns)})`
    return write(
      some.hold,
      columns.filter((at) => some.columns.includes(textColumns[table][at] ?? '')),
    )
  }
  return write(texts, all)
}

/** Returns a query for words next to each other in one of some columns. */
function adjacent(words: readonly string[], columns: readonly number[], mark: string): string {
  if (words.length === 0) return noWord
  const inOne = (column: number) =>
    words.map((word, at) => toLexeme(column, at === 0 ? mark : '', word)).join(' <-> ')
  return `(${columns.map((column) => `(${inOne(column)})`).join(' | ')})`
}

/** Returns a word of a column, quoted. Words consist of letters and digits; the quoting is only a safeguard. */
const toLexeme = (column: number, mark: string, word: string): string =>
  `'${column}${mark}${word.slice(0, maxLetters).replace(/['\\]/g, '$&$&')}'`

/** Returns a function that makes the vector of a row's texts. */
export function vectorWriter(table: TextTable, tokenize: Tokenizer): (texts: readonly string[]) => string {
  const marksBeginning = table === 'jobs'
  return (texts) => {
    const positions = new Map<string, string>()
    let bytes = 0
    const add = (lexeme: string, position: number): boolean => {
      const known = positions.get(lexeme)
      bytes += known === undefined ? Buffer.byteLength(lexeme) + 8 : 2
      if (bytes > maxBytes) return false
      positions.set(lexeme, known === undefined ? `${position}` : `${known},${position}`)
      return true
    }
    for (const [column, text] of texts.entries())
      for (const [at, word] of tokenize(text).entries()) {
        if (at === maxPositions || !add(toLexeme(column, '', word), at + 1)) break
        if (at === 0 && marksBeginning) add(toLexeme(column, '^', word), 1)
      }
    let vector = ''
    for (const [word, at] of positions) vector += `${word}:${at} `
    return vector
  }
}

interface Target {
  readonly connection: Connection
  readonly tokenize: Tokenizer
}

/** Returns a function that inserts a row with its texts; values come in the order of the columns. */
export function rowInserter(table: TextTable, columns: readonly string[]) {
  const all = [...columns, 'words', 'key']
  const insert = `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`
  return (
    { connection, tokenize }: Target,
    key: number,
    values: readonly Value[],
    texts: readonly string[],
  ): void => {
    send(connection, insert, ...values, vectorWriter(table, tokenize)(texts), key)
  }
}

/** Replaces the texts that a row is found by. */
export function replaceTexts(
  { connection, tokenize }: Target,
  table: TextTable,
  key: number,
  texts: readonly string[],
): void {
  send(connection, `UPDATE ${table} SET words = ? WHERE key = ?`, vectorWriter(table, tokenize)(texts), key)
}

/** Does nothing: a row's texts are a column of it, and go with it. */
export async function deleteTexts(): Promise<void> {}
