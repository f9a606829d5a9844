import { type Connection, send } from '../../storage/driver/connection.js'
import type { Condition } from '../full-text/sql-conditions.js'
import { type Texts, type TextTable, textColumns } from '../full-text/text-query.js'
import type { CatalogueDialect, SimilarityScale } from './dialect.js'

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
    const insert = `INSERT INTO ${table} (${columns.join(', ')}, key) VALUES (${columns.map(() => '?, ').join('')}?)`
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
  selectSimilar,
}

const sameIndustry = '(industry = of_industry OR industry_name = of_industry_name) IS TRUE'
const sameCountry = '(country = of_country) IS TRUE'
const base = 'for_industry * same_industry + for_size * alike_size + for_country * same_country'

/** Reads the companies that are near from one index. */
function selectSimilar(condition: string, scale: SimilarityScale): string {
  const { leastScore, scoreUnits, sizeFactor, growthPoints, usualHeadcounts } = scale
  const headcount = `max(1, coalesce(headcount, '${JSON.stringify(usualHeadcounts)}' ->> size))`
  const alikeSize = `coalesce(max(0, 1 - abs(ln(${headcount}) - ln(max(1, of_headcount))) / ln(${sizeFactor})), 0)`
  const alikeGrowth = `coalesce(max(0, 1 - abs(growth - of_growth) / ${growthPoints}.0), 0)`
  return `
  WITH example AS MATERIALIZED (
    SELECT value ->> 'key' AS of_key, value ->> 'industry' AS of_industry,
      value ->> 'industry_name' AS of_industry_name, value ->> 'headcount' AS of_headcount,
      value ->> 'country' AS of_country, value ->> 'growth' AS of_growth, value ->> 'leastBase' AS least_base,
      value ->> '$.weights.industry' AS for_industry, value ->> '$.weights.size' AS for_size,
      value ->> '$.weights.country' AS for_country, value ->> '$.weights.technologies' AS for_technologies,
      value ->> '$.weights.growth' AS for_growth
    FROM json_each(?)
  ), near AS MATERIALIZED (
    SELECT companies.key AS near_key, example.*,
      ${sameIndustry} AS same_industry, ${alikeSize} AS alike_size, ${sameCountry} AS same_country
    FROM example CROSS JOIN companies INDEXED BY companies_facts
    WHERE companies.key NOT IN (SELECT of_key FROM example) AND ${base} >= least_base AND ${condition}
  ), rarity AS MATERIALIZED (
    SELECT technology, ln(1 + (SELECT count(*) FROM companies) * 1.0 / count(*)) AS weight
    FROM company_technologies GROUP BY technology
  ), used AS MATERIALIZED (
    SELECT of_key AS user, technology AS used_technology, weight AS used_weight
    FROM example JOIN company_technologies ON company = of_key JOIN rarity USING (technology)
  ), compared AS (
    SELECT *, ${alikeGrowth} AS alike_growth, coalesce((
      SELECT total(weight) FILTER (WHERE used_technology IS NOT NULL)
        / (total(weight) FILTER (WHERE used_technology IS NULL) + (SELECT total(used_weight) FROM used WHERE user = of_key))
      FROM company_technologies JOIN rarity USING (technology)
      LEFT JOIN used ON user = of_key AND used_technology = technology
      WHERE company = near_key
    ), 0) AS alike_technologies
    FROM near LEFT JOIN headcount_growth ON company = near_key AND department = 'all'
  ), scored AS (
    SELECT *, CAST(round(${scoreUnits} * (
      ${base} + for_technologies * alike_technologies + for_growth * alike_growth
    )) AS INTEGER) AS score FROM compared
  )
  SELECT near_key AS key, max(score) AS score, same_industry AS industry, alike_size AS size,
    same_country AS country, alike_technologies AS technologies, alike_growth AS growth
  FROM scored WHERE score >= ${Math.round(leastScore * scoreUnits)} GROUP BY near_key`
}
