import { identityIn } from '../../identity/keys.js'
import { foldName, foldText } from '../../identity/name.js'
import { type NetworkProfile, parseProfile } from '../../identity/profile.js'
import { toDomain } from '../../identity/value-kinds.js'
import type { Connection, Driver, Value } from '../../storage/driver/connection.js'
import {
  type DryRun,
  eraseFromTables,
  type PersonalTable,
  type SubjectMatcher,
} from '../../storage/erasure/traversal.js'
import { dialectOf } from '../dialect/dialects.js'
import { createTokenizer, type TextTable } from '../full-text/keyword.js'
import type { StoredRecord } from '../kinds/kind.js'
import { toJobTexts } from '../records/jobs.js'
import { type StoredAccount, toCompanyTexts } from '../records/match-company.js'
import { type FoundPerson, type StoredPerson, selectPeople, toFullName } from '../records/person.js'
import type { StoredPost } from '../records/posts.js'
import { isGeneratedId } from '../records/write-person.js'
import { primaryKeyOf } from '../schema/schema.js'

/** How many rows of the catalogue were erased, or lost a mention of the person. */
export const noneErased = { people: 0, phones: 0, engagements: 0, posts: 0, jobs: 0, companies: 0 }

export async function eraseFromCatalogue(
  driver: Driver,
  identifiers: SubjectIdentifiers,
  subject: SubjectMatcher,
  dryRun: DryRun,
): Promise<typeof noneErased> {
  const tables = catalogueTables(identifiers, subject)
  const counts = await eraseFromTables(driver, tables, subject, dryRun)
  if (!dryRun) {
    const names = ['companies', ...tables.map(({ table }) => table)]
    await dialectOf(driver).load.forgetDeletedRows(driver, [...new Set(names)])
  }
  return { ...noneErased, ...counts }
}

/** The tables with personal data. People come last: only their records tell what else is theirs after an interruption. */
function catalogueTables({ keys, slugs, ids }: SubjectIdentifiers, subject: SubjectMatcher): PersonalTable[] {
  return [
    redactedTable('jobs', subject, toJobTexts),
    postTable(subject),
    redactedTable('companies', subject, toCompanyTexts),
    ownTable('engagers', 'engagements', 'profile', 'value', [...slugs, ...ids]),
    ownTable('phones', 'phones', 'person', 'atom', keys),
    {
      ...ownTable('people', 'people', 'key', 'atom', keys),
      erase: ({ key }: { readonly key: number }) => ({
        change: 'delete',
        also: (connection: Connection) =>
          dialectOf(connection).texts.deleteTexts(connection, 'people', [key]),
      }),
    },
  ]
}

/** A table whose rows are deleted where a column has one of some values: texts (`value`) or integers (`atom`). */
const ownTable = (
  table: string,
  counted: string,
  column: string,
  type: 'value' | 'atom',
  values: readonly (string | number)[],
): PersonalTable => ({
  table,
  counted,
  key: primaryKeyOf(table),
  columns: [],
  where: () => [`${column} IN (SELECT ${type} FROM json_each(?))`, JSON.stringify(values)],
  erase: () => ({ change: 'delete' }),
})

/** Records of others that mention the person: they stay, without the mention. */
function redactedTable<T>(
  table: TextTable,
  subject: SubjectMatcher,
  textsOf: (record: T) => readonly string[],
): PersonalTable<StoredRecord> {
  const tokenize = createTokenizer()
  return {
    table,
    counted: table,
    key: ['key'],
    columns: ['record'],
    erase({ key, record }) {
      const before = JSON.parse(record) as T
      const after = subject.redact(before)
      if (after === before) return undefined
      return {
        change: { record: JSON.stringify(after) },
        also: async (connection) =>
          dialectOf(connection).texts.replaceTexts({ connection, tokenize }, table, key, textsOf(after)),
      }
    },
  }
}

