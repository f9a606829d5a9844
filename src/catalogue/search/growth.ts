import type { GrowthFilters } from '../../api/ports/ports.js'
import { functions } from '../../api/schemas/enumerations.js'
import { foldText } from '../../identity/name.js'
import type { Connection } from '../../storage/driver/connection.js'
import { type Condition, every } from '../full-text/keyword.js'
import { toAccount } from '../records/match-company.js'
import { countCompanies } from './companies.js'
import { atCompanies, between, companyConditions } from './conditions.js'
import { parseCursor, readRanges, type Searcher, toPage } from './search-kind.js'

/** Searches companies by growth in 12 months, in whole percent, or by the size of departments; the largest number first. */
export const growthSearch: Searcher<'growth'> = {
  count: async (connection, filters) =>
    await countCompanies(connection, [
      ...companyConditions(filters),
      ...toMeasures(filters).map(toCondition('companies.key')),
    ]),

  find: async (connection, filters, { limit, after }) => {
    const ranges = toRanges(parseCursor<GrowthCursor>(after))
    const rows = await readRanges(ranges, limit, (range, most) => readRows(connection, filters, range, most))
    const toRecord = ({ record, growth }: GrowthRow) => ({
      account: { ...toAccount(record), headcount_growth_percentage: growth },
    })
    return toPage(rows, limit, ({ rank, company }) => [rank, company], toRecord)
  },
}

type GrowthCursor = readonly [rank: number, company: number]

interface GrowthRow {
  readonly company: number
  readonly rank: number
  /** Of the whole company, whatever it was searched by. */
  readonly growth: number | null
  readonly record: string
}

/** The bounds of one department; `all` is the whole company. */
interface Measure {
  readonly by: 'growth' | 'headcount'
  readonly department: string
  readonly bounds: Condition
}

async function readRows(
  connection: Connection,
  filters: GrowthFilters,
  range: (by: string) => Condition,
  limit: number,
): Promise<GrowthRow[]> {
  const [first, ...others] = toMeasures(filters)
  if (!first) return []
  const [where, ...values] = every([
    ['department = ?', first.department],
    first.bounds,
    range(first.by),
    ...others.map(toCondition('g.company')),
    ...atCompanies(companyConditions(filters)),
  ])
  return await connection.all<GrowthRow>(
    `SELECT found.*, record,
      (SELECT growth FROM headcount_growth AS g WHERE g.company = found.company AND department = 'all') AS growth
    FROM (
      SELECT company, ${first.by} AS rank FROM headcount_growth AS g
      WHERE ${where} ORDER BY ${first.by} DESC, company LIMIT ?
    ) AS found JOIN companies ON key = company ORDER BY rank DESC, company`,
    ...values,
    limit,
  )
}

/** Returns a measure as a condition on the company whose key is in a column. */
const toCondition =
  (key: string) =>
  ({ department, bounds: [sql, ...values] }: Measure): Condition => [
    `EXISTS (SELECT 1 FROM headcount_growth WHERE company = ${key} AND department = ? AND (${sql}))`,
    department,
    ...values,
  ]

/** Returns the measures of the filters; the first one orders the companies. */
function toMeasures(filters: GrowthFilters): Measure[] {
  const { min_headcount_growth_percentage: min, max_headcount_growth_percentage: max } = filters
  const whole = between('growth', min, max)
  const company: Measure[] =
    whole.length === 0 ? [] : [{ by: 'growth', department: 'all', bounds: every(whole) }]
  if (filters.department === undefined) return company
  const growth = between(
    'growth',
    filters.min_department_headcount_growth_percentage,
    filters.max_department_headcount_growth_percentage,
  )
  const headcount = between('headcount', filters.min_department_headcount, filters.max_department_headcount)
  const department: Measure = {
    by: growth.length > 0 ? 'growth' : 'headcount',
    department: foldText(functions[filters.department] ?? filters.department),
    bounds: every([...growth, ...headcount]),
  }
  return [...company, department]
}

/** Returns the rows after a cursor as ranges, each of which the index finds directly. */
function toRanges(place: GrowthCursor | undefined): ((by: string) => Condition)[] {
  if (!place) return [() => ['TRUE']]
  const [rank, company] = place
  return [(by) => [`${by} = ? AND company > ?`, rank, company], (by) => [`${by} < ?`, rank]]
}
