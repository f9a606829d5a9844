import type { Profile } from '../normalize/profile.js'
import { Unreadable } from '../normalize/readers.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Writing, Written } from '../write/write-context.js'
import type { PreparedCompany } from './company.js'
import { companyRow, companyRowColumns, type StoredAccount, valuesOf, wordsOf } from './company-row.js'
import { writeHistory } from './headcount.js'
import { checkCompany, checkHistory } from './lengths.js'
import { atDomain, atProfile, type Candidate } from './match-company.js'
import { writeUses } from './technologies.js'
import { rowWriter } from './upsert.js'

/** Adds a company, or merges what is given over the one there is with its domain, else its profile. */
export function* writeCompany(
  writing: Writing,
  prepared: PreparedCompany,
): Steps<{ readonly key: number; readonly written: Written }> {
  checkCompany(writing.connection, prepared.row)
  checkHistory(writing.connection, prepared.history ?? [])
  const existing = yield* existingCompany(writing, prepared)
  const key = existing?.key ?? writing.nextKey('companies')
  if (existing) yield* merge(writing, existing, prepared)
  else yield* add(writing, key, prepared)
  if (prepared.history) yield* writeHistory(writing.connection, key, prepared.history)
  noteCompany(writing, prepared)
  return { key, written: existing ? 'updated' : 'added' }
}

/** The company that a given one is: the one with its domain, else the one with its profile and no other domain. */
export function* existingCompany(
  { connection, mayHold }: Writing,
  { row: { domain }, profiles }: PreparedCompany,
): Steps<Candidate | undefined> {
  if (domain !== null && mayHold('companies', 'domain', domain)) {
    const company = yield* answered(connection.get<Candidate>(...atDomain(domain)))
    if (company) return company
  }
  for (const profile of profiles) {
    if (!mayHold('companies', ...columnOf(profile), domain === null ? undefined : 'without domain')) continue
    const there = yield* answered(connection.all<Candidate>(...atProfile(profile)))
    const candidates = domain === null ? there : there.filter((company) => company.domain === null)
    if (candidates.length > 1)
      throw new Unreadable('several companies have this profile: give the domain of the one meant')
    if (candidates[0]) return candidates[0]
  }
  return undefined
}

const columnOf = ({ id, slug }: Profile): [column: string, value: string] =>
  id === undefined ? ['slug', slug ?? ''] : ['network_id', id]

/** Remembers what a company can be found by; one with a domain is found by its profile only where none is given. */
function noteCompany({ note }: Writing, { row: { domain }, profiles }: PreparedCompany): void {
  note('companies', 'domain', domain)
  for (const profile of profiles)
    note('companies', ...columnOf(profile), domain === null ? ['without domain'] : [])
}

const found = ['domain', 'network_id', 'slug', 'name'] as const
// A company keeps its id.
const rows = rowWriter('companies', companyRowColumns, [...found, 'id'])

function* add(writing: Writing, key: number, { row, uses }: PreparedCompany): Steps<void> {
  rows.add(writing, key, valuesOf(row), row.words)
  if (uses) yield* writeUses(writing, key, [], uses)
}

function* merge(writing: Writing, existing: Candidate, { row, uses }: PreparedCompany): Steps<void> {
  const before = JSON.parse(existing.record) as StoredAccount
  const after = { ...before, ...(JSON.parse(row.record) as StoredAccount), id: before.id }
  const merged = companyRow(after, {
    domain: row.domain ?? existing.domain,
    network_id: row.network_id ?? existing.network_id,
    slug: row.slug ?? existing.slug,
    name: row.name ?? existing.name,
  })
  checkCompany(writing.connection, merged)
  const isFoundAsBefore = found.every((column) => merged[column] === existing[column])
  const texts = wordsOf(before).some((text, at) => text !== merged.words[at]) ? merged.words : undefined
  if (merged.record !== existing.record)
    rows.change(writing, existing.key, valuesOf(merged), isFoundAsBefore, texts)
  if (uses) yield* writeUses(writing, existing.key, before.technologies ?? [], uses)
}
