import type { CompanyFilters, PageRequest } from '../../api/ports/ports.js'
import { type Connection, readNumber } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { type Condition, every, parseKeyword } from '../full-text/keyword.js'
import { toAccount } from '../records/match-company.js'
import { companyConditions, withRevenue } from './conditions.js'
import { type Cursor, parseCursor, type Searcher, toPage } from './search-kind.js'

/** Searches of companies by filters and keyword: the largest first, those of unknown headcount last. Counts are exact. */
export const companySearch: Searcher<'companies'> = {
  count: async (connection, filters) => await countCompanies(connection, conditionsOf(connection, filters)),

  find: async (connection, filters, span) => {
    const { rows, position } = await listCompanies(connection, conditionsOf(connection, filters), span)
    return toPage(rows, span.limit, position, ({ record }) => ({ account: toAccount(record) }))
  },
}

const conditionsOf = (connection: Connection, filters: CompanyFilters): Condition[] => [
  ...(filters.keyword === undefined
    ? []
    : [dialectOf(connection).texts.matchTexts('companies', parseKeyword(filters.keyword), 'many')]),
  ...companyConditions(filters),
  withRevenue(filters.min_revenue, filters.max_revenue, filters.revenue_currency),
]

/** A company in a list; one of unknown headcount (-1) comes after those without employees. */
interface FoundCompany {
  readonly key: number
  readonly headcount: number
  readonly record: string
}

export async function countCompanies(connection: Connection, conditions: readonly Condition[]) {
  const [where, ...values] = every(conditions)
  // In key order, rows of other tables about neighbouring companies are neighbours too.
  const sql = `SELECT count(*) AS total FROM companies INDEXED BY companies_facts WHERE ${where}`
  return await readNumber(connection, sql, ...values)
}

const headcount = 'coalesce(headcount, -1)'

/** Returns the rows for a page of companies, with their position: the largest first, those of unknown headcount last. */
export async function listCompanies(
  connection: Connection,
  conditions: readonly Condition[],
  { limit, after }: Pick<PageRequest, 'limit' | 'after'>,
): Promise<{ rows: FoundCompany[]; position: (row: FoundCompany) => Cursor }> {
  const place = parseCursor<readonly [headcount: number, key: number]>(after)
  const behind: Condition[] = place ? [[`(-${headcount}, key) > (?, ?)`, -place[0], place[1]]] : []
  const [where, ...values] = every([...conditions, ...behind])
  const rows = await connection.all<FoundCompany>(
    `SELECT found.*, record FROM (
      SELECT key, ${headcount} AS headcount FROM companies INDEXED BY companies_facts
      WHERE ${where} ORDER BY 2 DESC, 1 LIMIT ?
    ) AS found CROSS JOIN companies ON companies.key = found.key ORDER BY 2 DESC, 1`,
    ...values,
    limit + 1,
  )
  return { rows, position: ({ headcount, key }) => [headcount, key] }
}
