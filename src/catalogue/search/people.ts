import type { ProfileFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { type Condition, countRows, estimateSelectivity, every } from '../full-text/sql-conditions.js'
import type { CompanyMatch } from '../records/match-company.js'
import { type PersonAtCompany, toLead } from '../records/person-record.js'
import { type PeopleQuery, toPeopleQuery } from './people-query.js'
import { parseCursor, type Searcher, toPage } from './search-kind.js'

/** Up to this number counts are exact, as is every smaller one. */
const exactUpTo = 10_000
/** Larger numbers are estimated from one in so many people. */
const share = 16

/**
 * Searches people in the order they were added. It is the order of the indexes, so nothing is sorted, and changes
 * while a search is paged through disturb nothing.
 */
export const peopleSearch: Searcher<'people'> = {
  async count(connection, filters, now) {
    const query = await toPeopleQuery(connection, filters, now)
    const exact = await countRows(connection, selectKeys(connection, query, exactUpTo + 1))
    if (exact <= exactUpTo) return exact
    const sampled = await countRows(connection, selectKeys(connection, query, undefined, isSampled))
    return Math.max(exact, sampled * share)
  },

  async find(connection, filters, { limit, after, now }) {
    const query = await toPeopleQuery(connection, filters, now)
    const [last] = parseCursor<readonly [key: number]>(after) ?? [0]
    const isCounted = after === undefined && pathOf(connection, query).isCounted
    const [keys, ...values] = selectKeys(
      connection,
      query,
      limit + 1,
      (key) => [`${key} > ?`, last],
      isCounted,
    )
    const rows = await connection.all<PersonAtCompany & { key: number; total: number }>(
      `SELECT people.key, people.record, companies.record AS company${isCounted ? ', found.total' : ''}
        FROM (${keys}) AS found
        CROSS JOIN people ON people.key = found.key LEFT JOIN companies ON companies.key = people.company
        ORDER BY found.key`,
      ...values,
    )
    const page = toPage(
      rows,
      limit,
      ({ key }) => [key],
      (row) => toLead(row, now),
    )
    const total = rows[0]?.total ?? 0
    return isCounted && total <= exactUpTo ? { ...page, total } : page
  },
}

// Neighbours in the catalogue resemble each other, and so do rows a round number apart, so keys are hashed first.
const isSampled = (key: string): Condition => [`(${key} * 2654435761 >> 16) % ${share} = 0`]

const pathOf = (connection: Connection, { text, staff }: PeopleQuery) =>
  dialectOf(connection).search.peoplePath(text, staff)

/** Returns a query for the keys of the people who match, in order; `isCounted` adds their total. */
function selectKeys(
  connection: Connection,
  query: PeopleQuery,
  limit?: number,
  more?: (key: string) => Condition,
  isCounted = false,
): Condition {
  const { key, from, conditions } = pathOf(connection, query)
  const [where, ...values] = every([...conditions, ...query.conditions, ...(more ? [more(key)] : [])])
  const counted = isCounted ? ', count(*) OVER () AS total' : ''
  const sql = `SELECT ${key} AS key${counted} FROM ${from} WHERE ${where} ORDER BY ${key}`
  return limit === undefined ? [sql, ...values] : [`${sql} LIMIT ?`, ...values, limit]
}

/** Returns the exact number of a company's people who match; filters mean the same as in a search of people. */
export async function countProfiles(
  connection: Connection,
  { key }: CompanyMatch,
  { title_to_include, title_to_exclude, included_locations, excluded_locations }: ProfileFilters,
): Promise<number> {
  const filters = {
    job_titles: title_to_include,
    excluded_job_titles: title_to_exclude,
    included_locations,
    excluded_locations,
  }
  const query = await toPeopleQuery(connection, filters, noTime)
  const staff = await estimateSelectivity(connection, 'people', ['company = ?', key])
  return await countRows(connection, selectKeys(connection, { ...query, staff }))
}

/** No filter of these counts days. */
const noTime = 0
