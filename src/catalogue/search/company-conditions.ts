import type { GrowthFilters } from '../../engine/ports/ports.js'
import { type Condition, every, listed } from '../full-text/sql-conditions.js'
import { industryIs, sizeIs } from './company-filters.js'
import { locatedIn } from './place-condition.js'

/** What the filters `company_size`, `locations` and `industries` ask of companies; empty lists ask nothing. */
export const companyConditions = ({
  company_size,
  locations,
  industries,
}: Pick<GrowthFilters, 'company_size' | 'locations' | 'industries'>): Condition[] => [
  ...listed(company_size, sizeIs),
  ...listed(locations, (ids) => locatedIn('locations', ids)),
  ...listed(industries, industryIs),
]

/** Rows whose column `company` names one of the companies that fulfil some conditions, if there are any. */
export function among(conditions: readonly Condition[]): Condition[] {
  if (conditions.length === 0) return []
  const [sql, ...values] = every(conditions)
  // The sign keeps an index from being asked for each of them with each other value that it may have.
  return [[`+company IN (SELECT key FROM companies INDEXED BY companies_facts WHERE ${sql})`, ...values]]
}
