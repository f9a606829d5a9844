import { boundInteger, type Driver, insertInto, send, type Value } from '../../storage/driver/connection.js'
import { type FacetColumns, facetBits, facetColumns, facetConditions, toFacets } from '../full-text/facets.js'
import { type Condition, type Texts, type TextTable, textColumns } from '../full-text/keyword.js'
import { toAsciiTokens } from '../full-text/words.js'
import type { CatalogueDialect } from './dialect.js'

// The words of a table stand in an FTS5 table of their own, such as `people_text`, under the row's key; those of companies
// under the key and its facets.

const textStatement = (table: TextTable): string =>
  `INSERT OR REPLACE INTO ${table}_text (rowid, ${textColumns[table].join(', ')})
    VALUES (${boundInteger}${textColumns[table].map(() => ', ?').join('')})`

/** The statements that add the texts of a row, by table. */
const addTexts: Readonly<Record<TextTable, string>> = {
  companies: textStatement('companies'),
  people: textStatement('people'),
  jobs: textStatement('jobs'),
}

/** Returns the id of a row in the table of its words. */
const rowidOf = (table: TextTable, key: number, columns: FacetColumns): number =>
  table === 'companies' ? key * 2 ** facetBits + toFacets(columns) : key

/** Returns the key of a row, in the table of its words. */
const keyOf = (table: TextTable): string =>
  table === 'companies' ? `companies_text.rowid >> ${facetBits}` : `${table}_text.rowid`

const ofCompany = (id: string, key: string): string =>
  `${id} BETWEEN ${key} << ${facetBits} AND (${key} + 1 << ${facetBits}) - 1`

/** Deletes the words of a company with other facets than those of an id. FTS5's own table finds them sooner than FTS5. */
const deleteOthers = `DELETE FROM companies_text WHERE rowid = (
  SELECT id FROM companies_text_docsize WHERE ${ofCompany('id', boundInteger)} AND id <> ${boundInteger})`

export const sqliteTexts: CatalogueDialect['texts'] = {
  // Few rows are cheaper to look up one by one.
  matchTexts(table, { texts, negated }, selectivity) {
    const matches = `FROM ${table}_text WHERE ${table}_text MATCH ?`
    const sql =
      selectivity === 'few'
        ? `EXISTS (SELECT 1 ${matches} AND ${table === 'companies' ? ofCompany('rowid', 'key') : 'rowid = key'})`
        : `key IN (SELECT ${keyOf(table)} ${matches})`
    return [negated ? `NOT ${sql}` : sql, toFts5(texts)]
  },
  createRowInserter(table, columns) {
    const { sql: insert } = insertInto(table, [...columns, 'key'])
    const [country, industry, name, size, headcount] = facetColumns.map((column) => columns.indexOf(column))
    const facetsOf = (values: readonly Value[]): FacetColumns => ({
      country: values[country ?? -1],
      industry: values[industry ?? -1],
      industry_name: values[name ?? -1],
      size: values[size ?? -1],
      headcount: values[headcount ?? -1],
    })
    return (connection, key, values, texts) => {
      connection.run(insert, ...values, key)
      connection.run(addTexts[table], rowidOf(table, key, facetsOf(values)), ...texts.map(toAsciiTokens))
    }
  },
  replaceTexts(connection, table, row) {
    const rowid = rowidOf(table, row.key, row)
    if (table === 'companies') send(connection, deleteOthers, row.key, row.key, rowid)
    send(connection, addTexts[table], rowid, ...row.texts.map(toAsciiTokens))
  },
  async deleteTexts(connection, table, keys) {
    for (const key of keys)
      if (table === 'companies') await connection.run(deleteOthers, key, key, 0)
      else await connection.run(`DELETE FROM ${table}_text WHERE rowid = ?`, key)
  },
}

export function toFts5(texts: Texts): string {
  if ('phrase' in texts) return quote(texts.phrase)
  if ('beginning' in texts) return `^ ${quote(texts.beginning)}`
  if ('all' in texts) return `(${texts.all.map(toFts5).join(' AND ')})`
  if ('any' in texts) return `(${texts.any.map(toFts5).join(' OR ')})`
  if ('held' in texts) return `(${toFts5(texts.held)} NOT ${toFts5(texts.butNot)})`
  return `({${texts.columns.join(' ')}} : ${toFts5(texts.hold)})`
}

