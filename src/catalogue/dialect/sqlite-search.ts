import { type Connection, insertInto, send } from '../../storage/driver/connection.js'
import type { Condition } from '../full-text/sql-conditions.js'
import { type Texts, type TextTable, textColumns } from '../full-text/text-query.js'
import type { CatalogueDialect } from './dialect.js'

// The words of a table stand in an FTS5 table of their own, such as `people_text`, under the row's key.

const textStatement = (verb: string, table: TextTable): string =>
  `${verb} INTO ${table}_text (rowid, ${textColumns[table].join(', ')})
    VALUES (?${textColumns[table].map(() => ', ?').join('')})`

/** The statements that add the texts of a row, by table. */
export const addTexts: Readonly<Record<TextTable, string>> = {
  companies: textStatement('INSERT', 'companies'),
  people: textStatement('INSERT', 'people'),
  jobs: textStatement('INSERT', 'jobs'),
}

/** Searches by words in SQLite. */
export const sqliteTexts: CatalogueDialect['texts'] = {
  // Few rows are cheaper to look up one by one.
  matchTexts(table, { texts, negated }, selectivity) {
    const matches = `FROM ${table}_text WHERE ${table}_text MATCH ?`
    const sql =
      selectivity === 'few'
        ? `EXISTS (SELECT 1 ${matches} AND rowid = key)`
        : `key IN (SELECT rowid ${matches})`
    return [negated ? `NOT ${sql}` : sql, toFts5(texts)]
  },
  createRowInserter(table, columns) {
    const { sql: insert } = insertInto(table, [...columns, 'key'])
    return ({ connection }, key, values, texts) => {
      connection.run(insert, ...values, key)
      connection.run(addTexts[table], key, ...texts)
    }
  },
  replaceTexts({ connection }, table, key, texts) {
    send(connection, textStatement('INSERT OR REPLACE', table), key, ...texts)
  },
  async deleteTexts(connection, table, keys) {
    for (const key of keys) await connection.run(`DELETE FROM ${table}_text WHERE rowid = ?`, key)
  },
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

const presentIndexes = `SELECT count(*) AS count FROM sqlite_schema
  WHERE type = 'index' AND name IN (SELECT value FROM json_each(?))`

/** Searches of people, engagers and companies in SQLite. */
export const sqliteSearch: CatalogueDialect['search'] = {
  /**
   * Begins with the condition that finds fewest: words first, then employers, else with everybody. Many people are read
   * from the index of facts, a tenth of the table.
   */
  peoplePath(text, staff) {
    const employer = staff ? [staff.condition] : []
    if (text && !text.negated && staff?.selectivity !== 'few')
      return {
        key: 'people_text.rowid',
        from: 'people_text CROSS JOIN people INDEXED BY people_facts ON people.key = people_text.rowid',
        conditions: [['people_text MATCH ?', toFts5(text.texts)] as Condition, ...employer],
        isCounted: false,
      }
    const texts = text ? [sqliteTexts.matchTexts('people', text, staff?.selectivity ?? 'many')] : []
    if (!staff)
      return {
        key: 'people.key',
        from: 'people INDEXED BY people_facts',
        conditions: texts,
        isCounted: false,
      }
    // The sign keeps SQLite from reading everybody in order; the staff of few companies is quickly sorted.
    return { key: '+people.key', from: 'people', conditions: [...employer, ...texts], isCounted: false }
  },
  hasOrderedNames: true,
  distinctEngagers: (engaged) =>
    `SELECT min(profile) AS profile, url, person FROM (${engaged}) GROUP BY coalesce(person, profile)`,
  firstTitles: ({ texts }, limit) => [
    `SELECT json_extract(record, '$.title') AS title FROM people
      WHERE key IN (SELECT rowid FROM people_text WHERE people_text MATCH ? LIMIT ?)`,
    toFts5(texts),
    limit,
  ],
  async hasIndexes(connection: Connection, names) {
    const row = await connection.get<{ count: number }>(presentIndexes, JSON.stringify(names))
    return row?.count === names.length
  },
  similarityWords: (usualHeadcounts) => ({
    ...{ examples: 'json_each(?)', place: 'key', max: 'max' },
    logarithm: `ln(max(1, coalesce(headcount, '${JSON.stringify(usualHeadcounts)}' ->> size)))`,
    logarithmOfExample: 'ln(max(1, of_headcount))',
    ...{ first: '', bestScore: 'max(score)', once: 'GROUP BY near_key' },
  }),
}
