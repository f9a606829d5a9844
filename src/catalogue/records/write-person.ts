import { type Connection, send, type Value } from '../../storage/driver/connection.js'
import { foldName } from '../normalize/name.js'
import { Unreadable } from '../normalize/readers.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Writing, Written } from '../write/write-context.js'
import { isMade, type NewPerson } from './new-person.js'
import type { PersonFields, StoredPerson } from './person.js'
import { type PersonRow, personRow, personRowColumns, textsOf, valuesOf } from './person-row.js'
import { rowWriter } from './upsert.js'
import { type Employer, employerKey } from './write-employer.js'

/** Adds a person, or merges what is given over the one there is with the profile, else e-mail, else name and company. */
export function* writePerson(writing: Writing, given: NewPerson): Steps<Written> {
  const employer = yield* employerKey(writing, given.employer)
  const existing = yield* samePerson(writing, given, employer)
  if (existing) merge(writing, existing, given, employer ?? existing.company)
  else add(writing, given, employer ?? null)
  return existing ? 'updated' : 'added'
}

const found = ['company', 'network_id', 'slug', 'email', 'personal_email', 'name'] as const
const rows = rowWriter('people', ['company', ...personRowColumns], found)

function add(writing: Writing, given: NewPerson, company: number | null): void {
  const key = writing.nextKey('people')
  const row = company === null ? unplaced(given) : given.row
  rows.add(writing, key, [company, ...valuesOf(row)], row.texts)
  writePhones(writing.connection, key, [], given)
  notePerson(writing, company, row)
}

/** Somebody new whose company is not in the catalogue. */
function unplaced({ employer, slug, row }: NewPerson): PersonRow {
  if (employer.company_name === undefined) return row
  const person = JSON.parse(row.record) as StoredPerson
  return personRow({ ...named(employer), ...person }, slug ?? null)
}

function merge(writing: Writing, existing: KnownPerson, given: NewPerson, company: number | null): void {
  const before = JSON.parse(existing.record) as StoredPerson
  const after = {
    ...withoutEmployer(before),
    ...(company === null ? named(given.employer, before) : {}),
    ...(JSON.parse(given.row.record) as StoredPerson),
    id: before.id,
    network_id: given.id ?? before.network_id,
  }
  if (after.first_name !== undefined && after.last_name !== undefined)
    after.full_name ??= `${after.first_name} ${after.last_name}`
  const row = personRow(after, given.slug ?? existing.slug)
  const now = { ...row, company, personal_email: after.personal_email ?? null }
  const isFoundAsBefore = found.every((column) => now[column] === existing[column])
  const texts = textsOf(before).some((text, at) => text !== row.texts[at]) ? row.texts : undefined
  rows.change(writing, existing.key, [company, ...valuesOf(row)], isFoundAsBefore, texts)
  const { phones = [], messenger } = after
  writePhones(writing.connection, existing.key, before.phones ?? [], { phones, messenger })
  notePerson(writing, company, row)
}

function withoutEmployer(person: StoredPerson): PersonFields {
  const { company_domain, company_network_url, company_network_id, company_name, ...own } = person
  return own
}

/** How the company is named, where that is all there is to know of it. */
function named(employer: Employer, before?: Employer): Employer {
  const name = employer.company_name ?? before?.company_name
  return name === undefined ? {} : { company_name: name }
}

function writePhones(
  connection: Connection,
  key: number,
  before: readonly string[],
  { phones, messenger }: Pick<NewPerson, 'phones' | 'messenger'>,
): void {
  for (const number of before)
    if (!phones.includes(number))
      send(connection, 'DELETE FROM phones WHERE number = ? AND person = ?', number, key)
  const reachable = messenger === undefined ? null : Number(messenger)
  for (const number of phones)
    send(
      connection,
      'INSERT INTO phones (number, person, messenger) VALUES (?, ?, ?) ON CONFLICT (number, person) DO UPDATE SET messenger = excluded.messenger',
      number,
      key,
      reachable,
    )
}

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
