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
