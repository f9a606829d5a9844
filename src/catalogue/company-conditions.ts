import type { GrowthFilters } from '../engine/ports.js'
import { industryIs, sizeIs } from './company-filters.js'
import { locatedIn } from './located.js'
import { type Condition, listed } from './phrases.js'

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
