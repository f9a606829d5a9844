import { type Connection, send } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { date, InvalidRecordError, text, wholeNumber } from '../normalize/readers.js'

/** Headcount of a company's department on a day; `All` is the whole company. */
export interface HeadcountEntry extends DatedHeadcount {
  readonly department: string
}

/** Reads a headcount history. */
export function readHeadcountHistory(entries: readonly RawRecord[]): HeadcountEntry[] {
  return entries.map((entry) => {
    const [day, headcount] = [date(entry.date), wholeNumber(entry.headcount)]
    if (day === undefined || headcount === undefined)
      throw new InvalidRecordError('each entry needs a date and a headcount')
    return { date: day.slice(0, 10), department: text(entry.department) ?? 'All', headcount }
  })
}

const upsertEntry = `INSERT INTO headcount_history (company, department, date, headcount) VALUES (?, ?, ?, ?)
  ON CONFLICT (company, department, date) DO UPDATE SET headcount = excluded.headcount`

/**
 * Adds entries to the headcount histories of companies; one with the same day and department is replaced. Stores the headcount
 * of each department, and its growth over 12 months in percent.
 */
export async function writeHeadcountHistory(
  connection: Connection,
  changes: readonly {
    readonly row: { readonly key: number }
    readonly history: readonly HeadcountEntry[] | undefined
  }[],
): Promise<void> {
  const companies = new Set<number>()
  for (const { row, history } of changes) {
    if (!history) continue
    companies.add(row.key)
    for (const { department, date: day, headcount } of history)
      send(connection, upsertEntry, row.key, department, day, headcount)
  }
  if (companies.size === 0) return
  const entries = await connection.all<HeadcountEntry & { company: number }>(
    selectHistories,
    JSON.stringify([...companies]),
  )
  const byDepartment = ({ company, department }: (typeof entries)[number]) =>
    `${company} ${foldText(department)}`
  for (const history of Map.groupBy(entries, byDepartment).values()) {
    const { company = 0, department = '', headcount = 0 } = history.at(-1) ?? {}
    const growth = toGrowthPercent(findHeadcountBefore(history, 12), headcount)
    send(connection, upsertGrowth, company, foldText(department), headcount, growth)
  }
}

const selectHistories = `SELECT company, department, date, headcount FROM headcount_history
  WHERE company IN (SELECT atom FROM json_each(?)) ORDER BY company, date, department`
const upsertGrowth = `INSERT INTO headcount_growth (company, department, headcount, growth) VALUES (?, ?, ?, ?)
  ON CONFLICT (company, department) DO UPDATE SET headcount = excluded.headcount, growth = excluded.growth`

/** Headcount on a day, `YYYY-MM-DD`. */
interface DatedHeadcount {
  readonly date: string
  readonly headcount: number
}

/** Maximum distance between a day and the entry that is used for it, in days. */
const maxDistanceDays = 31
const dayMs = 86_400_000

/** Returns the headcount `months` before the newest entry; null when there is none near that day. Oldest entry first. */
export function findHeadcountBefore(entries: readonly DatedHeadcount[], months: number): number | null {
  const then = new Date(entries.at(-1)?.date ?? Number.NaN)
  then.setUTCMonth(then.getUTCMonth() - months)
  const distance = ({ date }: DatedHeadcount) => Math.abs(Date.parse(date) - then.getTime()) / dayMs
  const near = entries.filter((entry) => distance(entry) <= maxDistanceDays)
  const [nearest] = near.sort((a, b) => distance(a) - distance(b))
  return nearest?.headcount ?? null
}

/** Returns the growth from a base in whole percent; null when the base is 0 or unknown. */
export const toGrowthPercent = (base: number | null, now: number): number | null =>
  base === null || base === 0 ? null : Math.round(((now - base) / base) * 100)