/** A post of the person loses its author and its text; one whose url names them goes with its engagers. */
const postTable = (subject: SubjectMatcher): PersonalTable<StoredRecord> => ({
  table: 'posts',
  counted: 'posts',
  key: ['key'],
  columns: ['record'],
  erase({ key, record }) {
    const post = JSON.parse(record) as StoredPost
    if (!subject.mentions(post)) return undefined
    if (subject.mentions(post.post_url))
      return {
        change: 'delete',
        also: async (connection) => connection.run('DELETE FROM engagers WHERE post = ?', key),
      }
    const { author_profile_url, text, ...other } = post
    if (!subject.mentions(author_profile_url))
      return { change: { record: JSON.stringify(subject.redact(post)) } }
    return { change: { record: JSON.stringify(subject.redact(other)), author: null } }
  },
})

/** The person to erase: everybody with an email address (in lower case), or with a profile. */
export type Subject = { readonly email: string } | { readonly profile: NetworkProfile }

/** A person of the catalogue, as recognised in a record without address or profile. */
export type NamedPerson = NonNullable<ReturnType<typeof toNamedPerson>>

/** What a person is recognised by. Addresses and slugs are in lower case, phones in E.164. */
export interface SubjectIdentifiers {
  /** Keys of the person in the catalogue. */
  readonly keys: readonly number[]
  readonly emails: readonly string[]
  readonly phones: readonly string[]
  readonly slugs: readonly string[]
  /** On the network, and in the catalogue. */
  readonly ids: readonly string[]
  readonly people: readonly NamedPerson[]
}

type FoundSubject = ReturnType<typeof toKnown>

/** Returns what the catalogue knows of a person; for an unknown one, only what was given. */
export async function findIdentifiers(connection: Connection, subject: Subject): Promise<SubjectIdentifiers> {
  const known = (await findPeople(connection, subject)).map(toKnown)
  const keys = known.map(({ row }) => row.key)
  const own = (kind: keyof typeof holders, values: (one: FoundSubject) => readonly (string | undefined)[]) =>
    unshared(connection, holders[kind], known.flatMap(values), keys)
  const given = toIdentifiers(subject)
  const emails = await own('email', ({ person }) => [person.email, person.personal_email])
  const slugs = await own('slug', ({ profiles }) => profiles.map(({ slug }) => slug))
  const phones = await own('phone', ({ person }) => person.phones ?? [])
  const ids = known.flatMap(({ person, profiles }) => [person.id, ...profiles.map(({ id }) => id)])
  return {
    keys,
    phones,
    emails: distinct(...given.emails, ...emails),
    slugs: distinct(...given.slugs, ...slugs),
    ids: distinct(...given.ids, ...ids),
    people: known.map(toNamedPerson).filter((person) => person !== undefined),
  }
}

/** Returns what was given of a person, for use without a catalogue. */
export function toIdentifiers(subject: Subject): SubjectIdentifiers {
  const profile = 'email' in subject ? undefined : subject.profile
  return {
    emails: 'email' in subject ? [subject.email] : [],
    slugs: distinct(profile?.slug),
    ids: distinct(profile?.id),
    keys: [],
    phones: [],
    people: [],
  }
}

/** Returns words in lower case, one of which is in every file that holds an identifier. */
export const searchWords = ({ emails, phones, slugs, ids }: SubjectIdentifiers): string[] => [
  ...emails,
  ...phones,
  ...slugs.map((slug) => `/in/${slug}`),
  ...ids.map((id) => id.toLowerCase()),
]

async function findPeople(connection: Connection, subject: Subject): Promise<FoundPerson[]> {
  const all = async (where: string, ...values: Value[]) =>
    connection.all<FoundPerson>(`${selectPeople} ${where}`, ...values)
  if ('email' in subject)
    return all('people.email = ? OR people.personal_email = ?', subject.email, subject.email)
  const { id, slug } = subject.profile
  return id === undefined ? all('people.slug = ?', slug ?? null) : all('people.network_id = ?', id)
}

