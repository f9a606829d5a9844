/** Returns a date such as 2026-02-28 as 00:00 UTC in milliseconds; `undefined` when there is no such day. */
export function dayOf(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text ? undefined : at
}

/** How long a person has been in a position and in a company: full years, and the months beyond them. */
export interface Tenure {
  readonly years_in_position: number | null
  readonly months_in_position: number | null
  readonly years_in_company: number | null
  readonly months_in_company: number | null
}

/** Returns the tenure at a moment, from the day (or ISO 8601 moment) the position began; without one, as given. */
export function tenureAt(startedAt: string | null | undefined, given: Tenure, now: number): Tenure {
  const started = dayOf(startedAt?.slice(0, 10) ?? '')
  if (started === undefined) return given
  const months = monthsBetween(started, now)
  const [years_in_position, months_in_position] = [Math.floor(months / 12), months % 12]
  const position = { years_in_position, months_in_position }
  const { years_in_company, months_in_company } = given
  // A person who changed positions inside the company has been there for longer.
  if (monthsOf(years_in_company, months_in_company) > months)
    return { ...position, years_in_company, months_in_company }
  return { ...position, years_in_company: years_in_position, months_in_company: months_in_position }
}

/** Returns years and months in months; an unknown part counts as zero. */
export const monthsOf = (years: number | null | undefined, months: number | null | undefined): number =>
  (years ?? 0) * 12 + (months ?? 0)

/** Returns the full months from one moment to another in UTC; zero when it lies ahead. */
function monthsBetween(from: number, to: number): number {
  const [start, end] = [new Date(from), new Date(to)]
  const months =
    (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth()
  return Math.max(0, end.getUTCDate() < start.getUTCDate() ? months - 1 : months)
}
