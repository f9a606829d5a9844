import { ApiError } from '../../api/calls/errors.js'
import type { PeopleFilters, ProfileFilters } from '../../api/ports/ports.js'
import { liveOnlyFilters, years } from '../../api/schemas/enumerations.js'
import { isGiven } from '../../api/schemas/fields.js'
import { isoDay } from '../../api/values/dates.js'
import { foldName, foldText } from '../../identity/name.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import {
  allOf,
  anyOf,
  type Condition,
  countRows,
  estimateSelectivity,
  every,
  ifAny,
  isOneOf,
  negate,
  not,
  parseKeyword,
  phrase,
  some,
  type TextQuery,
  within,
} from '../full-text/keyword.js'
import { type CompanyMatch, matchCompany } from '../records/match-company.js'
import { type PersonAtCompany, toLead } from '../records/person.js'
import {
  type EmployerFilter,
  inIndustries,
  inPlaces,
  ofSample,
  ofSizes,
  ofTypes,
  readEmployerFilters,
  toPastQuery,
} from './conditions.js'
import { parseCursor, type Searcher, toPage } from './search-kind.js'

/** Up to this number counts are exact, as is every smaller one. */
const exactUpTo = 10_000
/** Larger numbers are estimated from one in so many people. */
const share = 16

/** Searches people in the order they were added, that of the indexes: nothing is sorted, and changes disturb no paging. */
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
    const isCounted = after === undefined && pathOf(connection, query).isCounted === true
    const isBehind = (key: string): Condition => [`${key} > ?`, last]
    const [keys, ...values] = selectKeys(connection, query, limit + 1, isBehind, isCounted)
    const rows = await connection.all<PersonAtCompany & { key: number; total: number }>(
      `SELECT people.key, people.record, companies.record AS company${isCounted ? ', found.total' : ''}
        FROM (${keys}) AS found
        CROSS JOIN people ON people.key = found.key LEFT JOIN companies ON companies.key = people.company
        ORDER BY found.key`,
      ...values,
    )
    const toRecord = (row: PersonAtCompany) => toLead(row, now)
    const total = rows[0]?.total ?? 0
    return {
      ...toPage(rows, limit, ({ key }) => [key], toRecord),
      keys: rows.slice(0, limit).map(({ key }) => key),
      ...(isCounted && total <= exactUpTo ? { total } : {}),
    }
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
  const { key, from, conditions } = matchesOf(connection, query)
  const [rows, ...inRows] = from
  const [where, ...values] = every([...conditions, ...(more ? [more(key)] : [])])
  const counted = isCounted ? ', count(*) OVER () AS total' : ''
  const sql = `SELECT ${key} AS key${counted} FROM ${rows} WHERE ${where} ORDER BY ${key}`
  return [
    limit === undefined ? sql : `${sql} LIMIT ?`,
    ...inRows,
    ...values,
    ...(limit === undefined ? [] : [limit]),
  ]
}

/** Returns where the matches are, of each company only as many as the search asks for. */
function matchesOf(connection: Connection, query: PeopleQuery) {
  const { key, from, conditions } = pathOf(connection, query)
  const all = [...conditions, ...query.conditions]
  if (query.perCompany === undefined) return { key, from: [from] as Condition, conditions: all }
  const [where, ...values] = every(all)
  const ranked = `SELECT ${key} AS key, row_number() OVER (PARTITION BY ${employerColumns} ORDER BY ${key}) AS place
    FROM ${from} WHERE ${where}`
  const isFirst: Condition = ['place <= ?', query.perCompany]
  return { key: 'ranked.key', from: [`(${ranked}) AS ranked`, ...values] as Condition, conditions: [isFirst] }
}

/** What the people of a company share: its key, or the name of an unknown one. Someone who names none shares nothing. */
const employerColumns = `company, CASE WHEN company IS NULL THEN employer END,
  CASE WHEN company IS NULL AND employer IS NULL THEN people.key END`

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

/** A search of people: a query of their texts and conditions on the columns of `people`. */
type PeopleQuery = Awaited<ReturnType<typeof toPeopleQuery>>

/** Translates the filters of a search; days count up to `now`. 422 names an unsupported filter. */
async function toPeopleQuery(connection: Connection, filters: PeopleFilters, now: number) {
  const refused = liveOnlyFilters.filter((name) => isGiven(filters[name]))
  if (refused.length > 0)
    throw new ApiError('invalid', {
      reason: `Only a vendor's server can filter by ${refused.join(', ')}: it takes live results, which local data has none of`,
    })
  const employers = await readEmployerFilters(connection, filters)
  const past = employers.past_companies
  const texts = [...toTextQueries(filters), ...(past ? [await toPastQuery(connection, past)] : [])]
  const companies = await toCompanyCondition(connection, filters)
  const staff = companies.areFew
    ? await estimateSelectivity(connection, 'people', companies.condition)
    : undefined
  return {
    text: texts.length === 0 ? undefined : allOf(texts),
    conditions: [
      ...personConditions(filters, now),
      ...(staff ? [] : [companies.condition]),
      ...(employers.included_companies ? [worksAt(employers.included_companies)] : []),
      ...(employers.excluded_companies ? [not(worksAt(employers.excluded_companies))] : []),
      ...ifAny(filters.excluded_accounts, (ids) => not(atAccounts(ids))),
      ...companyConditionsOf(filters),
    ],
    /** The employers, when these are few companies. */
    staff,
    /** Maximum number of people at each company. */
    perCompany: filters.max_per_company,
  }
}

