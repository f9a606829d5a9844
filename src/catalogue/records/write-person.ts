import { isDeepStrictEqual } from 'node:util'
import type { Refusal } from '../../api/calls/errors.js'
import type { Ids } from '../../api/ports/ports.js'
import type { Fields } from '../../api/values/objects.js'
import { foldName } from '../../identity/name.js'
import { invalid, isInvalid } from '../../identity/readers.js'
import { type Connection, send } from '../../storage/driver/connection.js'
import {
  type Candidate,
  Candidates,
  decideEach,
  hasSameValues,
  type ImportContext,
  lookUp,
  type Outcome,
  type TextChange,
  writeRows,
} from '../write/import-context.js'
import {
  type NewPerson,
  type PersonFields,
  type PersonRow,
  type StoredPerson,
  toPersonRow,
  toPersonTexts,
} from './person.js'
import { type Employer, importEmployers } from './write-company.js'

/** The row of a person at a company; null where the company is not in the catalogue. */
type PersonAtCompany = PersonRow & Candidate & { readonly company: number | null }

type KnownPerson = Pick<PersonAtCompany, 'key' | 'record' | (typeof keyColumns)[number]>

const keyColumns = ['company', 'network_id', 'slug', 'email', 'personal_email', 'name'] as const
const personTable = { name: 'people', columns: ['key', ...keyColumns, 'record'] } as const

interface PersonChange extends TextChange<PersonAtCompany, KnownPerson> {
  readonly earlierPhones: readonly string[]
  readonly phones: readonly string[]
  readonly messenger: boolean | undefined
}

/** Adds people, or merges them into the stored ones with the profile, else the email address, else name and company. */
export async function importPeople(context: ImportContext, people: readonly NewPerson[]): Promise<Outcome[]> {
  const employers = await importEmployers(context, people)
  const known = await readPeople(context, people, employers)
  const changes: PersonChange[] = []
  const outcomes = decideEach(people, (person, index) => {
    const employer = employers[index]
    if (isInvalid(employer)) throw employer
    const before = findSamePerson(known, person, employer)
    const change = before
      ? mergePerson(before, person, employer ?? before.company)
      : addPerson(context.nextKey('people'), person, employer ?? null)
    changes.push(change)
    known.set(change.row)
    return toOutcome(change)
  })
  await context.target.keep(personTable, changes, writePeople)
  return outcomes
}

/** Reads the stored people that some may be the same as: by profile, and those that this does not find by the rest. */
async function readPeople(
  context: ImportContext,
  people: readonly NewPerson[],
  employers: readonly (number | undefined | Refusal)[],
): Promise<Candidates<KnownPerson>> {
  const ids = people.map(({ id }) => id)
  const slugs = people.map(({ slug }) => slug)
  const byProfile = [lookUp('people', 'network_id', ids), lookUp('people', 'slug', slugs)]
  const rows = await context.target.readRows<KnownPerson>(personTable, byProfile)
  const known = new Candidates(rows)
  const emails: string[] = []
  const names: string[] = []
  const namesAtCompanies: [company: number, name: string][] = []
  for (const [index, person] of people.entries()) {
    if (findByProfile(known, person)) continue
    const { email, name } = person
    const company = employers[index]
    if (email !== undefined) emails.push(email)
    if (name === '' || isInvalid(company)) continue
    if (company === undefined) names.push(name)
    else namesAtCompanies.push([company, name])
  }
  known.add(
    await context.target.readRows<KnownPerson>(personTable, [
      lookUp('people', 'email', emails),
      [`${lookUp('people', 'name', [])[0]} AND company IS NULL`, names],
      [namesakes, namesAtCompanies],
    ]),
  )
  return known
}

const findByProfile = (known: Candidates<KnownPerson>, { id, slug }: NewPerson): KnownPerson | undefined =>
  (id === undefined ? undefined : known.find('network_id', id)[0]) ??
  (slug === undefined ? undefined : known.find('slug', slug)[0])

const namesakes = `SELECT people.key FROM json_each(?) CROSS JOIN people
  ON people.company = CAST(json_each.value ->> 0 AS BIGINT) AND people.name = json_each.value ->> 1`

/** Finds the stored person who is the same. One found by a weaker identifier is another if a stronger one differs. */
function findSamePerson(known: Candidates<KnownPerson>, incoming: NewPerson, company: number | undefined) {
  const { id, slug, name, email } = incoming
  const { company_name: named } = incoming.employer
  const byProfile = findByProfile(known, incoming)
  if (byProfile) return byProfile
  const mailed = email === undefined ? [] : known.find('email', email)
  const owner = mailed.find((person) => !hasOtherProfile(person, incoming))
  if (owner || name === '') return owner
  const same = known
    .find('name', name)
    .filter((person) => person.company === (company ?? null))
    .filter((person) => !hasOtherProfile(person, incoming) && (email === undefined || person.email === null))
    .filter(
      (person) => company !== undefined || (named !== undefined && isAtNamedCompany(person, foldName(named))),
    )
  if (same.length > 1 && id === undefined && slug === undefined && email === undefined)
    throw invalid('several people of this name are at this company: give a profile url or an email')
  return same.length === 1 ? same[0] : undefined
}