function toKnown(row: FoundPerson) {
  const person = JSON.parse(row.record) as StoredPerson
  const urls = [person.network_profile_url, person.premium_profile_url]
  const stored: NetworkProfile[] = [{ kind: 'person', id: row.network_id }]
  if (row.slug !== null) stored.push({ kind: 'person', slug: row.slug })
  return { row, person, profiles: [...stored, ...urls.flatMap((url) => (url && parseProfile(url)) || [])] }
}

const distinct = (...values: readonly (string | undefined)[]): string[] => [
  ...new Set(values.filter((value) => value !== undefined)),
]

const otherPeople = 'key NOT IN (SELECT atom FROM json_each(?))'
/** Queries for other people with a value; their values are the value and the keys of the person. */
const holders = {
  email: [
    `SELECT 1 FROM people WHERE email = ? AND ${otherPeople}`,
    `SELECT 1 FROM people WHERE personal_email = ? AND ${otherPeople}`,
  ],
  slug: [`SELECT 1 FROM people WHERE slug = ? AND ${otherPeople}`],
  phone: ['SELECT 1 FROM phones WHERE number = ? AND person NOT IN (SELECT atom FROM json_each(?))'],
} as const

/** Returns the values that no other record has: a shared one identifies neither person. */
async function unshared(
  connection: Connection,
  questions: readonly string[],
  values: readonly (string | undefined)[],
  keys: readonly number[],
): Promise<string[]> {
  const own: string[] = []
  for (const value of distinct(...values)) {
    const answers: unknown[] = []
    for (const sql of questions)
      answers.push(await connection.get(`${sql} LIMIT 1`, value, JSON.stringify(keys)))
    if (questions === holders.phone) answers.push(await companyWith(connection, value))
    if (answers.every((answer) => answer === undefined)) own.push(value)
  }
  return own
}

const keysAtOnce = 50_000

/** Returns a company with a phone number. No index has it, so each statement reads a range, and none lasts too long. */
async function companyWith(connection: Connection, phone: string): Promise<unknown> {
  const sql = `SELECT 1 FROM companies WHERE json_extract(record, '$.phone') = ?`
  const last = (await connection.get<{ key: number | null }>('SELECT max(key) AS key FROM companies'))?.key
  for (let from = 0; from < (last ?? 0); from += keysAtOnce) {
    const some = `${sql} AND instr(record, ?) > 0 AND key > ? AND key <= ? LIMIT 1`
    const found = await connection.get(some, phone, phone, from, from + keysAtOnce)
    if (found !== undefined) return found
  }
  return undefined
}

function toNamedPerson({ row, person, profiles }: FoundSubject) {
  const full = toFullName(person)
  const name = foldText(full)
  if (name === '') return undefined
  const { company_name, company_domain } = row.company === null ? person : readEmployer(row.company)
  const past = (person.past_positions ?? []).map((position) => position.company_name)
  const names = [company_name, ...past].filter((held) => typeof held === 'string').map(foldName)
  const domains = [person.email, person.personal_email].map((email) => email && toDomain(email))
  const lookups = [{ company_domain }, { company_name }].map((at) =>
    identityIn('person', { full_name: full, ...at }),
  )
  return {
    /** Folded full name. */
    name,
    written: distinct(full, [person.first_name, person.last_name].filter(Boolean).join(' ') || undefined),
    /** Where they work or worked: registrable domains and folded company names. */
    companies: new Set([...names, ...distinct(company_domain, ...domains)]),
    /** Identities of lookups by name and company. */
    identities: distinct(...lookups),
    slugs: distinct(...profiles.map(({ slug }) => slug)),
    /** Those that the network gave. */
    ids: distinct(...profiles.map(({ id }) => (id !== undefined && isGeneratedId(id) ? undefined : id))),
  }
}

function readEmployer(company: string): Pick<StoredPerson, 'company_name' | 'company_domain'> {
  const { name, domain } = JSON.parse(company) as StoredAccount
  return { company_name: name ?? undefined, company_domain: domain ?? undefined }
}