const quote = (words: string): string => `"${toAsciiTokens(words).replaceAll('"', '""')}"`

export const sqliteSearch: CatalogueDialect['search'] = {
  companiesPath(text, filters) {
    if (!text || text.negated)
      return {
        from: '',
        companies: 'companies INDEXED BY companies_facts',
        key: 'key',
        conditions: text ? [sqliteTexts.matchTexts('companies', text, 'many')] : [],
      }
    const rowid = 'companies_text.rowid'
    return {
      from: 'companies_text',
      companies: `companies INDEXED BY companies_facts ON companies.key = ${keyOf('companies')}`,
      key: rowid,
      conditions: [['companies_text MATCH ?', toFts5(text.texts)], ...facetConditions(rowid, filters)],
      byHeadcount: {
        known: [`${rowid} & 1 = 1`],
        behind: (key) => [`${rowid} & 1 = 0 AND ${rowid} >= ${boundInteger} << ${facetBits}`, key + 1],
      },
    }
  },
  // The condition that finds fewest comes first: words, then employers. Many are read from the index of facts.
  peoplePath(text, staff) {
    const employer = staff ? [staff.condition] : []
    if (text && !text.negated && staff?.selectivity !== 'few')
      return {
        key: 'people_text.rowid',
        from: 'people_text CROSS JOIN people INDEXED BY people_facts ON people.key = people_text.rowid',
        conditions: [['people_text MATCH ?', toFts5(text.texts)] as Condition, ...employer],
      }
    const texts = text ? [sqliteTexts.matchTexts('people', text, staff?.selectivity ?? 'many')] : []
    if (!staff) return { key: 'people.key', from: 'people INDEXED BY people_facts', conditions: texts }
    // The sign keeps SQLite from reading everybody in order; the staff of few companies is quickly sorted.
    return { key: '+people.key', from: 'people', conditions: [...employer, ...texts] }
  },
  hasOrderedNames: true,
  firstTitles: ({ texts }, limit) => [
    `SELECT json_extract(record, '$.title') AS title FROM people
      WHERE key IN (SELECT rowid FROM people_text WHERE people_text MATCH ? LIMIT ?)`,
    toFts5(texts),
    limit,
  ],
}

const bulkSettings = [
  // Pages of an index are written again and again. Copying them to the database less often, and reading them back less
  // often, halves the time.
  'wal_autocheckpoint = 16000',
  'cache_size = -32768',
  // A power cut may undo the last transactions of an import that is not done yet. References need not be looked up again:
  // what is referred to was found, or added, in the same transaction.
  'synchronous = NORMAL',
  'foreign_keys = OFF',
]

const durableSettings = ['synchronous = FULL', 'foreign_keys = ON']

async function setAll(driver: Driver, settings: readonly string[]): Promise<void> {
  for (const setting of settings) await driver.set(setting)
}

const textTables = `SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'`

const indexesOf = `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`

export const sqliteLoad: CatalogueDialect['load'] = {
  begin: (driver) => setAll(driver, bulkSettings),
  async dropIndexes(connection, table) {
    const indexes = await connection.all<{ name: string; sql: string }>(indexesOf, table)
    for (const { name } of indexes) await connection.exec(`DROP INDEX ${name}`)
    return indexes.map(({ sql }) => sql)
  },
  end: (driver) => setAll(driver, durableSettings),
  // Words stay in the index until its segments are merged.
  forgetDeletedRows: (driver) =>
    driver.transaction(async (connection) => {
      for (const { name } of await connection.all<{ name: string }>(textTables))
        await connection.run(`INSERT INTO ${name} (${name}) VALUES ('optimize')`)
    }),
}

export const sqliteMoved: CatalogueDialect['moved'] = (table, textsOf) => ({
  into: `${table}_text`,
  columns: ['rowid', ...textColumns[table]],
  valuesOf: ({ key, record, ...columns }) => [
    rowidOf(table, Number(key), columns),
    ...textsOf(String(record)).map(toAsciiTokens),
  ],
})