/** Returns whether a person, who was not found by the given profile, has another one. */
function hasOtherProfile(person: KnownPerson, { id, slug }: NewPerson): boolean {
  if (id === undefined && slug === undefined) return false
  return person.slug !== null || (id !== undefined && !isGeneratedId(person.network_id))
}

/** Returns whether a person's company, which is not in the catalogue, has a folded name. */
export function isAtNamedCompany({ record }: Pick<KnownPerson, 'record'>, company: string): boolean {
  const { company_name } = JSON.parse(record) as StoredPerson
  return company_name !== undefined && foldName(company_name) === company
}

export function addPerson(key: number, incoming: NewPerson, company: number | null): PersonChange {
  const row = company === null ? toRowWithoutCompany(incoming) : incoming.row
  return {
    said: () => toSaid(incoming),
    // A copy would take as long as everything else here.
    row: Object.assign(row, { key, company }),
    before: undefined,
    hasNewTexts: true,
    earlierPhones: [],
    phones: incoming.phones,
    messenger: incoming.messenger,
  }
}

function toRowWithoutCompany({ employer, slug, row }: NewPerson): PersonRow {
  if (employer.company_name === undefined) return row
  const person = JSON.parse(row.record) as StoredPerson
  return toPersonRow({ ...pickCompanyName(employer), ...person }, slug ?? null)
}

function mergePerson(before: KnownPerson, incoming: NewPerson, company: number | null): PersonChange {
  const stored = JSON.parse(before.record) as StoredPerson
  const person = {
    ...withoutEmployer(stored),
    ...(company === null ? pickCompanyName(incoming.employer, stored) : {}),
    ...(JSON.parse(incoming.row.record) as StoredPerson),
    id: stored.id,
    network_id: incoming.id ?? stored.network_id,
  }
  if (person.first_name !== undefined && person.last_name !== undefined)
    person.full_name ??= `${person.first_name} ${person.last_name}`
  const row = toPersonRow(person, incoming.slug ?? before.slug)
  return {
    said: () => toSaid(incoming),
    row: Object.assign(row, { key: before.key, company }),
    before,
    hasNewTexts: toPersonTexts(stored).some((text, index) => text !== row.texts[index]),
    earlierPhones: stored.phones ?? [],
    phones: person.phones ?? [],
    messenger: person.messenger,
  }
}

/** Returns what an imported person says, without ids that they may have been given. */
function toSaid({ id, row, employer }: NewPerson): Fields {
  const { id: _, network_id: __, ...person } = JSON.parse(row.record) as StoredPerson
  return { ...person, ...(id !== undefined && { network_id: id }), ...employer }
}

function withoutEmployer(person: StoredPerson): PersonFields {
  const { company_domain, company_network_url, company_network_id, company_name, ...own } = person
  return own
}

function pickCompanyName(employer: Employer, before?: Employer): Employer {
  const name = employer.company_name ?? before?.company_name
  return name === undefined ? {} : { company_name: name }
}

function toOutcome({ row, before }: PersonChange): Outcome {
  if (!before) return 'added'
  const isSame = hasSameValues(row, before, keyColumns) && isSameRecord(row.record, before.record)
  return isSame ? 'unchanged' : 'updated'
}

/** Returns whether two records have equal fields, in any order. */
const isSameRecord = (one: string, other: string): boolean =>
  one === other || (one.length === other.length && isDeepStrictEqual(JSON.parse(one), JSON.parse(other)))

const deletePhone = 'DELETE FROM phones WHERE number = ? AND person = ?'
const upsertPhone = `INSERT INTO phones (number, person, messenger) VALUES (?, ?, ?)
  ON CONFLICT (number, person) DO UPDATE SET messenger = excluded.messenger`

export async function writePeople(connection: Connection, changes: readonly PersonChange[]): Promise<void> {
  writeRows(connection, 'people', changes, keyColumns)
  for (const { row, earlierPhones, phones, messenger } of changes) {
    for (const number of earlierPhones)
      if (!phones.includes(number)) send(connection, deletePhone, number, row.key)
    const reachable = messenger === undefined ? null : Number(messenger)
    for (const number of phones) send(connection, upsertPhone, number, row.key, reachable)
  }
}

/** Creates a generator of consecutive ids: with random ones, each transaction would rewrite most pages of the index. */
export function createIdGenerator(ids: Pick<Ids, 'bytes'>): () => string {
  const own = ids.bytes(14)
  const bytes = Buffer.alloc(18)
  bytes.set(own.subarray(0, 8))
  bytes.set(own.subarray(8), 12)
  let count = 0
  return () => {
    bytes.writeUInt32BE(count, 8)
    count += 1
    return `ACoAA${bytes.toString('base64url')}`
  }
}

/** Returns whether an id was generated; the network's ids are longer. */
export const isGeneratedId = (id: string): boolean => /^ACoAA[\w-]{24}$/.test(id)
