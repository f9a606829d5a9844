import type { Condition, EstimatedCondition } from '../../full-text/sql-conditions.js'
import type { TextQuery } from '../../full-text/text-query.js'
import { matchTexts } from './full-text.js'

/** Returns where a search of people begins. The planner chooses the order of the conditions. */
export function peoplePath(text: TextQuery | undefined, staff: EstimatedCondition | undefined) {
  // The index of words finds all matches before the first of them is known, so that counting them is free.
  const isCounted = text !== undefined && !text.negated
  return {
    // The sign keeps the planner from reading the words of everybody in order, where few have them.
    key: isCounted ? '+people.key' : 'people.key',
    from: 'people',
    conditions: [...(staff ? [staff.condition] : []), ...(text ? [matchTexts('people', text)] : [])],
    isCounted,
  }
}

/** Returns a query for each engaged person once, from rows that may have one person under two profiles. */
export function distinctEngagers(engaged: string): string {
  const own = 'person, CASE WHEN person IS NULL THEN profile END'
  return `SELECT DISTINCT ON (${own}) profile, url, person FROM (${engaged}) AS each ORDER BY ${own}, profile`
}

/** Returns a query for the titles of the first people, by key, whose texts fulfil a query. */
export function firstTitles(query: TextQuery, limit: number): Condition {
  const [matches, ...values] = matchTexts('people', query)
  return [
    `SELECT json_extract(record, '$.title') AS title
      FROM (SELECT key, record FROM people WHERE ${matches} ORDER BY key LIMIT ?) AS held ORDER BY key`,
    ...values,
    limit,
  ]
}

/** Returns true: here indexes are never missing. */
export const hasIndexes = async (): Promise<boolean> => true
