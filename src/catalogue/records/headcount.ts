import { type Connection, send } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { date, text, Unreadable, wholeNumber } from '../normalize/readers.js'
import { answered, type Steps } from '../write/sync-steps.js'

/** Headcount of a company's department on a day; `All` is the whole company. */
export interface HeadcountEntry extends DatedHeadcount {
  readonly department: string
}

/** Reads a given headcount history. */
export function readHistory(entries: readonly RawRecord[]): HeadcountEntry[] {
  return entries.map((entry) => {
    const [day, headcount] = [date(entry.date), wholeNumber(entry.headcount)]
    if (day === undefined || headcount === undefined)
      throw new Unreadable('headcount_history: each entry needs a date and a headcount')
    return { date: day.slice(0, 10), department: text(entry.department) ?? 'All', headcount }
  })
}

/** Adds to a company's headcount history; an entry of the same day and department is replaced. */
export function* writeHistory(
  connection: Connection,
  company: number,
  entries: readonly HeadcountEntry[],
): Steps<void> {
  for (const { department, date: day, headcount } of entries)
    send(
      connection,
      `INSERT INTO headcount_history (company, department, date, headcount) VALUES (?, ?, ?, ?)
        ON CONFLICT (company, department, date) DO UPDATE SET headcount = excluded.headcount`,
      company,
      department,
      day,
      headcount,
    )
  yield* writeGrowth(connection, company)
}

const history =
  'SELECT department, date, headcount FROM headcount_history WHERE company = ? ORDER BY date, department'
const write = `INSERT INTO headcount_growth (company, department, headcount, growth) VALUES (?, ?, ?, ?)
  ON CONFLICT (company, department) DO UPDATE SET headcount = excluded.headcount, growth = excluded.growth`

/** Keeps how many people each department of a company has, and by how many per cent it grew in 12 months. */
export function* writeGrowth(connection: Connection, company: number): Steps<void> {
  const byDepartment = new Map<string, HeadcountEntry[]>()
  for (const entry of yield* answered(connection.all<HeadcountEntry>(history, company))) {
    const department = foldText(entry.department)
    const known = byDepartment.get(department)
    if (known) known.push(entry)
    else byDepartment.set(department, [entry])
  }
  for (const [department, entries] of byDepartment) {
    const now = entries.at(-1)?.headcount ?? 0
    const growth = percentageFrom(headcountBefore(entries, 12), now)
    send(connection, write, company, department, now, growth)
  }
}

/** How many people there were on a day, `YYYY-MM-DD`. */
export interface DatedHeadcount {
  readonly date: string
  readonly headcount: number
}

/** The headcount of a day is known when one was taken at most so many days before or after. */
const nearDays = 31
const dayMs = 86_400_000

/** The headcount so many months before the newest entry, oldest first; null when none was taken about then. */
export function headcountBefore(entries: readonly DatedHeadcount[], months: number): number | null {
  const then = new Date(entries.at(-1)?.date ?? Number.NaN)
  then.setUTCMonth(then.getUTCMonth() - months)
  const distance = ({ date }: DatedHeadcount) => Math.abs(Date.parse(date) - then.getTime()) / dayMs
  const near = entries.filter((entry) => distance(entry) <= nearDays)
  const [nearest] = near.sort((a, b) => distance(a) - distance(b))
  return nearest?.headcount ?? null
}

/** Growth from a base in whole per cent; null from nothing or the unknown. */
export const percentageFrom = (base: number | null, now: number): number | null =>
  base === null || base === 0 ? null : Math.round(((now - base) / base) * 100)