/** With more companies than this, scanning all people is quicker than looking up the people of each company. */
const fewCompanies = 1_000

async function toCompanyCondition(
  connection: Connection,
  { company, included_accounts: accounts }: PeopleFilters,
): Promise<{ condition: Condition; areFew: boolean }> {
  const conditions: Condition[] = accounts ? [atAccounts(accounts)] : []
  if (company) conditions.push(['company = ?', (await matchCompany(connection, company))?.key ?? null])
  return {
    condition: every(conditions),
    areFew: company !== undefined || (accounts?.length ?? fewCompanies) < fewCompanies,
  }
}

function toTextQueries(filters: PeopleFilters): TextQuery[] {
  const { keyword, job_titles, excluded_job_titles, past_titles, excluded_past_titles } = filters
  const asked = <T>(items: readonly T[] | undefined, of: (items: readonly T[]) => TextQuery): TextQuery[] =>
    items?.length ? [of(items)] : []
  return [
    ...(keyword === undefined ? [] : [within(['name', 'title', 'about'], parseKeyword(keyword))]),
    ...(job_titles?.includes('*') ? [] : asked(job_titles, hold('title'))),
    ...asked(excluded_job_titles, (titles) => negate(hold('title')(titles))),
    ...asked(past_titles, hold('past_titles')),
    ...asked(excluded_past_titles, (titles) => negate(hold('past_titles')(titles))),
  ]
}

const personConditions = (filters: PeopleFilters, now: number): Condition[] => [
  ...ifAny(filters.functions, (ids) => isOneOf('function', ids.map(Number))),
  ...ifAny(filters.seniority_levels, (ids) => isOneOf('seniority', ids.map(Number))),
  ...ifAny(filters.included_locations, (ids) => inPlaces('included_locations', ids)),
  ...ifAny(filters.excluded_locations, (ids) => not(inPlaces('excluded_locations', ids))),
  ...ifAny(filters.years_of_experience, ofRanges(experienced)),
  ...ifAny(filters.years_at_current_company, ofRanges(lasting('months_in_company', now))),
  ...ifAny(filters.years_in_current_position, ofRanges(lasting('months_in_position', now))),
  ...nameIs('first_name', filters.first_name),
  ...nameIs('last_name', filters.last_name),
  ...ofSample('people', filters),
  ...ifAny(filters.except, (keys) => not(isOneOf('people.key', keys))),
]

const nameIs = (column: 'first_name' | 'last_name', name: string | undefined): Condition[] =>
  name === undefined ? [] : [[`${column} = ?`, foldText(name)]]

function companyConditionsOf(filters: PeopleFilters): Condition[] {
  const wanted = [
    ...ifAny(filters.company_size, ofSizes),
    ...ifAny(filters.company_type, ofTypes),
    ...ifAny(filters.included_industries, inIndustries),
    ...ifAny(filters.company_headquarters, (ids) => inPlaces('company_headquarters', ids)),
  ]
  return [
    ...(wanted.length === 0 ? [] : [atCompany(wanted)]),
    ...ifAny(filters.excluded_industries, (industries) => not(atCompany([inIndustries(industries)]))),
  ]
}

// Conditions on the columns of `people`. An unknown value fulfils none of them, so that `not` keeps the person.

const hold = (column: string) => (phrases: readonly string[]) => within([column], anyOf(phrases.map(phrase)))

/** People who work at a company that fulfils conditions over the columns of `companies`. */
function atCompany(conditions: readonly Condition[]): Condition {
  const [sql, ...values] = every(conditions)
  return [
    `EXISTS (SELECT 1 FROM companies INDEXED BY companies_facts WHERE companies.key = people.company AND ${sql})`,
    ...values,
  ]
}

function worksAt({ given, employers }: EmployerFilter): Condition {
  const names = given.map(foldName)
  const keys = employers.map(({ key }) => key)
  return some([
    [`company IN (${companiesByNameOrId})`, JSON.stringify(names), JSON.stringify(given)],
    isOneOf('employer', names),
    ...(keys.length > 0 ? [isOneOf('company', keys)] : []),
  ])
}
const companiesByNameOrId = `SELECT key FROM companies WHERE name IN (SELECT value FROM json_each(?))
  UNION ALL SELECT key FROM companies WHERE network_id IN (SELECT value FROM json_each(?))`

/** People who work at one of some companies, given by the ids of their accounts; there may be very many. */
const atAccounts = (ids: readonly string[]): Condition => [
  'company IN (SELECT key FROM companies WHERE id IN (SELECT value FROM json_each(?)))',
  JSON.stringify(ids),
]

/** Returns a condition for ranges of years, given by their ids, from a condition for a minimum of years. */
const ofRanges = (atLeast: (least: number) => Condition) => (ranges: readonly string[]) =>
  some(
    ranges.flatMap((id) => {
      const [from, to] = years[id] ?? []
      if (from === undefined) return []
      return [every([atLeast(from), ...(typeof to === 'number' ? [not(atLeast(to + 1))] : [])])]
    }),
  )

const experienced = (least: number): Condition => ['years_of_experience >= ?', least]

/** A minimum of full years at a moment, since the position began or as given. */
const lasting =
  (given: 'months_in_position' | 'months_in_company', now: number) =>
  (least: number): Condition => [
    `position_since <= ? OR ${given} >= ?`,
    // A person who begins tomorrow counts as less than one year in the position.
    least === 0 ? endOfTime : dayNumber(now) - least * 10_000,
    least * 12,
  ]
const endOfTime = 9999_12_31

const dayNumber = (at: number): number => Number(isoDay(at).replaceAll('-', ''))
