import type { Connection, Value } from '../storage/driver.js'
import { type Employer, employerKey } from './employer.js'
import { foldName, foldText } from './name.js'
import { fullName, type PersonFields, type PreparedPerson, type StoredPerson } from './person.js'
import { personColumns, personTexts, personValues, textsOf } from './person-columns.js'
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
export async function writePerson(writing: Writing, prepared: PreparedPerson): Promise<Written> {
  const employer = await employerKey(writing, prepared.employer)
  const existing = await existingPerson(writing.connection, prepared, employer)
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
  const key = existing?.key ?? (await writing.nextKey('people'))
  const row = {
    key,
    company,
    slug: prepared.slug ?? existing?.slug ?? null,
    name: foldText(fullName(after)),
    person: after,
  }
  await writeRow(writing.connection, row, existing, before)
  await writePhones(writing.connection, key, before, after)
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
async function existingPerson(
  connection: Connection,
  prepared: PreparedPerson,
  company: number | undefined,
): Promise<PersonRow | undefined> {
  const { id, slug, name, employer } = prepared
  const { email } = prepared.fields
  const all = (where: string, ...values: Value[]) =>
    connection.all<PersonRow>(`${columns} ${where}`, ...values)
  const byId = id === undefined ? undefined : (await all('network_id = ?', id))[0]
  const known = byId ?? (slug === undefined ? undefined : (await all('slug = ?', slug))[0])
  if (known) return known
  const mailed = email === undefined ? [] : await all('email = ?', email)
  const owner = mailed.find((person) => !hasOtherProfile(person, prepared))
  if (owner || name === '') return owner
  const same = (await all('company IS ? AND name = ?', company ?? null, name))
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

async function writeRow(
  connection: Connection,
  { key, company, slug, name, person }: NewRow,
  existing: PersonRow | undefined,
  before: StoredPerson | undefined,
): Promise<void> {
  const record = JSON.stringify(person)
  const values = [company, person.network_id, slug, name, ...personValues(person), record, key]
  await connection.run(existing ? update : insert, ...values)
  const texts = textsOf(person)
  if (before && textsOf(before).every((text, at) => text === texts[at])) return
  await connection.run(replaceTexts, ...texts, key)
}

async function writePhones(
  connection: Connection,
  key: number,
  before: StoredPerson | undefined,
  { phones = [], messenger }: StoredPerson,
): Promise<void> {
  for (const number of before?.phones ?? [])
    if (!phones.includes(number))
      await connection.run('DELETE FROM phones WHERE number = ? AND person = ?', number, key)
  const reachable = messenger === undefined ? null : Number(messenger)
  for (const number of phones)
    await connection.run(
      'INSERT INTO phones (number, person, messenger) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET messenger = excluded.messenger',
      number,
      key,
      reachable,
    )
}
