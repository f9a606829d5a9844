import { isDeepStrictEqual } from 'node:util'
import {
  boundInteger,
  boundText,
  type Connection,
  send,
  type Value,
} from '../../storage/driver/connection.js'
import { foldName } from '../normalize/name.js'
import { InvalidRecordError } from '../normalize/readers.js'
import { awaitResult, type Steps } from '../write/sync-steps.js'
import type { WriteContext, WriteResult } from '../write/write-context.js'
import { isGeneratedId, type NewPerson } from './new-person.js'
import type { PersonFields, StoredPerson } from './person.js'
import { type PersonRow, personRowColumns, toPersonRow, toPersonTexts, toRowValues } from './person-row.js'
import { createRowWriter } from './upsert.js'
import { type Employer, findOrCreateEmployer } from './write-employer.js'

/** Adds a person, or merges them into the stored one with the profile, else the email address, else name and company. */
export function* writePerson(context: WriteContext, incoming: NewPerson): Steps<WriteResult> {
  const employer = yield* findOrCreateEmployer(context, incoming.employer)
  const existing = yield* findSamePerson(context, incoming, employer)
  if (existing) return mergePerson(context, existing, incoming, employer ?? existing.company)
  addPerson(context, incoming, employer ?? null)
  return 'added'
}

const keyColumns = ['company', 'network_id', 'slug', 'email', 'personal_email', 'name'] as const
const personWriter = createRowWriter('people', ['company', ...personRowColumns], keyColumns)

function addPerson(context: WriteContext, incoming: NewPerson, company: number | null): void {
  const key = context.nextKey('people')
  const row = company === null ? toRowWithoutCompany(incoming) : incoming.row
  personWriter.add(context, key, [company, ...toRowValues(row)], row.texts)
  writePhones(context.connection, key, [], incoming)
  rememberPerson(context, company, row)
}

/** Returns the row of a new person whose company is not in the catalogue. */
function toRowWithoutCompany({ employer, slug, row }: NewPerson): PersonRow {
  if (employer.company_name === undefined) return row
  const person = JSON.parse(row.record) as StoredPerson
  return toPersonRow({ ...pickCompanyName(employer), ...person }, slug ?? null)
}

function mergePerson(
  context: WriteContext,
  existing: KnownPerson,
  incoming: NewPerson,
  company: number | null,
): WriteResult {
  const before = JSON.parse(existing.record) as StoredPerson
  const after = {
    ...withoutEmployer(before),
    ...(company === null ? pickCompanyName(incoming.employer, before) : {}),
    ...(JSON.parse(incoming.row.record) as StoredPerson),
    id: before.id,
    network_id: incoming.id ?? before.network_id,
  }
  if (after.first_name !== undefined && after.last_name !== undefined)
    after.full_name ??= `${after.first_name} ${after.last_name}`
  const row = toPersonRow(after, incoming.slug ?? existing.slug)
  const now = { ...row, company, personal_email: after.personal_email ?? null }
  const hasSameKeys = keyColumns.every((column) => now[column] === existing[column])
  const texts = toPersonTexts(before).some((text, at) => text !== row.texts[at]) ? row.texts : undefined
  personWriter.change(context, existing.key, [company, ...toRowValues(row)], hasSameKeys, texts)
  const { phones = [], messenger } = after
  writePhones(context.connection, existing.key, before.phones ?? [], { phones, messenger })
  rememberPerson(context, company, row)
  return hasSameKeys && isSameRecord(row.record, existing.record) ? 'unchanged' : 'updated'
}

/** Returns whether two records have equal fields, in any order. */
const isSameRecord = (one: string, other: string): boolean =>
  one === other || (one.length === other.length && isDeepStrictEqual(JSON.parse(one), JSON.parse(other)))

function withoutEmployer(person: StoredPerson): PersonFields {
  const { company_domain, company_network_url, company_network_id, company_name, ...own } = person
  return own
}

/** Returns the name of a company that is not in the catalogue. */
function pickCompanyName(employer: Employer, before?: Employer): Employer {
  const name = employer.company_name ?? before?.company_name
  return name === undefined ? {} : { company_name: name }
}

const deletePhone = 'DELETE FROM phones WHERE number = ? AND person = ?'
const upsertPhone = `INSERT INTO phones (number, person, messenger) VALUES (?, ?, ?)
  ON CONFLICT (number, person) DO UPDATE SET messenger = excluded.messenger`

