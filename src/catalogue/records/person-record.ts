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
    ...toProfileFields(known),
    company_name,
    company_domain: employer?.domain ?? known.company_domain ?? null,
    current_position: toCurrentPosition(known, company_name, employer?.network_id ?? null),
    ...toTenure(known),
    ...toContactFields(known),
  }
}

const toProfileFields = (known: StoredPerson) => ({
  title: known.title ?? null,
  headline: known.headline ?? null,
  summary: known.summary ?? null,
  seniority: known.seniority ?? null,
  function: known.function ?? null,
  location: known.location ?? null,
  city: known.city ?? null,
  country: known.country ?? null,
  connections_count: known.connections_count ?? null,
})

const toContactFields = (known: StoredPerson) => ({
  network_id: known.network_id,
  network_profile_url: known.network_profile_url ?? null,
  premium_profile_url: known.premium_profile_url ?? null,
  profile_image_url: known.profile_image_url ?? null,
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
  first_name: known.first_name ?? null,
  last_name: known.last_name ?? null,
  full_name: toFullName(known) || null,
  gender: known.gender ?? null,
  title: known.title ?? null,
  title_description: known.title_description ?? null,
  summary: known.summary ?? null,
  most_probable_email: known.email ?? null,
  most_probable_email_status: known.email === undefined ? null : (known.email_status ?? 'valid'),
  phones: known.phones ?? [],
  network_profile_url: known.network_profile_url ?? null,
  premium_profile_url: known.premium_profile_url ?? null,
  profile_image_url: known.profile_image_url ?? null,
  is_premium_network: known.is_premium_network ?? null,
  is_open_profile_network: known.is_open_profile_network ?? null,
  is_open_to_work_network: known.is_open_to_work_network ?? null,
  connection_degree: known.connection_degree ?? null,
  connections_count: known.connections_count ?? null,
  current_positions_count: known.current_positions_count ?? null,
  ...tenureAt(known.started_at, toTenure(known), now),
  status: 'QUALIFIED',
  rejection_reason: [],
  headline: known.headline ?? null,
})

const toTenure = (known: StoredPerson) => ({
  years_in_position: known.years_in_position ?? null,
  months_in_position: known.months_in_position ?? null,
  years_in_company: known.years_in_company ?? null,
  months_in_company: known.months_in_company ?? null,
})
