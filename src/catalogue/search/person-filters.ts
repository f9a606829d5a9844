import { years } from '../../api/schemas/enumerations.js'
import { type Condition, every, isOneOf, not, some } from '../full-text/sql-conditions.js'
import { anyOf, phrase, type TextQuery, within } from '../full-text/text-query.js'
import { foldName } from '../normalize/name.js'
import { employerWords } from '../records/person-row.js'

// Conditions over the columns of `people`. What is not known of a person fulfils none of them, so that `not` keeps it.

/** People whose title holds one of some titles. */
export const titleHolds = (titles: readonly string[]): TextQuery =>
  within(['title'], anyOf(titles.map(phrase)))

/** People one of whose past titles holds one of some titles. */
export const pastTitleHolds = (titles: readonly string[]): TextQuery =>
  within(['past_titles'], anyOf(titles.map(phrase)))

/** People who worked at one of some companies before, each given by its name or its id of the network. */
export const workedAt = (companies: readonly string[]): TextQuery =>
  within(['past_employers'], anyOf(companies.flatMap(employerWords).map(phrase)))

/** People who work at a company that fulfils conditions over the columns of `companies`. */
export function atCompany(conditions: readonly Condition[]): Condition {
  const [sql, ...values] = every(conditions)
  return [
    `EXISTS (SELECT 1 FROM companies INDEXED BY companies_facts WHERE companies.key = people.company AND ${sql})`,
    ...values,
  ]
}

/** People who work at one of some companies, each given by its name or its id of the network. */
export function worksAt(companies: readonly string[]): Condition {
  const names = companies.map(foldName)
  return some([
    [`company IN (${named})`, JSON.stringify(names), JSON.stringify(companies)],
    isOneOf('employer', names),
  ])
}
const named = `SELECT key FROM companies WHERE name IN (SELECT value FROM json_each(?))
  UNION ALL SELECT key FROM companies WHERE network_id IN (SELECT value FROM json_each(?))`

/** People who work at one of some companies, given by the ids of their accounts; there may be very many. */
export const atAccounts = (ids: readonly string[]): Condition => [
  'company IN (SELECT key FROM companies WHERE id IN (SELECT value FROM json_each(?)))',
  JSON.stringify(ids),
]

/** People whose experience lasts one of some ranges of years, by the ids of the ranges. */
export const experienced = (ranges: readonly string[]): Condition =>
  ofRanges(ranges, (least) => ['years_of_experience >= ?', least])

/** People who are in their position for one of some ranges of years at a moment. */
export const inPosition = (ranges: readonly string[], now: number): Condition =>
  ofRanges(ranges, (least) => lasting('months_in_position', least, now))

/** People who are in their company for one of some ranges of years at a moment. */
export const inCompany = (ranges: readonly string[], now: number): Condition =>
  ofRanges(ranges, (least) => lasting('months_in_company', least, now))

/** Numbers of years within one of some ranges, from a condition for so many years or more. */
const ofRanges = (ranges: readonly string[], atLeast: (least: number) => Condition): Condition =>
  some(
    ranges.flatMap((id) => {
      const [from, to] = years[id] ?? []
      if (from === undefined) return []
      return [every([atLeast(from), ...(typeof to === 'number' ? [not(atLeast(to + 1))] : [])])]
    }),
  )

/** So many full years or more: since the position began, or as it was given. */
const lasting = (
  given: 'months_in_position' | 'months_in_company',
  least: number,
  now: number,
): Condition => [
  `position_since <= ? OR ${given} >= ?`,
  // Who begins tomorrow is in the position for less than one year, too.
  least === 0 ? endOfTime : dayNumber(now) - least * 10_000,
  least * 12,
]
const endOfTime = 9999_12_31

const dayNumber = (at: number): number => Number(new Date(at).toISOString().slice(0, 10).replaceAll('-', ''))
