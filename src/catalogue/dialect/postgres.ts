import { type Driver, insertInto, send } from '../../storage/driver/connection.js'
import { type Texts, type TextTable, textColumns } from '../full-text/keyword.js'
import { wordsOf } from '../full-text/words.js'
import type { CatalogueDialect } from './dialect.js'

// One vector, in the column `words`, holds the words of all text columns, each behind the number of its column. So one index
// answers for all of them, and a phrase never spans two columns. The first word of a column is there a second time, marked.

/** Limits of PostgreSQL: bytes of a vector, positions in it, and letters of a word. */
const maxBytes = 1_000_000
const maxPositions = 16_383
const maxLetters = 500

const noWord = "'!'"

export const postgresTexts: CatalogueDialect['texts'] = {
  matchTexts(table, { texts, negated }) {
    const sql = 'words @@ CAST(? AS TSQUERY)'
    return [negated ? `NOT (${sql})` : sql, toTsquery(table, texts)]
  },
  createRowInserter(table, columns) {
    const { sql: insert } = insertInto(table, [...columns, 'words', 'key'])
    const toVector = createVectorWriter(table)
    return (connection, key, values, texts) => {
      send(connection, insert, ...values, toVector(texts), key)
    }
  },
  replaceTexts(connection, table, { key, texts }) {
    send(connection, `UPDATE ${table} SET words = ? WHERE key = ?`, createVectorWriter(table)(texts), key)
  },
  deleteTexts: async () => {},
}

export function toTsquery(table: TextTable, texts: Texts): string {
  const all = textColumns[table].map((_, at) => at)
  const write = (some: Texts, columns: readonly number[]): string => {
    if ('phrase' in some) return adjacent(wordsOf(some.phrase), columns, '')
    if ('beginning' in some) return adjacent(wordsOf(some.beginning), columns, '^')
    if ('all' in some) return `(${some.all.map((one) => write(one, columns)).join(' & ')})`
    if ('any' in some) return `(${some.any.map((one) => write(one, columns)).join(' | ')})`
    if ('held' in some) return `(${write(some.held, columns)} & !${write(some.butNot, columns)})`
    const chosen = columns.filter((at) => some.columns.includes(textColumns[table][at] ?? ''))
    return write(some.hold, chosen)
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

export function createVectorWriter(table: TextTable) {
  const marksBeginning = table === 'jobs'
  return (texts: readonly string[]): string => {
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
      for (const [at, word] of wordsOf(text).entries()) {
        if (at === maxPositions || !add(toLexeme(column, '', word), at + 1)) break
        if (at === 0 && marksBeginning) add(toLexeme(column, '^', word), 1)
      }
    let vector = ''
    for (const [word, at] of positions) vector += `${word}:${at} `
    return vector
  }
}

export const postgresSearch: CatalogueDialect['search'] = {
  companiesPath: (text) => ({
    from: '',
    companies: 'companies',
    key: 'key',
    conditions: text ? [postgresTexts.matchTexts('companies', text, 'many')] : [],
  }),
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
  firstTitles(query, limit) {
    const [matches, ...values] = postgresTexts.matchTexts('people', query, 'many')
    return [
      `SELECT json_extract(record, '$.title') AS title
        FROM (SELECT key, record FROM people WHERE ${matches} ORDER BY key LIMIT ?) AS held ORDER BY key`,
      ...values,
      limit,
    ]
  },
}

const analyze = (driver: Driver, tables: readonly string[]): Promise<void> =>
  driver.transaction(async (connection) => {
    await connection.exec(`SET LOCAL statement_timeout = 0; ANALYZE ${tables.join(', ')}`)
  })

/** Indexes stay while a table is filled, and the server's settings suit bulk writes. */
export const postgresLoad: CatalogueDialect['load'] = {
  // A search that was planned for an empty table may take minutes in a full one. Where ANALYZE fails, the server runs it
  // later by itself, so the failure is no failure of the import.
  end: (driver, tables) => analyze(driver, [...new Set(['companies', ...tables])]).catch(() => {}),
  // The statistics of ANALYZE contain values of rows.
  forgetDeletedRows: analyze,
}

export const postgresMoved: CatalogueDialect['moved'] = (table, textsOf) => {
  const vector = createVectorWriter(table)
  return { columns: ['words'], valuesOf: ({ record }) => [vector(textsOf(String(record)))] }
}
