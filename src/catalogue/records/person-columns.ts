import { functions, seniorities } from '../../api/schemas/enumerations.js'
import { dayOf } from '../../api/values/day.js'
import { monthsOf } from '../../api/values/tenure.js'
import type { Value } from '../../storage/driver/connection.js'
import { foldName } from '../normalize/name.js'
import { regionOf } from '../places/place.js'
import { foldedOrNull } from './company-columns.js'
import type { StoredPerson } from './person.js'
import { pastEmployers, pastTitles } from './position-history.js'

/** Columns of people that repeat what the record says, to be found and filtered by. */
export const personColumns = [
  'email',
  'personal_email',
  'country',
  'region',
  'city',
  'seniority',
  'function',
  'employer',
  'first_name',
  'last_name',
  'years_of_experience',
  'position_since',
  'months_in_position',
  'months_in_company',
] as const

/**
 * The values of these columns, in their order. `employer` is the folded name of a company that is not in the
 * catalogue; `position_since` a day as a number such as 20260131, beside which no given term in the position counts.
 */
export function personValues(person: StoredPerson): Value[] {
  const since = dayNumber(person.started_at)
  return [
    person.email ?? null,
    person.personal_email ?? null,
    person.country ?? null,
    regionOf(person.country, person.city, person.location) ?? null,
    foldedOrNull(person.city),
    seniorityIds.get(person.seniority) ?? null,
    functionIds.get(person.function) ?? null,
    person.company_name === undefined ? null : foldName(person.company_name),
    foldedOrNull(person.first_name),
    foldedOrNull(person.last_name),
    person.years_of_experience ?? null,
    since,
    since === null ? term(person.years_in_position, person.months_in_position) : null,
    term(person.years_in_company, person.months_in_company),
  ]
}

const idsOf = (labels: Readonly<Record<string, string>>): ReadonlyMap<string | undefined, number> =>
  new Map(Object.entries(labels).map(([id, label]) => [label, Number(id)]))
const seniorityIds = idsOf(seniorities)
const functionIds = idsOf(functions)

/** The texts that people are searched by, in the order of their columns. */
export const textsOf = ({ past_positions = [], ...person }: StoredPerson): string[] => [
  person.full_name ?? '',
  person.title ?? '',
  [person.headline, person.summary].filter(Boolean).join(' '),
  pastTitles(past_positions),
  pastEmployers(past_positions),
]

function dayNumber(startedAt: string | undefined): number | null {
  const day = startedAt?.slice(0, 10)
  return day === undefined || dayOf(day) === undefined ? null : Number(day.replaceAll('-', ''))
}

const term = (years: number | undefined, months: number | undefined): number | null =>
  years === undefined && months === undefined ? null : monthsOf(years, months)
