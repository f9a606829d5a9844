import type { Person } from './ports.js'
import { dayOf } from './time.js'

/** Years and months in position and company at a moment, from when the position began; without that, as given. */
export function withTenure(person: Person, now: number): Person {
  const started = dayOf(person.current_position?.started_at?.slice(0, 10) ?? '')
  if (started === undefined) return person
  const months = monthsBetween(started, now)
  const [years_in_position, months_in_position] = [Math.floor(months / 12), months % 12]
  const position = { ...person, years_in_position, months_in_position }
  // Who changed positions inside the company has been there for longer than in the last one.
  if (monthsInCompany(person) > months) return position
  return { ...position, years_in_company: years_in_position, months_in_company: months_in_position }
}

const monthsInCompany = ({ years_in_company, months_in_company }: Person): number =>
  (years_in_company ?? 0) * 12 + (months_in_company ?? 0)

/** Full months from one moment to another in UTC; none where it lies ahead. */
function monthsBetween(from: number, to: number): number {
  const [start, end] = [new Date(from), new Date(to)]
  const months =
    (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth()
  return Math.max(0, end.getUTCDate() < start.getUTCDate() ? months - 1 : months)
}
