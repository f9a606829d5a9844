import type { Connection } from '../../../storage/driver/connection.js'
import type { Condition, EstimatedCondition } from '../../full-text/sql-conditions.js'
import type { TextQuery } from '../../full-text/text-query.js'
import { matchTexts, toFts5 } from './full-text.js'

/**
 * Returns where a search of people begins: with the condition that finds fewest, words first, then employers, else with
 * everybody. Many people are read from the index of facts, a tenth of the table.
 */
export function peoplePath(text: TextQuery | undefined, staff: EstimatedCondition | undefined) {
  const employer = staff ? [staff.condition] : []
  if (text && !text.negated && staff?.selectivity !== 'few')
    return {
      key: 'people_text.rowid',
      from: 'people_text CROSS JOIN people INDEXED BY people_facts ON people.key = people_text.rowid',
      conditions: [['people_text MATCH ?', toFts5(text.texts)] as Condition, ...employer],
      isCounted: false,
    }
  const texts = text ? [matchTexts('people', text, staff?.selectivity ?? 'many')] : []
  if (!staff)
    return { key: 'people.key', from: 'people INDEXED BY people_facts', conditions: texts, isCounted: false }
  // The sign keeps SQLite from reading everybody in order; the staff of few companies is quickly sorted.
  return { key: '+people.key', from: 'people', conditions: [...employer, ...texts], isCounted: false }
}

/** Returns a query for each engaged person once, from rows that may have one person under two profiles. */
export const distinctEngagers = (engaged: string): string =>
  `SELECT min(profile) AS profile, url, person FROM (${engaged}) GROUP BY coalesce(person, profile)`

/** Returns a query for the titles of the first people, by key, whose texts fulfil a query. */
export const firstTitles = ({ texts }: TextQuery, limit: number): Condition => [
  `SELECT json_extract(record, '$.title') AS title FROM people
    WHERE key IN (SELECT rowid FROM people_text WHERE people_text MATCH ? LIMIT ?)`,
  toFts5(texts),
  limit,
]

const presentSql = `SELECT count(*) AS count FROM sqlite_schema
  WHERE type = 'index' AND name IN (SELECT value FROM json_each(?))`

/** Returns whether indexes are there; while a table is filled for the first time, they may be missing. */
export async function hasIndexes(connection: Connection, names: readonly string[]): Promise<boolean> {
  const row = await connection.get<{ count: number }>(presentSql, JSON.stringify(names))
  return row?.count === names.length
}
