import type { Value } from '../storage/driver.js'
import { type Employer, employerKey } from './employer.js'
import { foldName, foldText } from './name.js'
import { fullName, type PersonFields, type PreparedPerson, type StoredPerson } from './person.js'
import { personColumns, personTexts, personValues, textsOf } from './person-columns.js'
import type { Statements } from './statements.js'
import { Unreadable } from './values.js'
import type { Writing, Written } from './writing.js'

export type { StoredPerson } from './person.js'

interface PersonRow {
  readonly key: number
  readonly company: number | null
  readonly network_id: string
  readonly slug: string | null
  readonly email: string | null
  readonly record: string
}

/** Adds a person, or merges what is given over the one there is with the profile, else e-mail, else name and company. */
export function writePerson(writing: Writing, prepared: PreparedPerson): Written {
  const employer = employerKey(writing, prepared.employer)
  const existing = existingPerson(writing, prepared, employer)
  const before = existing && (JSON.parse(existing.record) as StoredPerson)
  const company = employer ?? existing?.company ?? null
  const after: StoredPerson = {
    ...withoutEmployer(before),
    ...(company === null ? given(prepared.employer, before) : {}),
    ...prepared.fields,
    id: before?.id ?? prepared.fields.id ?? writing.ids.uuid(),
    network_id: prepared.id ?? before?.network_id ?? newNetworkId(writing),
  }
  if (after.first_name !== undefined && after.last_name !== undefined) after.full_name ??= fullName(after)
  const key = existing?.key ?? writing.nextKey('people')
  const row = {
    key,
    company,
    slug: prepared.slug ?? existing?.slug ?? null,
    name: foldText(fullName(after)),
    person: after,
  }
  writeRow(writing.statements, row, existing, before)
  writePhones(writing.statements, key, before, after)
  notePerson(writing, row)
  return existing ? 'updated' : 'added'
}

function withoutEmployer(person: StoredPerson | undefined): Partial<PersonFields> {
  if (!person) return {}
  const { company_domain, company_network_url, company_network_id, company_name, ...own } = person
  return own
}

/** How the company is named, where that is all there is to know of it. */
function given(employer: Employer, before: Employer | undefined): Employer {
  const name = employer.company_name ?? before?.company_name
  return name === undefined ? {} : { company_name: name }
}

/** An id in the form of the network's own. */
const newNetworkId = ({ ids }: Writing): string => `ACoAA${Buffer.from(ids.bytes(18)).toString('base64url')}`

/** Whether an id was made here: the network's own are longer. */
export const isMade = (id: string): boolean => /^ACoAA[\w-]{24}$/.test(id)

const columns = 'SELECT key, company, network_id, slug, email, record FROM people WHERE'

/**
 * The person that a given one is. One found by a weaker key must have no stronger one of its own beside the one
 * given, or it is another person.
 */
function existingPerson(
  { statements, mayHold }: Writing,
  prepared: PreparedPerson,
  company: number | undefined,
): PersonRow | undefined {
  const { id, slug, name, employer } = prepared
  const { email } = prepared.fields
  const mayBe = (column: string, value: string | undefined, among?: string): value is string =>
    value !== undefined && mayHold('people', column, value, among)
  const all = (where: string, ...values: Value[]) =>
    statements.all<PersonRow>(`${columns} ${where}`, ...values)
  const byId = mayBe('network_id', id) ? all('network_id = ?', id)[0] : undefined
  const known = byId ?? (mayBe('slug', slug) ? all('slug = ?', slug)[0] : undefined)
  if (known) return known
  const open = openTo(prepared)
  const mailed = mayBe('email', email, open) ? all('email = ?', email) : []
  const owner = mailed.find((person) => !hasOtherProfile(person, prepared))
  if (owner || name === '') return owner
  const unmailed = open ?? (email === undefined ? undefined : 'without email')
  if (!mayBe('company', at(company, name), unmailed)) return undefined
  const same = all('company IS ? AND name = ?', company ?? null, name)
    .filter((person) => !hasOtherProfile(person, prepared) && (email === undefined || person.email === null))
    .filter((person) => company !== undefined || namesCompany(person, employer))
  if (same.length > 1 && id === undefined && slug === undefined && email === undefined)
    throw new Unreadable('several people of this name are at this company: give a profile url or an email')
  return same.length === 1 ? same[0] : undefined
}

/** Whether a person who was not found by the profile given has one already. */
function hasOtherProfile(person: PersonRow, { id, slug }: PreparedPerson): boolean {
  if (id === undefined && slug === undefined) return false
  return person.slug !== null || (id !== undefined && !isMade(person.network_id))
}

/** The part of the records that `hasOtherProfile` leaves to a person; all of them without a name. */
function openTo({ id, slug }: PreparedPerson): string | undefined {
  if (id !== undefined) return 'without profile'
  return slug === undefined ? undefined : 'without slug'
}

const at = (company: number | null | undefined, name: string): string => `${company ?? ''} ${name}`

/** Remembers what a person can be found by, and by whom. */
function notePerson({ note }: Writing, { company, slug, name, person }: NewRow): void {
  const { network_id, email } = person
  const bare =
    slug !== null ? [] : isMade(network_id) ? ['without slug', 'without profile'] : ['without slug']
  note('people', 'network_id', network_id)
  note('people', 'slug', slug)
  note('people', 'email', email, bare)
  note('people', 'company', at(company, name), email === undefined ? [...bare, 'without email'] : bare)
}

function namesCompany({ record }: PersonRow, { company_name }: Employer): boolean {
  const { company_name: there } = JSON.parse(record) as StoredPerson
  return company_name !== undefined && there !== undefined && foldName(there) === foldName(company_name)
}

interface NewRow {
  readonly key: number
  readonly company: number | null
  readonly slug: string | null
  readonly name: string
  readonly person: StoredPerson
}

const columnNames = ['company', 'network_id', 'slug', 'name', ...personColumns, 'record']
const insert = `INSERT INTO people (${columnNames.join(', ')}, key)
  VALUES (${columnNames.map(() => '?, ').join('')}?)`
const update = `UPDATE people SET ${columnNames.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
const replaceTexts = `INSERT OR REPLACE INTO people_text (${personTexts.join(', ')}, rowid)
  VALUES (${personTexts.map(() => '?, ').join('')}?)`

function writeRow(
  statements: Statements,
  { key, company, slug, name, person }: NewRow,
  existing: PersonRow | undefined,
  before: StoredPerson | undefined,
): void {
  const record = JSON.stringify(person)
  const values = [company, person.network_id, slug, name, ...personValues(person), record, key]
  statements.run(existing ? update : insert, ...values)
  const texts = textsOf(person)
  if (before && textsOf(before).every((text, at) => text === texts[at])) return
  statements.run(replaceTexts, ...texts, key)
}

function writePhones(
  statements: Statements,
  key: number,
  before: StoredPerson | undefined,
  { phones = [], messenger }: StoredPerson,
): void {
  for (const number of before?.phones ?? [])
    if (!phones.includes(number))
      statements.run('DELETE FROM phones WHERE number = ? AND person = ?', number, key)
  const reachable = messenger === undefined ? null : Number(messenger)
  for (const number of phones)
    statements.run(
      'INSERT INTO phones (number, person, messenger) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET messenger = excluded.messenger',
      number,
      key,
      reachable,
    )
}
