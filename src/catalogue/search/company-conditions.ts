import { companySizes } from '../../api/schemas/enumerations.js'
import type { GrowthFilters } from '../../engine/ports/ports.js'
import { type Condition, every, ifAny, isOneOf, some } from '../full-text/sql-conditions.js'
import { foldText } from '../normalize/name.js'
import { inPlaces } from './place-condition.js'

// Conditions over the columns of `companies`. What is not known of a company fulfils none of them, so that `not` keeps it.

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
 * Companies whose yearly revenue is known and within bounds in millions; of those that report in a currency, where one
 * is given. Without bounds nothing is asked.
 */
export const withRevenue = (
  min: number | undefined,
  max: number | undefined,
  currency: string | undefined,
): Condition =>
  every([
    ...bound('revenue >= ?', min),
    ...bound('revenue <= ?', max),
    ...(currency === undefined || (min === undefined && max === undefined)
      ? []
      : [['revenue_currency = ?', currency] as const]),
  ])

const bound = (sql: string, millions: number | undefined): Condition[] =>
  millions === undefined ? [] : [[sql, millions * 1_000_000]]

/** What the filters `company_size`, `locations` and `industries` ask of companies; empty lists ask nothing. */
export const companyConditions = ({
  company_size,
  locations,
  industries,
}: Pick<GrowthFilters, 'company_size' | 'locations' | 'industries'>): Condition[] => [
  ...ifAny(company_size, ofSizes),
  ...ifAny(locations, (ids) => inPlaces('locations', ids)),
  ...ifAny(industries, inIndustries),
]

/** Rows whose column `company` names one of the companies that fulfil some conditions, if there are any. */
export function atCompanies(conditions: readonly Condition[]): Condition[] {
  if (conditions.length === 0) return []
  const [sql, ...values] = every(conditions)
  // The sign keeps an index from being asked for each of them with each other value that it may have.
  return [[`+company IN (SELECT key FROM companies INDEXED BY companies_facts WHERE ${sql})`, ...values]]
}
