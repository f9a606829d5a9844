import { insertInto, send } from '../../storage/driver/connection.js'
import { type Texts, type TextTable, textColumns } from '../full-text/text-query.js'
import { createTokenizer, type Tokenizer } from '../full-text/tokenizer.js'
import type { CatalogueDialect } from './dialect.js'

// One vector, in the column `words`, holds the words of all text columns, each behind the number of its column. So one index
// answers for all of them, and a phrase never spans two columns. The first word of a column is there a second time, marked.

/** Limits of PostgreSQL: bytes of a vector, positions in it, and letters of a word. */
const maxBytes = 1_000_000
const maxPositions = 16_383
const maxLetters = 500

/** A word that no vector has. */
const noWord = "'!'"

/** Searches by words in PostgreSQL. */
export const postgresTexts: CatalogueDialect['texts'] = {
  matchTexts(table, { texts, negated }) {
    const sql = 'words @@ CAST(? AS TSQUERY)'
    return [negated ? `NOT (${sql})` : sql, toTsquery(table, texts)]
  },
  createRowInserter(table, columns) {
    const { sql: insert } = insertInto(table, [...columns, 'words', 'key'])
    return ({ connection, tokenize }, key, values, texts) => {
      send(connection, insert, ...values, createVectorWriter(table, tokenize)(texts), key)
    }
  },
  replaceTexts({ connection, tokenize }, table, key, texts) {
    send(
      connection,
      `UPDATE ${table} SET words = ? WHERE key = ?`,
      createVectorWriter(table, tokenize)(texts),
      key,
    )
  },
  deleteTexts: async () => {},
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
export function createVectorWriter(
  table: TextTable,
  tokenize: Tokenizer,
): (texts: readonly string[]) => string {
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

/** Searches of people, engagers and companies in PostgreSQL. */
export const postgresSearch: CatalogueDialect['search'] = {
  // The planner chooses the order of the conditions.
  peoplePath(text, staff) {
    // The index of words finds all matches before the first of them is known, so that counting them is free.
    const isCounted = text !== undefined && !text.negated
    return {
      // The sign keeps the planner from reading the words of everybody in order, where few have them.
      key: isCounted ? '+people.key' : 'people.key',
      from: 'people',
      conditions: [
        ...(staff ? [staff.condition] : []),
        ...(text ? [postgresTexts.matchTexts('people', text, 'many')] : []),
      ],
      isCounted,
    }
  },
  // The index has their hashes.
  hasOrderedNames: false,
  distinctEngagers(engaged) {
    const own = 'person, CASE WHEN person IS NULL THEN profile END'
    return `SELECT DISTINCT ON (${own}) profile, url, person FROM (${engaged}) AS each ORDER BY ${own}, profile`
  },
  firstTitles(query, limit) {
    const [matches, ...values] = postgresTexts.matchTexts('people', query, 'many')
    return [
      `SELECT json_extract(record, '$.title') AS title
        FROM (SELECT key, record FROM people WHERE ${matches} ORDER BY key LIMIT ?) AS held ORDER BY key`,
      ...values,
      limit,
    ]
  },
  // Indexes are never missing.
  hasIndexes: async () => true,
  similarityWords: (usualHeadcounts) => ({
    examples: 'jsonb_array_elements(CAST(? AS JSONB)) WITH ORDINALITY AS examples (value, place)',
    ...{ place: 'place', max: 'greatest' },
    logarithm: logarithm(
      `coalesce(headcount, (ARRAY[${usualHeadcounts.join(', ')}])[CAST(size AS INTEGER) + 1])`,
    ),
    logarithmOfExample: logarithm('of_headcount'),
    ...{ first: 'DISTINCT ON (near_key)', bestScore: 'score', once: 'ORDER BY near_key, score DESC, place' },
  }),
}

/** The logarithm of a headcount, of one at least, where it is known. */
const logarithm = (headcount: string): string =>
  `ln(CAST(CASE WHEN ${headcount} IS NOT NULL THEN greatest(1, ${headcount}) END AS DOUBLE PRECISION))`
