import type { Connection } from '../storage/driver.js'
import type { StoredAccount } from './account.js'
import type { PreparedCompany } from './company.js'
import { companyColumns, companyValues } from './company-columns.js'
import { writeHistory } from './headcount.js'
import { type Candidate, companiesAt } from './match.js'
import { writeUses } from './technologies.js'
import { Unreadable } from './values.js'
import type { Writing, Written } from './writing.js'

/** Adds a company, or merges what is given over the one there is with its domain, else its profile. */
export async function writeCompany(
  writing: Writing,
  prepared: PreparedCompany,
): Promise<{ readonly key: number; readonly written: Written }> {
  const { connection, ids } = writing
  const { account, uses, history } = prepared
  const existing = await existingCompany(connection, prepared)
  const before = existing && (JSON.parse(existing.record) as StoredAccount)
  const key = existing?.key ?? (await writing.nextKey('companies'))
  const after = { id: before?.id ?? account.id ?? ids.uuid(), ...before, ...account }
  if (before) after.id = before.id
  await writeRow(connection, key, existing, prepared, after)
  await writeWords(connection, key, before, after)
  if (uses) await writeUses(writing, key, before?.technologies ?? [], uses)
  if (history) await writeHistory(connection, key, history)
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

const columnNames = ['domain', 'network_id', 'slug', 'name', ...companyColumns, 'record']
const insert = `INSERT INTO companies (${columnNames.join(', ')}, key)
  VALUES (${columnNames.map(() => '?, ').join('')}?)`
const update = `UPDATE companies SET ${columnNames.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`

async function writeRow(
  connection: Connection,
  key: number,
  existing: Candidate | undefined,
  { profiles, name }: PreparedCompany,
  account: StoredAccount,
): Promise<void> {
  const record = JSON.stringify(account)
  if (record === existing?.record) return
  await connection.run(
    existing ? update : insert,
    account.domain ?? null,
    profiles.find(({ id }) => id !== undefined)?.id ?? existing?.network_id ?? null,
    profiles.find(({ slug }) => slug !== undefined)?.slug ?? existing?.slug ?? null,
    name ?? existing?.name ?? null,
    ...companyValues(account),
    record,
    key,
  )
}

const replaceWords = 'INSERT OR REPLACE INTO companies_text (rowid, name, about) VALUES (?, ?, ?)'

/** Keeps what keyword searches look through. */
async function writeWords(
  connection: Connection,
  key: number,
  before: StoredAccount | undefined,
  after: StoredAccount,
): Promise<void> {
  const [name, about] = wordsOf(after)
  if (before && wordsOf(before).join('\n') === `${name}\n${about}`) return
  await connection.run(replaceWords, key, name, about)
}

const wordsOf = (account: StoredAccount): [name: string, about: string] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]
