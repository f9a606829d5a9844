import { type Connection, send } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { date, InvalidRecordError, text, wholeNumber } from '../normalize/readers.js'
import { awaitResult, type Steps } from '../write/sync-steps.js'

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

/** Adds entries to a company's headcount history; one with the same day and department is replaced. */
export function* writeHeadcountHistory(
  connection: Connection,
  company: number,
  entries: readonly HeadcountEntry[],
): Steps<void> {
  for (const { department, date: day, headcount } of entries)
    send(connection, upsertEntry, company, department, day, headcount)
  yield* writeGrowth(connection, company)
}

const selectHistory =
  'SELECT department, date, headcount FROM headcount_history WHERE company = ? ORDER BY date, department'
const upsertGrowth = `INSERT INTO headcount_growth (company, department, headcount, growth) VALUES (?, ?, ?, ?)
  ON CONFLICT (company, department) DO UPDATE SET headcount = excluded.headcount, growth = excluded.growth`

/** Stores the headcount of each department of a company, and its growth over 12 months in percent. */
function* writeGrowth(connection: Connection, company: number): Steps<void> {
  const history = yield* awaitResult(connection.all<HeadcountEntry>(selectHistory, company))
  for (const [department, entries] of Map.groupBy(history, (entry) => foldText(entry.department))) {
    const now = entries.at(-1)?.headcount ?? 0
    const growth = toGrowthPercent(findHeadcountBefore(entries, 12), now)
    send(connection, upsertGrowth, company, department, now, growth)
  }
}

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
