import { companySizes } from '../../api/schemas/enumerations.js'
import type { GrowthFilters } from '../../engine/ports/ports.js'
import { type Condition, every, ifAny, isOneOf, not, some } from '../full-text/sql-conditions.js'
import { foldText } from '../normalize/name.js'
import { inPlaces } from './place-condition.js'

// Conditions on the columns of `companies`. An unknown value fulfils none of them, so that `not` keeps the company.

/** Companies of one of some industries, each given by its id or its name in any spelling. */
export function inIndustries(industries: readonly string[]): Condition {
  const isId = (industry: string): boolean => /^\d+$/.test(industry)
  return some([
    isOneOf('industry', industries.filter(isId)),
    isOneOf('industry_name', industries.filter((industry) => !isId(industry)).map(foldText)),
  ])
}

/** Companies of one of some sizes, as `companySizes` names them. */
export const ofSizes = (sizes: readonly (typeof companySizes)[number][]): Condition =>
  isOneOf(
    'size',
    sizes.map((size) => companySizes.indexOf(size)),
  )

/** Companies of one of some types, by their letters. */
export const ofTypes = (letters: readonly string[]): Condition => isOneOf('company_type', letters)

/**
 * Companies whose yearly revenue is known and within bounds in millions, and reported in the currency if one is
 * given. Without bounds every company fulfils it.
 */
export const withRevenue = (
  min: number | undefined,
  max: number | undefined,
  currency: string | undefined,
): Condition =>
  every([
    ...between('revenue', min && min * 1_000_000, max && max * 1_000_000),
    ...(currency === undefined || (min === undefined && max === undefined)
      ? []
      : [['revenue_currency = ?', currency] as const]),
  ])

/** Returns the conditions of the bounds of a column that are given, inclusive. */
export const between = (column: string, min: number | undefined, max: number | undefined): Condition[] => [
  ...(min === undefined ? [] : [[`${column} >= ?`, min] as const]),
  ...(max === undefined ? [] : [[`${column} <= ?`, max] as const]),
]

/** Returns the conditions of the filters that searches of companies share; empty lists are ignored. */
export const companyConditions = ({
  company_size,
  locations,
  industries,
  included_locations = locations,
  excluded_locations,
  included_industries = industries,
  excluded_industries,
}: SharedFilters & EarlierNames): Condition[] => [
  ...ifAny(company_size, ofSizes),
  ...ifAny(included_locations, (ids) => inPlaces('included_locations', ids)),
  ...ifAny(excluded_locations, (ids) => not(inPlaces('excluded_locations', ids))),
  ...ifAny(included_industries, inIndustries),
  ...ifAny(excluded_industries, (industries) => not(inIndustries(industries))),
]

type SharedFilters = Pick<
  GrowthFilters,
  'company_size' | `${'included' | 'excluded'}_${'locations' | 'industries'}`
>

/** The names of these filters in searches that were accepted by version 0.1. */
interface EarlierNames {
  readonly locations?: string[]
  readonly industries?: string[]
}

/** Returns a condition for rows whose `company` fulfils some conditions; none without conditions. */
export function atCompanies(conditions: readonly Condition[]): Condition[] {
  if (conditions.length === 0) return []
  const [sql, ...values] = every(conditions)
  // The `+` keeps SQLite from a lookup by index for each company with each other value.
  return [[`+company IN (SELECT key FROM companies INDEXED BY companies_facts WHERE ${sql})`, ...values]]
}