function writePhones(
  connection: Connection,
  key: number,
  before: readonly string[],
  { phones, messenger }: Pick<NewPerson, 'phones' | 'messenger'>,
): void {
  for (const number of before) if (!phones.includes(number)) send(connection, deletePhone, number, key)
  const reachable = messenger === undefined ? null : Number(messenger)
  for (const number of phones) send(connection, upsertPhone, number, key, reachable)
}

/** A stored person. */
interface KnownPerson extends Pick<PersonRow, 'network_id' | 'slug' | 'email' | 'name' | 'record'> {
  readonly key: number
  readonly company: number | null
  readonly personal_email: string | null
}

const columns = 'SELECT key, company, network_id, slug, email, personal_email, name, record FROM people WHERE'

/**
 * Finds the stored person who is the same as a new one. A person found by a weaker identifier is someone else when they have a
 * different value for a stronger one.
 */
function* findSamePerson(
  { connection, mayExist }: WriteContext,
  incoming: NewPerson,
  company: number | undefined,
): Steps<KnownPerson | undefined> {
  const { id, slug, name, email, employer } = incoming
  const mayBe = (column: string, value: string | undefined, among?: string): value is string =>
    value !== undefined && mayExist('people', column, value, among)
  const all = (where: string, ...values: Value[]) =>
    awaitResult(connection.all<KnownPerson>(`${columns} ${where} ORDER BY key`, ...values))
  const byId = mayBe('network_id', id) ? (yield* all(`network_id = ${boundText}`, id))[0] : undefined
  const known = byId ?? (mayBe('slug', slug) ? (yield* all(`slug = ${boundText}`, slug))[0] : undefined)
  if (known) return known
  const open = toProfilePart(incoming)
  const mailed = mayBe('email', email, open) ? yield* all(`email = ${boundText}`, email) : []
  const owner = mailed.find((person) => !hasOtherProfile(person, incoming))
  if (owner || name === '') return owner
  const part = open ?? (email === undefined ? undefined : 'without email')
  if (!mayBe('company', toNameAtCompany(company, name), part)) return undefined
  const namesakes =
    company === undefined
      ? yield* all(`company IS NULL AND name = ${boundText}`, name)
      : yield* all(`company = ${boundInteger} AND name = ${boundText}`, company, name)
  const same = namesakes
    .filter((person) => !hasOtherProfile(person, incoming) && (email === undefined || person.email === null))
    .filter((person) => company !== undefined || isAtNamedCompany(person, employer))
  if (same.length > 1 && id === undefined && slug === undefined && email === undefined)
    throw new InvalidRecordError(
      'several people of this name are at this company: give a profile url or an email',
    )
  return same.length === 1 ? same[0] : undefined
}

/** Returns whether a person, who was not found by the given profile, has another one. */
function hasOtherProfile(person: KnownPerson, { id, slug }: NewPerson): boolean {
  if (id === undefined && slug === undefined) return false
  return person.slug !== null || (id !== undefined && !isGeneratedId(person.network_id))
}

/** Returns the part of the people for which `hasOtherProfile` is false; `undefined` when it is false for all. */
function toProfilePart({ id, slug }: NewPerson): 'without profile' | 'without slug' | undefined {
  if (id !== undefined) return 'without profile'
  return slug === undefined ? undefined : 'without slug'
}

const toNameAtCompany = (company: number | null | undefined, name: string): string =>
  `${company ?? ''} ${name}`

function isAtNamedCompany({ record }: KnownPerson, { company_name }: Employer): boolean {
  const { company_name: there } = JSON.parse(record) as StoredPerson
  return company_name !== undefined && there !== undefined && foldName(there) === foldName(company_name)
}

/** Remembers what a written person can be found by; the counterpart of `findSamePerson`. */
function rememberPerson({ remember }: WriteContext, company: number | null, row: PersonRow): void {
  const { network_id, slug, email, name } = row
  const open =
    slug !== null ? [] : isGeneratedId(network_id) ? ['without slug', 'without profile'] : ['without slug']
  remember('people', 'network_id', network_id)
  remember('people', 'slug', slug)
  remember('people', 'email', email, open)
  remember(
    'people',
    'company',
    toNameAtCompany(company, name),
    email === null ? [...open, 'without email'] : open,
  )
}
