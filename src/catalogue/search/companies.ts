import type { CompanyFilters, PageRequest } from '../../api/ports/ports.js'
import { type Connection, readNumber } from '../../storage/driver/connection.js'
import type { CompaniesPath } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import { type Condition, every, parseKeyword } from '../full-text/keyword.js'
import { toAccount } from '../records/match-company.js'
import { companyConditions, withRevenue } from './conditions.js'
import { type Cursor, parseCursor, readRanges, type Searcher, toPage } from './search-kind.js'

/** Searches of companies by filters and keyword: the largest first, those of unknown headcount last. Counts are exact. */
export const companySearch: Searcher<'companies'> = {
  count: async (connection, filters) =>
    await countCompanies(connection, conditionsOf(filters), pathOf(connection, filters)),

  find: async (connection, filters, span) => {
    const path = pathOf(connection, filters)
    const { rows, position } = await listCompanies(connection, conditionsOf(filters), span, path)
    return toPage(rows, span.limit, position, ({ record }) => ({ account: toAccount(record) }))
  },
}

const conditionsOf = (filters: CompanyFilters): Condition[] => [
  ...companyConditions(filters),
  ...withRevenue(filters.min_revenue, filters.max_revenue, filters.revenue_currency),
]

const pathOf = (connection: Connection, filters: CompanyFilters): CompaniesPath =>
  dialectOf(connection).search.companiesPath(
    filters.keyword === undefined ? undefined : parseKeyword(filters.keyword),
    filters,
  )

/** A company in a list; one of unknown headcount (-1) comes after those without employees. */
interface FoundCompany {
  readonly key: number
  readonly headcount: number
  readonly record: string
}

/** In key order, rows of other tables about neighbouring companies are neighbours too. */
const allCompanies: CompaniesPath = {
  from: '',
  companies: 'companies INDEXED BY companies_facts',
  key: 'key',
  conditions: [],
}

const rowsOf = ({ from, companies }: CompaniesPath): string =>
  from === '' ? companies : `${from} CROSS JOIN ${companies}`

export async function countCompanies(
  connection: Connection,
  conditions: readonly Condition[],
  path = allCompanies,
) {
  const [where, ...values] = every([...path.conditions, ...conditions])
  const from = path.from !== '' && conditions.length === 0 ? path.from : rowsOf(path)
  return await readNumber(connection, `SELECT count(*) AS total FROM ${from} WHERE ${where}`, ...values)
}

const headcount = 'coalesce(headcount, -1)'
const largestFirst = '2 DESC, 1'

/** Returns the rows for a page of companies, with their position: the largest first, those of unknown headcount last. */
export async function listCompanies(
  connection: Connection,
  conditions: readonly Condition[],
  { limit, after }: Pick<PageRequest, 'limit' | 'after'>,
  path = allCompanies,
): Promise<{ rows: readonly FoundCompany[]; position: (row: FoundCompany) => Cursor }> {
  const place = parseCursor<readonly [headcount: number, key: number]>(after)
  const read = ({ condition, order }: ReturnType<typeof rangesOf>[number], most: number) => {
    const [where, ...values] = every([...path.conditions, ...condition, ...conditions])
    return connection.all<FoundCompany>(
      `SELECT found.*, record FROM (
        SELECT companies.key AS key, ${headcount} AS headcount FROM ${rowsOf(path)}
        WHERE ${where} ORDER BY ${order} LIMIT ?
      ) AS found CROSS JOIN companies ON companies.key = found.key ORDER BY ${largestFirst}`,
      ...values,
      most,
    )
  }
  const rows = await readRanges(rangesOf(path, place), limit, async (range, most) => read(range, most))
  return { rows, position: ({ headcount, key }) => [headcount, key] }
}

/** Returns what is read one after the other. Whoever comes in the order of the keys need not be sorted. */
function rangesOf(
  { byHeadcount, key }: CompaniesPath,
  place: readonly [headcount: number, key: number] | undefined,
) {
  const behind: Condition[] = place ? [[`(-${headcount}, companies.key) > (?, ?)`, -place[0], place[1]]] : []
  if (!byHeadcount) return [{ condition: behind, order: largestFirst }]
  const isPast = place !== undefined && place[0] < 0
  const known = { condition: [byHeadcount.known, ...behind], order: largestFirst }
  const others = { condition: [byHeadcount.behind(isPast ? place[1] : -1)], order: key }
  return isPast ? [others] : [known, others]
}
