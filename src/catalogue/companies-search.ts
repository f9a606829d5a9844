import type { CompanyFilters, Span } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import { accountOf } from './account.js'
import { industryIs, revenueIs, sizeIs } from './company-filters.js'
import type { Finder } from './finder.js'
import { readKeyword } from './keyword.js'
import { locatedIn } from './located.js'
import { type Condition, every, listed, not } from './phrases.js'
import { partOf, readPosition } from './position.js'
import type { TextQuery } from './text-query.js'

/** Searches of companies by filters and keyword: the largest first, those of unknown headcount last. Counts are exact. */
export const companySearch: Finder<'companies'> = {
  async count(connection, filters) {
    const { from, conditions } = pathOf(filters)
    const [where, ...values] = every(conditions)
    const sql = `SELECT count(*) AS total FROM ${from} WHERE ${where}`
    return (await connection.get<{ total: number }>(sql, ...values))?.total ?? 0
  },

  async find(connection, filters, span) {
    const { records, ...more } = await walk(connection, filters, span)
    return { records: records.map(({ record }) => ({ account: accountOf(record) })), ...more }
  },
}

interface Row {
  readonly key: number
  readonly headcount: number
  readonly record: string
}

async function walk(connection: Connection, filters: CompanyFilters, { limit, after }: Span) {
  const { from, conditions } = pathOf(filters)
  const [where, ...values] = every([...conditions, ...behind(after)])
  const rows = await connection.all<Row>(
    `SELECT found.key, found.headcount, companies.record FROM (
      SELECT companies.key, ${headcount} AS headcount FROM ${from} WHERE ${where} ORDER BY 2 DESC, 1 LIMIT ?
    ) AS found CROSS JOIN companies ON companies.key = found.key ORDER BY 2 DESC, 1`,
    ...values,
    limit + 1,
  )
  return partOf(rows, limit, (row) => [row.headcount, row.key])
}

const headcount = 'coalesce(companies.headcount, -1)'

function behind(after: string | undefined): Condition[] {
  const place = readPosition<readonly [headcount: number, key: number]>(after)
  return place ? [[`(-${headcount}, companies.key) > (?, ?)`, -place[0], place[1]]] : []
}

/** Where companies are read from, and what they must fulfil there: few by their words, else all by their facts. */
function pathOf(filters: CompanyFilters): { from: string; conditions: readonly Condition[] } {
  const text = filters.keyword === undefined ? undefined : readKeyword(filters.keyword)
  const conditions = conditionsOf(filters)
  const from = 'companies INDEXED BY companies_facts'
  if (text && !text.negated)
    return {
      from: `companies_text CROSS JOIN ${from} ON companies.key = companies_text.rowid`,
      conditions: [['companies_text MATCH ?', text.match], ...conditions],
    }
  return { from, conditions: [...(text ? [withoutWords(text)] : []), ...conditions] }
}

const withoutWords = ({ match }: TextQuery): Condition => [
  'companies.key NOT IN (SELECT rowid FROM companies_text WHERE companies_text MATCH ?)',
  match,
]

const conditionsOf = (filters: CompanyFilters): Condition[] => [
  ...listed(filters.included_industries, industryIs),
  ...listed(filters.excluded_industries, (industries) => not(industryIs(industries))),
  ...listed(filters.included_locations, (ids) => locatedIn('included_locations', ids)),
  ...listed(filters.excluded_locations, (ids) => not(locatedIn('excluded_locations', ids))),
  ...listed(filters.company_size, sizeIs),
  revenueIs(filters.min_revenue, filters.max_revenue, filters.revenue_currency),
]
