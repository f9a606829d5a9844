import type { CompanyFilters, Found, Span } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialect.js'
import { readKeyword } from '../full-text/keyword.js'
import { type Condition, every, listed, not } from '../full-text/sql-conditions.js'
import { toAccount } from '../records/company-row.js'
import { industryIs, revenueIs, sizeIs } from './company-conditions.js'
import { locatedIn } from './place-condition.js'
import { partOf, readPosition, type Searcher } from './search-kind.js'

/** Searches of companies by filters and keyword: the largest first, those of unknown headcount last. Counts are exact. */
export const companySearch: Searcher<'companies'> = {
  count: async (connection, filters) => await countCompanies(connection, conditionsOf(connection, filters)),

  find: async (connection, filters, span) => {
    const { records, ...more } = await walkCompanies(connection, conditionsOf(connection, filters), span)
    return { records: records.map(({ record }) => ({ account: toAccount(record) })), ...more }
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

/** A company on the way; one of unknown headcount stands behind those that have nobody. */
export interface CompanyRow {
  readonly key: number
  readonly headcount: number
  readonly record: string
}

/** How many companies fulfil all conditions. */
export async function countCompanies(
  connection: Connection,
  conditions: readonly Condition[],
): Promise<number> {
  const [where, ...values] = every(conditions)
  // In the order of keys, what lies beside a company in other tables lies together too.
  const sql = `SELECT count(*) AS total FROM companies INDEXED BY companies_facts WHERE ${where}`
  const row = await connection.get<{ total: number }>(sql, ...values)
  return row?.total ?? 0
}

const headcount = 'coalesce(headcount, -1)'

/** A span of the companies that fulfil all conditions: the largest first, those of unknown headcount last. */
export async function walkCompanies(
  connection: Connection,
  conditions: readonly Condition[],
  { limit, after }: Pick<Span, 'limit' | 'after'>,
): Promise<Found<CompanyRow>> {
  const place = readPosition<readonly [headcount: number, key: number]>(after)
  const behind: Condition[] = place ? [[`(-${headcount}, key) > (?, ?)`, -place[0], place[1]]] : []
  const [where, ...values] = every([...conditions, ...behind])
  const rows = await connection.all<CompanyRow>(
    `SELECT found.*, record FROM (
      SELECT key, ${headcount} AS headcount FROM companies INDEXED BY companies_facts
      WHERE ${where} ORDER BY 2 DESC, 1 LIMIT ?
    ) AS found CROSS JOIN companies ON companies.key = found.key ORDER BY 2 DESC, 1`,
    ...values,
    limit + 1,
  )
  return partOf(rows, limit, (row) => [row.headcount, row.key])
}
