import type { Value } from '../../storage/driver/connection.js'
import { foldName } from '../normalize/name.js'
import { Unreadable } from '../normalize/readers.js'
import { isMade } from '../records/made-id.js'
import type { NewPerson } from '../records/new-person.js'
import type { StoredPerson } from '../records/person.js'
import type { PersonRow } from '../records/person-row.js'
import type { Employer } from '../records/write-employer.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Writing } from '../write/write-context.js'

/** A person who is in the catalogue. */
export interface KnownPerson {
  readonly key: number
  readonly company: number | null
  readonly network_id: string
  readonly slug: string | null
  readonly email: string | null
  readonly personal_email: string | null
  readonly name: string
  readonly record: string
}

const columns = 'SELECT key, company, network_id, slug, email, personal_email, name, record FROM people WHERE'

/**
 * The person that a given one is. One found by a weaker key must have no stronger one of its own beside the one
 * given, or it is another person.
 */
export function* samePerson(
  { connection, mayHold }: Writing,
  given: NewPerson,
  company: number | undefined,
): Steps<KnownPerson | undefined> {
  const { id, slug, name, email, employer } = given
  const mayBe = (column: string, value: string | undefined, among?: string): value is string =>
    value !== undefined && mayHold('people', column, value, among)
  const all = (where: string, ...values: Value[]) =>
    answered(connection.all<KnownPerson>(`${columns} ${where} ORDER BY key`, ...values))
  const byId = mayBe('network_id', id) ? (yield* all('network_id = ?', id))[0] : undefined
  const known = byId ?? (mayBe('slug', slug) ? (yield* all('slug = ?', slug))[0] : undefined)
  if (known) return known
  const open = openTo(given)
  const mailed = mayBe('email', email, open) ? yield* all('email = ?', email) : []
  const owner = mailed.find((person) => !hasOtherProfile(person, given))
  if (owner || name === '') return owner
  const part = open ?? (email === undefined ? undefined : 'without email')
  if (!mayBe('company', placed(company, name), part)) return undefined
  const named =
    company === undefined
      ? yield* all('company IS NULL AND name = ?', name)
      : yield* all('company = ? AND name = ?', company, name)
  const same = named
    .filter((person) => !hasOtherProfile(person, given) && (email === undefined || person.email === null))
    .filter((person) => company !== undefined || namesCompany(person, employer))
  if (same.length > 1 && id === undefined && slug === undefined && email === undefined)
    throw new Unreadable('several people of this name are at this company: give a profile url or an email')
  return same.length === 1 ? same[0] : undefined
}

/** Whether a person who was not found by the profile given has one already. */
function hasOtherProfile(person: KnownPerson, { id, slug }: NewPerson): boolean {
  if (id === undefined && slug === undefined) return false
  return person.slug !== null || (id !== undefined && !isMade(person.network_id))
}

/** The part of the people that `hasOtherProfile` leaves; all of them have no name. */
function openTo({ id, slug }: NewPerson): 'without profile' | 'without slug' | undefined {
  if (id !== undefined) return 'without profile'
  return slug === undefined ? undefined : 'without slug'
}

const placed = (company: number | null | undefined, name: string): string => `${company ?? ''} ${name}`

function namesCompany({ record }: KnownPerson, { company_name }: Employer): boolean {
  const { company_name: there } = JSON.parse(record) as StoredPerson
  return company_name !== undefined && there !== undefined && foldName(there) === foldName(company_name)
}

/** Remembers what a person who is written can be found by, and by whom: the other side of `samePerson`. */
export function notePerson({ note }: Writing, company: number | null, row: PersonRow): void {
  const { network_id, slug, email, name } = row
  const open =
    slug !== null ? [] : isMade(network_id) ? ['without slug', 'without profile'] : ['without slug']
  note('people', 'network_id', network_id)
  note('people', 'slug', slug)
  note('people', 'email', email, open)
  note('people', 'company', placed(company, name), email === null ? [...open, 'without email'] : open)
}
