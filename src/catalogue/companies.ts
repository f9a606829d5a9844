import type { StoredAccount } from './account.js'
import type { PreparedCompany } from './company.js'
import { companyColumns, companyValues } from './company-columns.js'
import { writeHistory } from './headcount.js'
import { atProfile, type Candidate } from './match.js'
import type { Profile } from './profile.js'
import type { Statements } from './statements.js'
import { writeUses } from './technologies.js'
import { Unreadable } from './values.js'
import type { Writing, Written } from './writing.js'

/** Adds a company, or merges what is given over the one there is with its domain, else its profile. */
export function writeCompany(
  writing: Writing,
  prepared: PreparedCompany,
): { readonly key: number; readonly written: Written } {
  const { statements, ids } = writing
  const { account, uses, history } = prepared
  const existing = existingCompany(writing, prepared)
  const before = existing && (JSON.parse(existing.record) as StoredAccount)
  const key = existing?.key ?? writing.nextKey('companies')
  const after = { id: before?.id ?? account.id ?? ids.uuid(), ...before, ...account }
  if (before) after.id = before.id
  writeRow(statements, key, existing, prepared, after)
  writeWords(statements, key, before, after)
  if (uses) writeUses(writing, key, before?.technologies ?? [], uses)
  if (history) writeHistory(statements, key, history)
  noteCompany(writing, prepared.profiles, after.domain)
  return { key, written: existing ? 'updated' : 'added' }
}

/** The company that a given one is: the one with its domain, else the one with its profile and no other domain. */
export function existingCompany(
  { statements, mayHold }: Writing,
  { account, profiles }: PreparedCompany,
): Candidate | undefined {
  if (account.domain && mayHold('companies', 'domain', account.domain)) {
    const company = statements.get<Candidate>('SELECT * FROM companies WHERE domain = ?', account.domain)
    if (company) return company
  }
  for (const profile of profiles) {
    if (!mayHold('companies', ...columnOf(profile), account.domain ? 'without domain' : undefined)) continue
    const there = statements.all<Candidate>(...atProfile(profile))
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

const columnOf = ({ id, slug }: Profile): [column: string, value: string] =>
  id === undefined ? ['slug', slug ?? ''] : ['network_id', id]

/** Remembers what a company can be found by; one with a domain is found by its profile only where none is given. */
function noteCompany(
  { note }: Writing,
  profiles: readonly Profile[],
  domain: string | null | undefined,
): void {
  note('companies', 'domain', domain)
  for (const profile of profiles) note('companies', ...columnOf(profile), domain ? [] : ['without domain'])
}

function writeRow(
  statements: Statements,
  key: number,
  existing: Candidate | undefined,
  { profiles, name }: PreparedCompany,
  account: StoredAccount,
): void {
  const record = JSON.stringify(account)
  if (record === existing?.record) return
  statements.run(
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
function writeWords(
  statements: Statements,
  key: number,
  before: StoredAccount | undefined,
  after: StoredAccount,
): void {
  const [name, about] = wordsOf(after)
  if (before && wordsOf(before).join('\n') === `${name}\n${about}`) return
  statements.run(replaceWords, key, name, about)
}

const wordsOf = (account: StoredAccount): [name: string, about: string] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]
