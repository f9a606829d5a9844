import { ApiError } from '../../api/calls/errors.js'
import { liveOnlyFilters } from '../../api/schemas/enumerations.js'
import { isGiven } from '../../api/schemas/rules.js'
import type { PeopleFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { readKeyword } from '../full-text/keyword.js'
import {
  type Condition,
  type EstimatedCondition,
  estimateSelectivity,
  every,
  isOneOf,
  listed,
  not,
} from '../full-text/sql-conditions.js'
import { allOf, inverse, type TextQuery, within } from '../full-text/text-query.js'
import { foldText } from '../normalize/name.js'
import { matchCompany } from '../records/match-company.js'
import { industryIs, sizeIs, typeIs } from './company-filters.js'
import {
  atAccounts,
  atCompany,
  experienced,
  inCompany,
  inPosition,
  pastTitleHolds,
  titleHolds,
  workedAt,
  worksAt,
} from './person-filters.js'
import { locatedIn } from './place-condition.js'

/** What a search of people asks for: of their texts, and of the columns of `people`. */
export interface PeopleQuery {
  readonly text: TextQuery | undefined
  readonly conditions: readonly Condition[]
  /** Where they work, if that is at few companies. */
  readonly staff: EstimatedCondition | undefined
}

/** Reads the filters of a search; days count up to `now`. 422 names a filter that cannot be honoured. */
export async function peopleQuery(
  connection: Connection,
  filters: PeopleFilters,
  now: number,
): Promise<PeopleQuery> {
  const refused = liveOnlyFilters.filter((name) => isGiven(filters[name]))
  if (refused.length > 0)
    throw new ApiError('invalid', {
      reason: `${refused.join(', ')} cannot be honoured by the local catalogue`,
    })
  const texts = textsAsked(filters)
  const companies = await companiesAsked(connection, filters)
  const staff = companies.areFew
    ? await estimateSelectivity(connection, 'people', companies.condition)
    : undefined
  return {
    text: texts.length === 0 ? undefined : allOf(texts),
    conditions: [
      ...personal(filters, now),
      ...(staff ? [] : [companies.condition]),
      ...employment(filters),
      ...ofCompany(filters),
    ],
    staff,
  }
}

/** From more companies than this, going through everybody is quicker than asking each of them for its people. */
const fewCompanies = 1_000

/** The companies that people must work at: few enough to begin with, or not. */
async function companiesAsked(
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

function textsAsked(filters: PeopleFilters): TextQuery[] {
  const { keyword, job_titles, excluded_job_titles, past_titles, excluded_past_titles, past_companies } =
    filters
  const asked = <T>(items: readonly T[] | undefined, of: (items: readonly T[]) => TextQuery): TextQuery[] =>
    items?.length ? [of(items)] : []
  return [
    ...(keyword === undefined ? [] : [within(['name', 'title', 'about'], readKeyword(keyword))]),
    ...(job_titles?.includes('*') ? [] : asked(job_titles, titleHolds)),
    ...asked(excluded_job_titles, (titles) => inverse(titleHolds(titles))),
    ...asked(past_titles, pastTitleHolds),
    ...asked(excluded_past_titles, (titles) => inverse(pastTitleHolds(titles))),
    ...asked(past_companies, workedAt),
  ]
}

/** What is asked of the person alone. */
const personal = (filters: PeopleFilters, now: number): Condition[] => [
  ...listed(filters.functions, (ids) => isOneOf('function', ids.map(Number))),
  ...listed(filters.seniority_levels, (ids) => isOneOf('seniority', ids.map(Number))),
  ...listed(filters.included_locations, (ids) => locatedIn('included_locations', ids)),
  ...listed(filters.excluded_locations, (ids) => not(locatedIn('excluded_locations', ids))),
  ...listed(filters.years_of_experience, experienced),
  ...listed(filters.years_at_current_company, (ranges) => inCompany(ranges, now)),
  ...listed(filters.years_in_current_position, (ranges) => inPosition(ranges, now)),
  ...named('first_name', filters.first_name),
  ...named('last_name', filters.last_name),
]

const named = (column: 'first_name' | 'last_name', name: string | undefined): Condition[] =>
  name === undefined ? [] : [[`${column} = ?`, foldText(name)]]

/** Where they work and do not work, beside the companies that they must work at. */
const employment = (filters: PeopleFilters): Condition[] => [
  ...listed(filters.included_companies, worksAt),
  ...listed(filters.excluded_companies, (companies) => not(worksAt(companies))),
  ...listed(filters.excluded_accounts, (ids) => not(atAccounts(ids))),
]

/** What is asked of the company. */
function ofCompany(filters: PeopleFilters): Condition[] {
  const wanted = [
    ...listed(filters.company_size, sizeIs),
    ...listed(filters.company_type, typeIs),
    ...listed(filters.included_industries, industryIs),
    ...listed(filters.company_headquarters, (ids) => locatedIn('company_headquarters', ids)),
  ]
  return [
    ...(wanted.length === 0 ? [] : [atCompany(wanted)]),
    ...listed(filters.excluded_industries, (industries) => not(atCompany([industryIs(industries)]))),
  ]
}
