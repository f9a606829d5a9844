import { companySizes } from '../api/ids.js'
import type { Account } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import type { StoredAccount } from './account.js'
import { domainOf } from './domain.js'
import { type Fields, readFields } from './fields.js'
import { type HeadcountEntry, readHistory, writeHistory } from './headcount.js'
import type { Given } from './kind.js'
import { type Candidate, companiesAt } from './match.js'
import { cleanedName, foldName } from './name.js'
import { type Profile, profileOf } from './profile.js'
import { readUses, type TechnologyUse, writeUses } from './technologies.js'
import { short, sizeNamed, Unreadable } from './values.js'
import type { Writing, Written } from './writing.js'

/** A company read from a file or the sample, ready to be written. */
export interface PreparedCompany {
  readonly account: Partial<Account>
  readonly profiles: readonly Profile[]
  readonly uses: readonly TechnologyUse[] | undefined
  readonly history: readonly HeadcountEntry[] | undefined
}

/** Reads a given company. Refuses one that nothing identifies: no domain, network id or profile url. */
export function prepareCompany(given: Given): PreparedCompany {
  const { technology_details, headcount_history, technologies, ...account } = readFields('companies', sized(given))
  const domain = account.domain ?? (account.website === undefined ? undefined : domainOf(account.website))
  const profiles = profilesOf(account)
  if (domain === undefined && profiles.length === 0)
    throw new Unreadable('a company needs a domain, a network_id or a network_url')
  const uses = readUses(technologies, technology_details)
  return {
    account: {
      ...(account as Partial<Account>),
      ...(domain === undefined ? {} : { domain }),
      ...(uses === undefined ? {} : { technologies: uses.map(({ slug }) => slug) }),
    },
    profiles,
    uses,
    history: headcount_history === undefined ? undefined : readHistory(headcount_history),
  }
}

/** Adds a company, or merges what is given over the one there is with its domain, else its profile. */
export async function writeCompany(writing: Writing, prepared: PreparedCompany): Promise<Written> {
  const existing = await existingCompany(writing.connection, prepared)
  const before = existing ? (JSON.parse(existing.record) as StoredAccount) : undefined
  const after = merged(before, prepared.account, writing.ids.uuid)
  const key = existing?.key ?? (await writing.nextKey('companies'))
  const record = JSON.stringify(after)
  if (record !== existing?.record) await writeRow(writing.connection, key, existing, prepared.profiles, after, record)
  if (prepared.uses) await writeUses(writing, key, before?.technologies ?? [], prepared.uses)
  if (prepared.history) await writeHistory(writing.connection, key, prepared.history)
  return existing ? 'updated' : 'added'
}

/** People count in ranges in many files: such a cell is a company size. */
function sized(given: Given): Given {
  const range = typeof given.headcount === 'string' ? sizeNamed(given.headcount) : undefined
  return range === undefined ? given : { ...given, headcount: undefined, employee_range: given.employee_range ?? range }
}

function profilesOf({ network_url, network_id }: Fields<'companies'>): Profile[] {
  const profiles: Profile[] = network_id === undefined ? [] : [{ kind: 'company', id: network_id }]
  if (network_url === undefined) return profiles
  const profile = profileOf(network_url)
  if (profile?.kind !== 'company')
    throw new Unreadable(`network_url: '${short(network_url)}' is not the profile url of a company`)
  return profiles.some(({ id }) => id === profile.id) ? profiles : [...profiles, profile]
}

async function existingCompany(
  connection: Connection,
  { account, profiles }: PreparedCompany,
): Promise<Candidate | undefined> {
  if (account.domain) {
    const company = await connection.get<Candidate>('SELECT * FROM companies WHERE domain = ?', account.domain)
    if (company) return company
  }
  for (const profile of profiles) {
    const there = await companiesAt(connection, profile)
    const candidates = account.domain ? there.filter(({ domain }) => domain === null) : there
    if (candidates.length > 1) throw new Unreadable('several companies have this profile: give the domain of the one meant')
    if (candidates[0]) return candidates[0]
  }
  return undefined
}

function merged(before: StoredAccount | undefined, given: Partial<Account>, uuid: () => string): StoredAccount {
  const { id = before?.id ?? uuid() } = given
  const derived: Partial<Account> = {}
  if (given.name && given.cleaned_name === undefined) derived.cleaned_name = cleanedName(given.name)
  if (given.headcount != null && given.employee_range === undefined) derived.employee_range = sizeOf(given.headcount)
  return { ...before, ...derived, ...given, id: before?.id ?? id }
}

function sizeOf(headcount: number): (typeof companySizes)[number] {
  const tops = [0, 10, 50, 200, 500, 1_000, 5_000, 10_000]
  const at = tops.findIndex((top) => headcount <= top)
  return companySizes[at < 0 ? companySizes.length - 1 : Math.max(at, 1)] ?? '10001+'
}

const insert = `INSERT INTO companies
  (domain, network_id, slug, name, country, industry, size, headcount, record, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const update = `UPDATE companies SET
  domain = ?, network_id = ?, slug = ?, name = ?, country = ?, industry = ?, size = ?, headcount = ?, record = ? WHERE key = ?`

async function writeRow(
  connection: Connection,
  key: number,
  existing: Candidate | undefined,
  profiles: readonly Profile[],
  account: StoredAccount,
  record: string,
): Promise<void> {
  const id = profiles.find((profile) => profile.id !== undefined)?.id ?? existing?.network_id ?? null
  const slug = profiles.find((profile) => profile.slug !== undefined)?.slug ?? existing?.slug ?? null
  const size = account.employee_range ? companySizes.indexOf(account.employee_range) : null
  await connection.run(
    existing ? update : insert,
    account.domain ?? null,
    id,
    slug,
    account.name ? foldName(account.name) : null,
    account.country ?? null,
    account.industry_id ?? null,
    size,
    account.headcount ?? null,
    record,
    key,
  )
  const words = wordsOf(account)
  if (existing && sameWords(words, wordsOf(JSON.parse(existing.record) as StoredAccount))) return
  await connection.run('INSERT OR REPLACE INTO companies_text (rowid, name, about) VALUES (?, ?, ?)', key, ...words)
}

/** What keyword searches look through. */
const wordsOf = (account: StoredAccount): [name: string, about: string] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]

const sameWords = (a: readonly string[], b: readonly string[]): boolean => a.every((text, at) => text === b[at])
