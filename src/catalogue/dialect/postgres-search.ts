import { send } from '../../storage/driver/connection.js'
import { type Texts, type TextTable, textColumns } from '../full-text/text-query.js'
import { createTokenizer, type Tokenizer } from '../full-text/tokenizer.js'
import type { CatalogueDialect, SimilarityScale } from './dialect.js'

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
    const all = [...columns, 'words', 'key']
    const insert = `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`
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
  selectSimilar,
}

/** At least one, where it is known. */
const atLeastOne = (headcount: string): string =>
  `CASE WHEN ${headcount} IS NOT NULL THEN greatest(1, ${headcount}) END`
const logarithm = (headcount: string): string => `ln(CAST(${atLeastOne(headcount)} AS DOUBLE PRECISION))`

const sameIndustry = 'CAST((industry = of_industry OR industry_name = of_industry_name) IS TRUE AS INTEGER)'
const sameCountry = 'CAST((country = of_country) IS TRUE AS INTEGER)'
const base = (industry: string, size: string, country: string): string =>
  `for_industry * ${industry} + for_size * ${size} + for_country * ${country}`

const number = (path: string): string => `CAST(value #>> '{${path}}' AS DOUBLE PRECISION)`

function selectSimilar(condition: string, scale: SimilarityScale): string {
  const { leastScore, scoreUnits, sizeFactor, growthPoints, usualHeadcounts } = scale
  const headcount = `coalesce(headcount, (ARRAY[${usualHeadcounts.join(', ')}])[CAST(size AS INTEGER) + 1])`
  const alikeSize = `coalesce(greatest(0, 1 - abs(${logarithm(headcount)} - ${logarithm('of_headcount')})
  / ln(CAST(${sizeFactor} AS DOUBLE PRECISION))), 0)`
  const alikeGrowth = `coalesce(greatest(0, 1 - abs(growth - of_growth) / ${growthPoints}), 0)`
  return `
  WITH example AS MATERIALIZED (
    SELECT place, CAST(value ->> 'key' AS BIGINT) AS of_key, value ->> 'industry' AS of_industry,
      value ->> 'industry_name' AS of_industry_name, ${number('headcount')} AS of_headcount,
      value ->> 'country' AS of_country, ${number('growth')} AS of_growth, ${number('leastBase')} AS least_base,
      ${number('weights,industry')} AS for_industry, ${number('weights,size')} AS for_size,
      ${number('weights,country')} AS for_country, ${number('weights,technologies')} AS for_technologies,
      ${number('weights,growth')} AS for_growth
    FROM jsonb_array_elements(CAST(? AS JSONB)) WITH ORDINALITY AS examples (value, place)
  ), near AS MATERIALIZED (
    SELECT * FROM (
      SELECT companies.key AS near_key, example.*,
        ${sameIndustry} AS same_industry, ${alikeSize} AS alike_size, ${sameCountry} AS same_country
      FROM example, companies
      WHERE companies.key NOT IN (SELECT of_key FROM example) AND ${condition}
    ) AS all_of_them WHERE ${base('same_industry', 'alike_size', 'same_country')} >= least_base
  ), rarity AS MATERIALIZED (
    SELECT technology, ln(1 + CAST((SELECT count(*) FROM companies) AS DOUBLE PRECISION) / count(*)) AS weight
    FROM company_technologies GROUP BY technology
  ), used AS MATERIALIZED (
    SELECT of_key AS used_by, technology AS used_technology, weight AS used_weight
    FROM example JOIN company_technologies ON company = of_key JOIN rarity USING (technology)
  ), compared AS (
    SELECT *, ${alikeGrowth} AS alike_growth, coalesce((
      SELECT coalesce(sum(weight) FILTER (WHERE used_technology IS NOT NULL), 0)
        / nullif(coalesce(sum(weight) FILTER (WHERE used_technology IS NULL), 0)
          + (SELECT coalesce(sum(used_weight), 0) FROM used WHERE used_by = of_key), 0)
      FROM company_technologies JOIN rarity USING (technology)
      LEFT JOIN used ON used_by = of_key AND used_technology = technology
      WHERE company = near_key
    ), 0) AS alike_technologies
    FROM near LEFT JOIN headcount_growth ON company = near_key AND department = 'all'
  ), scored AS (
    SELECT *, CAST(floor(${scoreUnits} * (
      ${base('same_industry', 'alike_size', 'same_country')}
        + for_technologies * alike_technologies + for_growth * alike_growth
    ) + 0.5) AS BIGINT) AS score FROM compared
  )
  SELECT DISTINCT ON (near_key) near_key AS key, score, same_industry AS industry, alike_size AS size,
    same_country AS country, alike_technologies AS technologies, alike_growth AS growth
  FROM scored WHERE score >= ${Math.round(leastScore * scoreUnits)} ORDER BY near_key, score DESC, place`
}
