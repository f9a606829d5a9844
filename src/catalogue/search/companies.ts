import type { CompanyFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialect.js'
import { readKeyword } from '../full-text/keyword.js'
import { type Condition, listed, not } from '../full-text/sql-conditions.js'
import { accountOf } from '../records/company-row.js'
import { industryIs, revenueIs, sizeIs } from './company-filters.js'
import { countCompanies, walkCompanies } from './company-list.js'
import { locatedIn } from './place-condition.js'
import type { Searcher } from './search-kind.js'

/** Searches of companies by filters and keyword: the largest first, those of unknown headcount last. Counts are exact. */
export const companySearch: Searcher<'companies'> = {
  count: async (connection, filters) => await countCompanies(connection, conditionsOf(connection, filters)),

  find: async (connection, filters, span) => {
    const { records, ...more } = await walkCompanies(connection, conditionsOf(connection, filters), span)
    return { records: records.map(({ record }) => ({ account: accountOf(record) })), ...more }
  },
}

const conditionsOf = (connection: Connection, filters: CompanyFilters): Condition[] => [
  ...(filters.keyword === undefined
    ? []
    : [dialectOf(connection).texts.matchTexts('companies', readKeyword(filters.keyword), 'many')]),
  ...listed(filters.included_industries, industryIs),
  ...listed(filters.excluded_industries, (industries) => not(industryIs(industries))),
  ...listed(filters.included_locations, (ids) => locatedIn('included_locations', ids)),
  ...listed(filters.excluded_locations, (ids) => not(locatedIn('excluded_locations', ids))),
  ...listed(filters.company_size, sizeIs),
  revenueIs(filters.min_revenue, filters.max_revenue, filters.revenue_currency),
]
