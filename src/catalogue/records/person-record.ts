import { tenureAt } from '../../api/values/dates.js'
import type { FoundLead, Lead, Person } from '../../engine/ports/ports.js'
import { type StoredAccount, toAccount } from './company-row.js'
import { type StoredPerson, toFullName } from './person.js'

/** A stored person, and the record of the company when it is in the catalogue. */
export interface FoundPerson {
  readonly key: number
  readonly network_id: string
  readonly slug: string | null
  readonly record: string
  readonly company: string | null
}

/** Begins a query for `FoundPerson` rows; a condition follows. */
export const selectPeople = `SELECT people.key, people.network_id, people.slug, people.record, companies.record AS company
  FROM people LEFT JOIN companies ON companies.key = people.company WHERE`

/** Returns the person record of a stored person, with every key; tenures are as imported. */
export function toPerson({ record, company }: FoundPerson): Person {
  const known = JSON.parse(record) as StoredPerson
  const employer = company === null ? undefined : (JSON.parse(company) as StoredAccount)
  const company_name = employer?.name ?? known.company_name ?? null
  return {
    id: known.id,
    status: 'QUALIFIED',
    first_name: known.first_name ?? null,
    last_name: known.last_name ?? null,
    full_name: toFullName(known) || null,
    ...orNull(known, profile),
    company_name,
    company_domain: employer?.domain ?? known.company_domain ?? null,
    current_position: toCurrentPosition(known, company_name, employer?.network_id ?? null),
    ...orNull(known, tenure),
    network_id: known.network_id,
    ...orNull(known, urls),
    ...toContactFields(known),
  }
}

/** Returns fields of a stored person; null where one is absent. */
const orNull = <K extends keyof StoredPerson>(known: StoredPerson, names: readonly K[]) =>
  Object.fromEntries(names.map((name) => [name, known[name] ?? null])) as {
    [N in K]: NonNullable<StoredPerson[N]> | null
  }

const urls = ['network_profile_url', 'premium_profile_url', 'profile_image_url'] as const
const profile = [
  ...(['title', 'headline', 'summary', 'seniority', 'function'] as const),
  ...(['location', 'city', 'country', 'connections_count'] as const),
]
const leadFlags = ['is_premium_network', 'is_open_profile_network', 'is_open_to_work_network'] as const
const leadCounts = ['connection_degree', 'connections_count', 'current_positions_count'] as const
const tenure = ['years_in_position', 'months_in_position', 'years_in_company', 'months_in_company'] as const

const toContactFields = (known: StoredPerson) => ({
  most_probable_email: known.email ?? null,
  most_probable_email_status: known.email === undefined ? null : (known.email_status ?? 'valid'),
  phones: known.phones ?? [],
})

/** Returns the current position; null when unknown. */
function toCurrentPosition(
  known: StoredPerson,
  company_name: string | null,
  company_network_id: string | null,
): Person['current_position'] {
  const title = known.title ?? null
  const started_at = known.started_at ?? null
  if (title === null && started_at === null && company_name === null) return null
  return { title, company_name, company_network_id, started_at }
}

/** The records of a stored person and of the company. */
export type PersonAtCompany = Pick<FoundPerson, 'record' | 'company'>

/** Returns the lead and its company, with every key; tenures are computed up to `now`. */
export function toLead({ record, company }: PersonAtCompany, now: number): FoundLead {
  const known = JSON.parse(record) as StoredPerson
  return {
    network_id: known.network_id ?? null,
    lead: toLeadFields(known, now),
    company: company === null ? null : toAccount(company),
  }
}

const toLeadFields = (known: StoredPerson, now: number): Lead['lead'] => ({
  ...orNull(known, ['first_name', 'last_name']),
  full_name: toFullName(known) || null,
  ...orNull(known, ['gender', 'title', 'title_description', 'summary']),
  ...toContactFields(known),
  ...orNull(known, urls),
  ...orNull(known, leadFlags),
  ...orNull(known, leadCounts),
  ...tenureAt(known.started_at, orNull(known, tenure), now),
  status: 'QUALIFIED',
  rejection_reason: [],
  headline: known.headline ?? null,
})
