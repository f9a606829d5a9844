import { companySizes } from '../api/ids.js'
import type { Account } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import type { StoredAccount } from './account.js'
import type { PreparedCompany } from './company.js'
import { writeHistory } from './headcount.js'
import { type Candidate, companiesAt } from './match.js'
import { cleanedName, foldName } from './name.js'
import type { Profile } from './profile.js'
import { writeUses } from './technologies.js'
import { Unreadable } from './values.js'
import type { Writing, Written } from './writing.js'

/** Adds a company, or merges what is given over the one there is with its domain, else its profile. */
export async function writeCompany(
  writing: Writing,
  prepared: PreparedCompany,
): Promise<{ readonly key: number; readonly written: Written }> {
  const existing = await existingCompany(writing.connection, prepared)
  const before = existing ? (JSON.parse(existing.record) as StoredAccount) : undefined
  const after = merged(before, prepared.account, writing.ids.uuid)
  const key = existing?.key ?? (await writing.nextKey('companies'))
  const record = JSON.stringify(after)
  if (record !== existing?.record)
    await writeRow(writing.connection, key, existing, prepared.profiles, after, record)
  if (prepared.uses) await writeUses(writing, key, before?.technologies ?? [], prepared.uses)
  if (prepared.history) await writeHistory(writing.connection, key, prepared.history)
  return { key, written: existing ? 'updated' : 'added' }
}

/** The company that a given one is: the one with its domain, else the one with its profile and no other domain. */
export async function existingCompany(
  connection: Connection,
  { account, profiles }: PreparedCompany,
): Promise<Candidate | undefined> {
  if (account.domain) {
    const company = await connection.get<Candidate>(
      'SELECT * FROM companies WHERE domain = ?',
      account.domain,
    )
    if (company) return company
  }
  for (const profile of profiles) {
    const there = await companiesAt(connection, profile)
    const candidates = account.domain ? there.filter(({ domain }) => domain === null) : there
    if (candidates.length > 1)
      throw new Unreadable('several companies have this profile: give the domain of the one meant')
    if (candidates[0]) return candidates[0]
  }
  return undefined
}

function merged(
  before: StoredAccount | undefined,
  given: Partial<Account>,
  uuid: () => string,
): StoredAccount {
  const { id = before?.id ?? uuid() } = given
  const derived: Partial<Account> = {}
  if (given.name && given.cleaned_name === undefined) derived.cleaned_name = cleanedName(given.name)
  if (given.headcount != null && given.employee_range === undefined)
    derived.employee_range = sizeOf(given.headcount)
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
  await connection.run(
    'INSERT OR REPLACE INTO companies_text (rowid, name, about) VALUES (?, ?, ?)',
    key,
    ...words,
  )
}

/** What keyword searches look through. */
const wordsOf = (account: StoredAccount): [name: string, about: string] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]

const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.every((text, at) => text === b[at])
