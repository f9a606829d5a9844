import { placeOf, profileKey } from '../../identity/mentions.js'
import { foldName, foldText } from '../../identity/name.js'
import type { NamedPerson, PersonIdentifiers, PersonMatcher } from '../../identity/person-matcher.js'
import { type NetworkProfile, parseProfile } from '../../identity/profile.js'
import { toDomain } from '../../identity/value-kinds.js'
import type { Connection, Driver, Value } from '../../storage/driver/connection.js'
import {
  type DryRun,
  emptiedCount,
  eraseFromTables,
  type PersonalTable,
} from '../../storage/erasure/traversal.js'
import { dialectOf } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/keyword.js'
import type { StoredRecord } from '../kinds/kind.js'
import { type StoredJob, toJobRow } from '../records/jobs.js'
import { type CompanyKeys, type StoredAccount, toCompanyRow } from '../records/match-company.js'
import {
  type FoundPerson,
  type StoredPerson,
  selectPeople,
  toFullName,
  toPersonRow,
} from '../records/person.js'
import type { StoredPost } from '../records/posts.js'
import type { Statement } from '../records/sources.js'
import { isGeneratedId } from '../records/write-person.js'
import { primaryKeyOf } from '../schema/schema.js'

/** How many rows of the catalogue were erased; `mentions` are records of others that lost what they said of the person. */
export const noneErased = { people: 0, phones: 0, engagements: 0, posts: 0, mentions: 0 }

export async function eraseFromCatalogue(
  driver: Driver,
  identifiers: SubjectIdentifiers,
  subject: PersonMatcher,
  dryRun: DryRun,
): Promise<typeof noneErased> {
  const counts = await eraseFromTables(driver, catalogueTables(identifiers, subject), subject, dryRun)
  if (!dryRun) await dialectOf(driver).load.forgetDeletedRows(driver, personalTables)
  return { ...noneErased, ...counts }
}

/** The tables with personal data, for the statistics of a server. */
const personalTables = [
  'companies',
  'people',
  'phones',
  'jobs',
  'posts',
  'engagers',
  'sample_records',
  'company_statements',
  'erasures',
]

const catalogueTables = (
  { rows, slugs, ids }: SubjectIdentifiers,
  subject: PersonMatcher,
): PersonalTable[] => [
  emptiedTable('jobs', ['company', 'identity'], subject, ({ key, company, identity }, before, after) => {
    const row = toJobRow(key, company, after)
    // No other job may have the same one.
    const isSame = toJobRow(key, company, before).identity === row.identity
    return { ...row, identity: isSame ? identity : `forgotten ${key}` }
  }),
  emptiedTable(
    'companies',
    ['domain', 'network_id', 'slug', 'name', 'source'],
    subject,
    (row, before, after) => {
      const { domain, network_id, slug } = row
      const folded = after.name === undefined || after.name === null ? null : foldName(after.name)
      const name = before.name === after.name ? row.name : folded
      return toCompanyRow(after, { domain, network_id, slug, name }, row.source)
    },
  ),
  ownTable('engagers', 'engagements', 'profile', 'value', [...slugs, ...ids]),
  postTable(subject),
  ownTable('phones', 'phones', 'person', 'atom', rows),
  peopleTable(new Set(rows), subject),
  sampleTable(new Set(rows), subject),
  statementTable(subject),
]

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

interface EmptiedRows {
  jobs: { readonly record: StoredJob; readonly row: { readonly company: number; readonly identity: string } }
  companies: {
    readonly record: StoredAccount
    readonly row: CompanyKeys & { readonly source: number | null }
  }
  people: { readonly record: StoredPerson; readonly row: { readonly slug: string | null } }
}

/** A row as it is stored anew, with the texts that it is found by. */
interface NewRow {
  readonly key?: number
  readonly texts: readonly string[]
}

