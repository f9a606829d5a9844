import { type Connection, send } from '../../storage/driver/connection.js'
import type { NewPerson } from '../records/new-person.js'
import type { PersonFields, StoredPerson } from '../records/person.js'
import { textsOf } from '../records/person-columns.js'
import { type PersonRow, personRow, personRowColumns, valuesOf } from '../records/person-row.js'
import { rowWriter } from '../records/upsert.js'
import { type Employer, employerKey } from '../records/write-employer.js'
import type { Steps } from '../write/sync-steps.js'
import type { Writing, Written } from '../write/write-context.js'
import { type KnownPerson, notePerson, samePerson } from './same-person.js'

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
