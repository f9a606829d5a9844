import type { Connection, Value } from '../../storage/driver/connection.js'
import { toDomain } from '../normalize/domain.js'
import { foldName, foldText } from '../normalize/name.js'
import { type Profile, parseProfile } from '../normalize/profile.js'
import { toPersonIdentity } from '../normalize/row-identity.js'
import type { StoredAccount } from '../records/company-row.js'
import { isMade } from '../records/new-person.js'
import { fullName, type StoredPerson } from '../records/person.js'
import type { FoundPerson } from '../records/person-record.js'

/** Who is meant: everybody with an e-mail address (in lower case), or with a profile. */
export type Meant = { readonly email: string } | { readonly profile: Profile }

/** Somebody of the catalogue, by what a record without address or profile can tell of them. */
export interface Named {
  /** Folded full name. */
  readonly name: string
  /** Their name as it may be written. */
  readonly written: readonly string[]
  /** Where they work or worked: registrable domains, and folded names of companies. */
  readonly companies: ReadonlySet<string>
  /** How lookups by name and company are told apart. */
  readonly identities: readonly string[]
  readonly slugs: readonly string[]
  /** Those that the network gave. */
  readonly ids: readonly string[]
}

/** What tells of somebody. Addresses and names in urls are in lower case, phones in E.164. */
export interface Traces {
  /** Keys of the people of the catalogue who are meant. */
  readonly keys: readonly number[]
  readonly emails: readonly string[]
  readonly phones: readonly string[]
  readonly slugs: readonly string[]
  /** On the network, and in the catalogue. */
  readonly ids: readonly string[]
  readonly people: readonly Named[]
}

/** A person as stored, with what is known of how they are reached. */
interface Known {
  readonly row: FoundPerson
  readonly person: StoredPerson
  readonly profiles: readonly Profile[]
}

/** What the catalogue knows of those who are meant; of somebody it does not know, what was given alone. */
export async function tracesOf(connection: Connection, meant: Meant): Promise<Traces> {
  const known = (await peopleMeant(connection, meant)).map(knownOf)
  const keys = known.map(({ row }) => row.key)
  const own = (kind: keyof typeof holders, values: (one: Known) => readonly (string | undefined)[]) =>
    unshared(connection, holders[kind], known.flatMap(values), keys)
  const given = tracesGiven(meant)
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
    people: known.flatMap(named),
  }
}

/** What was given of somebody, where there is no catalogue to ask. */
export function tracesGiven(meant: Meant): Traces {
  const profile = 'email' in meant ? undefined : meant.profile
  return {
    emails: 'email' in meant ? [meant.email] : [],
    slugs: distinct(profile?.slug),
    ids: distinct(profile?.id),
    ...{ keys: [], phones: [], people: [] },
  }
}

/** Words in lower case that are found wherever what tells of somebody is written out. */
export const wordsOf = ({ emails, phones, slugs, ids }: Traces): string[] => [
  ...[...emails, ...phones],
  ...slugs.map((slug) => `/in/${slug}`),
  ...ids.map((id) => id.toLowerCase()),
]

const select = `SELECT people.key, people.network_id, people.slug, people.record, companies.record AS company
  FROM people LEFT JOIN companies ON companies.key = people.company WHERE`

async function peopleMeant(connection: Connection, meant: Meant): Promise<FoundPerson[]> {
  const all = async (where: string, ...values: Value[]) =>
    connection.all<FoundPerson>(`${select} ${where}`, ...values)
  if ('email' in meant) return all('people.email = ? OR people.personal_email = ?', meant.email, meant.email)
  const { id, slug } = meant.profile
  return id === undefined ? all('people.slug = ?', slug ?? null) : all('people.network_id = ?', id)
}

function knownOf(row: FoundPerson): Known {
  const person = JSON.parse(row.record) as StoredPerson
  const urls = [person.network_profile_url, person.premium_profile_url]
  const stored: Profile[] = [{ kind: 'person', id: row.network_id }]
  if (row.slug !== null) stored.push({ kind: 'person', slug: row.slug })
  return { row, person, profiles: [...stored, ...urls.flatMap((url) => (url && parseProfile(url)) || [])] }
}

const distinct = (...values: readonly (string | undefined)[]): string[] => [
  ...new Set(values.filter((value) => value !== undefined)),
]

const otherPeople = 'key NOT IN (SELECT atom FROM json_each(?))'
/** Who else has something: questions with a value and the keys of those who are meant. */
const holders = {
  email: [
    `SELECT 1 FROM people WHERE email = ? AND ${otherPeople}`,
    `SELECT 1 FROM people WHERE personal_email = ? AND ${otherPeople}`,
  ],
  slug: [`SELECT 1 FROM people WHERE slug = ? AND ${otherPeople}`],
  phone: ['SELECT 1 FROM phones WHERE number = ? AND person NOT IN (SELECT atom FROM json_each(?))'],
} as const

/** Those of the values that nobody else has: one that somebody shares tells of neither. */
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

/**
 * A company with a phone number, if there is one. No index knows it: a server reads so many companies by a statement that none
 * lasts too long, and takes apart only those records in which the number stands.
 */
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

/** Somebody by name; nobody where there is none. */
function named({ row, person, profiles }: Known): Named[] {
  const full = fullName(person)
  const name = foldText(full)
  if (name === '') return []
  const { company_name, company_domain } = row.company === null ? person : employerOf(row.company)
  const past = (person.past_positions ?? []).map((position) => position.company_name)
  const names = [company_name, ...past].filter((held) => typeof held === 'string').map(foldName)
  const domains = [person.email, person.personal_email].map((email) => email && toDomain(email))
  const lookups = [{ company_domain }, { company_name }].map((at) =>
    toPersonIdentity({ full_name: full, ...at }),
  )
  return [
    {
      name,
      written: distinct(full, [person.first_name, person.last_name].filter(Boolean).join(' ') || undefined),
      companies: new Set([...names, ...distinct(company_domain, ...domains)]),
      identities: distinct(...lookups),
      slugs: distinct(...profiles.map(({ slug }) => slug)),
      ids: distinct(...profiles.map(({ id }) => (id !== undefined && isMade(id) ? undefined : id))),
    },
  ]
}

function employerOf(company: string): Pick<StoredPerson, 'company_name' | 'company_domain'> {
  const { name, domain } = JSON.parse(company) as StoredAccount
  return { company_name: name ?? undefined, company_domain: domain ?? undefined }
}