/** Records of others, which stay without what they say of the person. `toRow` returns the columns of what is left. */
function emptiedTable<T extends TextTable & keyof EmptiedRows>(
  table: T,
  columns: readonly string[],
  subject: PersonMatcher,
  toRow: (
    row: StoredRecord & EmptiedRows[T]['row'],
    before: EmptiedRows[T]['record'],
    after: EmptiedRows[T]['record'],
  ) => NewRow,
): PersonalTable<StoredRecord & EmptiedRows[T]['row']> {
  return {
    table,
    key: ['key'],
    columns: ['record', ...columns],
    erase(row) {
      const { key, record } = row
      // Most records are not worth to be read: these are many.
      if (!subject.mayMention(record) && !hasTeam.test(record)) return undefined
      const before = JSON.parse(record) as EmptiedRows[T]['record']
      const after = subject.without(before, undefined)
      if (after === before) return undefined
      const { texts, key: _, ...change } = toRow(row, before, after)
      return {
        change: change as Readonly<Record<string, Value>>,
        counts: emptiedCount,
        also: async (connection) =>
          dialectOf(connection).texts.replaceTexts(connection, table, { ...change, key, texts }),
      }
    },
  }
}

/** Somebody who hires may be there by name alone. */
const hasTeam = /"hiring_team":\[\{/

/** The person's own rows go; others are emptied of what they say of the person. */
function peopleTable(
  rows: ReadonlySet<number>,
  subject: PersonMatcher,
): PersonalTable<StoredRecord & { slug: string | null }> {
  const others = emptiedTable('people', ['slug'], subject, ({ slug }, _, after) => toPersonRow(after, slug))
  return {
    ...others,
    erase(row, ...more) {
      if (!rows.has(row.key)) return others.erase(row, ...more)
      return {
        change: 'delete',
        counts: { people: 1 },
        also: (connection) => dialectOf(connection).texts.deleteTexts(connection, 'people', [row.key]),
      }
    },
  }
}

/** A post of the person goes with its reactions; so does one whose URL names them. */
const postTable = (subject: PersonMatcher): PersonalTable<StoredRecord> => ({
  table: 'posts',
  key: ['key'],
  columns: ['record'],
  erase({ key, record }) {
    if (!subject.mayMention(record)) return undefined
    const post = JSON.parse(record) as StoredPost
    if ([post.post_url, post.author_profile_url].some((url) => subject.mentions(url)))
      return {
        change: 'delete',
        counts: { posts: 1 },
        also: async (connection) => {
          await connection.run('DELETE FROM engagers WHERE post = ?', key)
          await connection.run(`DELETE FROM sample_records WHERE kind = 'posts' AND key = ?`, key)
        },
      }
    const left = subject.without(post, undefined)
    return left === post ? undefined : { change: { record: JSON.stringify(left) }, counts: emptiedCount }
  },
})

/** What own data says of records of the sample, beside the records themselves. */
const sampleTable = (rows: ReadonlySet<number>, subject: PersonMatcher): PersonalTable => ({
  table: 'sample_records',
  key: ['kind', 'key'],
  columns: ['own'],
  erase({ kind, key, own }: { readonly kind: string; readonly key: number; readonly own: string | null }) {
    // The key may become that of somebody else.
    if (kind === 'people' && rows.has(key)) return { change: 'delete' }
    const said: unknown = own === null ? undefined : JSON.parse(own)
    const left = subject.without(said, undefined)
    return left === said ? undefined : { change: { own: JSON.stringify(left) } }
  },
})

/** What several say of a company, beside its record. */
const statementTable = (subject: PersonMatcher): PersonalTable => ({
  table: 'company_statements',
  key: ['company'],
  columns: ['said'],
  erase({ said }: { readonly said: string }) {
    if (!subject.mayMention(said)) return undefined
    const before = JSON.parse(said) as Statement[]
    const after = before.map(([source, fields]) => [source, subject.without(fields, undefined)] as const)
    const isLeft = after.every(([, fields], at) => fields === before[at]?.[1])
    return isLeft ? undefined : { change: { said: JSON.stringify(after) } }
  },
})

/** The person to erase: everybody with an email address, or with a profile. */
export type Subject = { readonly email: string } | { readonly profile: NetworkProfile }

export interface SubjectIdentifiers extends PersonIdentifiers {
  /** Keys of the person's rows in the catalogue. */
  readonly rows: readonly number[]
}

type FoundSubject = ReturnType<typeof toKnown>

/**
 * Returns what the catalogue knows of a person; for an unknown one, only what was given. An erasure that was killed has left
 * what it knew.
 */
export async function findIdentifiers(connection: Connection, subject: Subject): Promise<SubjectIdentifiers> {
  const known = (await findPeople(connection, subject)).map(toKnown)
  const rows = known.map(({ row }) => row.key)
  const own = (kind: keyof typeof holders, values: (one: FoundSubject) => readonly (string | undefined)[]) =>
    unshared(connection, holders[kind], known.flatMap(values), rows)
  const given = toIdentifiers(subject)
  const found: SubjectIdentifiers = {
    rows,
    emails: await own('email', ({ person }) => [person.email, person.personal_email]),
    slugs: await own('slug', ({ profiles }) => profiles.map(({ slug }) => slug)),
    phones: await own('phone', ({ person }) => person.phones ?? []),
    ids: known.flatMap(({ person, profiles }) => [person.id, ...distinct(...profiles.map(({ id }) => id))]),
    people: [],
  }
  const people: NamedPerson[] = []
  for (const one of known)
    if (!(await hasNamesake(connection, one.row.key, rows))) people.push(...toNamedPeople(one))
  const left = (await connection.all<{ person: string }>('SELECT person FROM erasures'))
    .map(({ person }) => JSON.parse(person) as SubjectIdentifiers)
    .filter((one) => [...given.emails, ...given.slugs, ...given.ids].some((value) => isOf(one, value)))
  return [{ ...found, people }, ...left].reduce(joinIdentifiers, given)
}

const isOf = ({ emails, slugs, ids }: SubjectIdentifiers, value: string): boolean =>
  [...emails, ...slugs, ...ids].includes(value)

export const joinIdentifiers = (one: SubjectIdentifiers, other: SubjectIdentifiers): SubjectIdentifiers => ({
  rows: [...new Set([...one.rows, ...other.rows])],
  emails: distinct(...one.emails, ...other.emails),
  slugs: distinct(...one.slugs, ...other.slugs),
  phones: distinct(...one.phones, ...other.phones),
  ids: distinct(...one.ids, ...other.ids),
  people: [...one.people, ...other.people],
})

/** Returns what was given of a person, for use without a catalogue. */
export function toIdentifiers(subject: Subject): SubjectIdentifiers {
  const profile = 'email' in subject ? undefined : subject.profile
  return {
    emails: 'email' in subject ? [subject.email] : [],
    slugs: distinct(profile?.slug),
    ids: distinct(profile?.id),
    rows: [],
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

/** Whether somebody else has the name of a person at the same company: it identifies neither. */
const hasNamesake = async (connection: Connection, key: number, keys: readonly number[]): Promise<boolean> =>
  (await connection.get(
    `SELECT 1 FROM people AS own JOIN people ON people.name = own.name AND people.company = own.company
      WHERE own.key = ? AND people.${otherPeople} LIMIT 1`,
    key,
    JSON.stringify(keys),
  )) !== undefined

function toNamedPeople({ row, person, profiles }: FoundSubject): readonly NamedPerson[] {
  const { company_name, company_domain } = row.company === null ? person : readEmployer(row.company)
  const past = (person.past_positions ?? []).map((position) => position.company_name)
  const employers = [company_name, ...past].filter((held) => typeof held === 'string').map(foldName)
  const domains = [person.email, person.personal_email].map((email) => email && toDomain(email))
  const places = [
    ...distinct(company_domain, ...domains).map((domain) => placeOf({ domain })),
    ...employers.map((name) => placeOf({ name })),
  ]
  // An id that was made here is nobody's on the network.
  const given = profiles.filter(({ id }) => id === undefined || !isGeneratedId(id))
  const { full_name: _, ...parts } = person
  const names = [toFullName(person), toFullName(parts)].map(foldText)
  return distinct(...names.filter((name) => name !== '')).map((name) => ({
    name,
    places: distinct(...places),
    profiles: distinct(...given.map(profileKey)),
  }))
}

function readEmployer(company: string): Pick<StoredPerson, 'company_name' | 'company_domain'> {
  const { name, domain } = JSON.parse(company) as StoredAccount
  return { company_name: name ?? undefined, company_domain: domain ?? undefined }
}
