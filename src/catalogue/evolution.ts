import type { Headcount } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import type { StoredAccount } from './account.js'
import type { HeadcountEntry } from './headcount.js'
import type { Candidate } from './match.js'
import { foldText } from './name.js'

type Evolution = NonNullable<Headcount[string]['3_months_evolution']>

/** The headcount of a day is known when one was taken at most so many days before or after. */
const nearDays = 31
const dayMs = 86_400_000

const history =
  'SELECT department, date, headcount FROM headcount_history WHERE company = ? ORDER BY department, date'

/**
 * A company's headcount, newest known, with its evolution up to then: `All`, and the departments asked for, or
 * every one there is when none are. What is not known of is left out.
 */
export async function headcountOf(
  connection: Connection,
  { key, record }: Candidate,
  departments: readonly string[],
): Promise<Headcount> {
  const byDepartment = new Map<string, HeadcountEntry[]>([['All', []]])
  for (const entry of await connection.all<HeadcountEntry>(history, key))
    byDepartment.set(entry.department, [...(byDepartment.get(entry.department) ?? []), entry])
  const wanted = new Set(['All', ...departments].map(foldText))
  const { headcount } = JSON.parse(record) as StoredAccount
  const all = byDepartment.get('All')?.at(-1)?.headcount ?? headcount ?? undefined
  return Object.fromEntries(
    [...byDepartment]
      .filter(([department]) => departments.length === 0 || wanted.has(foldText(department)))
      .flatMap(([department, entries]) => {
        const now = entries.at(-1)?.headcount ?? all
        return now === undefined ? [] : [[department, grown(entries, now)]]
      }),
  )
}

const grown = (entries: readonly HeadcountEntry[], now: number): Headcount[string] => ({
  current_headcount: now,
  '3_months_evolution': evolution(entries, now, 3),
  '6_months_evolution': evolution(entries, now, 6),
  '12_months_evolution': evolution(entries, now, 12),
})

function evolution(entries: readonly HeadcountEntry[], now: number, months: number): Evolution {
  const base = headcountBefore(entries, months)
  return {
    base_headcount: base,
    current_headcount: now,
    headcount_gain: base === null ? null : now - base,
    headcount_gain_percentage: base === null || base === 0 ? null : Math.round(((now - base) / base) * 100),
  }
}

/** The headcount so many months before the newest one; null when none was taken about then. */
function headcountBefore(entries: readonly HeadcountEntry[], months: number): number | null {
  const then = new Date(entries.at(-1)?.date ?? Number.NaN)
  then.setUTCMonth(then.getUTCMonth() - months)
  const distance = ({ date }: HeadcountEntry) => Math.abs(Date.parse(date) - then.getTime()) / dayMs
  const near = entries.filter((entry) => distance(entry) <= nearDays)
  const [nearest] = near.sort((a, b) => distance(a) - distance(b))
  return nearest?.headcount ?? null
}
