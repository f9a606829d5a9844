import type { Found, Span } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import { type Condition, every } from './phrases.js'
import { partOf, readPosition } from './position.js'

/** A company on the way. */
export interface CompanyRow {
  readonly key: number
  readonly headcount: number | null
  readonly record: string
}

type Place = readonly [headcount: number | null, key: number]

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

/** A span of the companies that fulfil all conditions: the largest first, those of unknown headcount last. */
export async function walkCompanies(
  connection: Connection,
  conditions: readonly Condition[],
  { limit, after }: Pick<Span, 'limit' | 'after'>,
): Promise<Found<CompanyRow>> {
  const rows: CompanyRow[] = []
  for (const stretch of stretchesBehind(readPosition<Place>(after))) {
    const [where, ...values] = every([stretch, ...conditions])
    const sql = `SELECT key, headcount, record FROM companies WHERE ${where} ORDER BY headcount DESC, key LIMIT ?`
    rows.push(...(await connection.all<CompanyRow>(sql, ...values, limit + 1 - rows.length)))
    if (rows.length > limit) break
  }
  return partOf(rows, limit, ({ headcount, key }) => [headcount, key])
}

/** What lies behind a place, in stretches to whose beginning the index leads at once. */
function stretchesBehind(place: Place | undefined): Condition[] {
  if (!place) return [['TRUE']]
  const [headcount, key] = place
  const equals: Condition = ['headcount IS ? AND key > ?', headcount, key]
  return headcount === null ? [equals] : [equals, ['headcount < ?', headcount], ['headcount IS NULL']]
}
