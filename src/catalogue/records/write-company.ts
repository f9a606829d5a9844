import type { NetworkProfile } from '../normalize/profile.js'
import { InvalidRecordError } from '../normalize/readers.js'
import { awaitResult, type Steps } from '../write/sync-steps.js'
import type { WriteContext, WriteResult } from '../write/write-context.js'
import type { PreparedCompany } from './company.js'
import {
  companyRowColumns,
  type StoredAccount,
  toCompanyRow,
  toCompanyTexts,
  toRowValues,
} from './company-row.js'
import { writeHeadcountHistory } from './headcount.js'
import { type CompanyMatch, selectByDomain, selectByProfile } from './match-company.js'
import { writeUses } from './technologies.js'
import { checkCompany, checkHistory, createRowWriter } from './upsert.js'

/** Adds a company, or merges it into the stored one with its domain, else its profile. */
export function* writeCompany(
  context: WriteContext,
  prepared: PreparedCompany,
): Steps<{ readonly key: number; readonly written: WriteResult }> {
  checkCompany(context.target, prepared.row)
  checkHistory(context.target, prepared.history ?? [])
  const existing = yield* findExistingCompany(context, prepared)
  const key = existing?.key ?? context.nextKey('companies')
  const written = existing
    ? yield* mergeCompany(context, existing, prepared)
    : yield* addCompany(context, key, prepared)
  if (prepared.history) yield* writeHeadcountHistory(context.connection, key, prepared.history)
  rememberCompany(context, prepared)
  return { key, written }
}

/** Finds the stored company with the same domain, else the one with the same profile and no other domain. */
export function* findExistingCompany(
  { connection, mayExist }: WriteContext,
  { row: { domain }, profiles }: PreparedCompany,
): Steps<CompanyMatch | undefined> {
  if (domain !== null && mayExist('companies', 'domain', domain)) {
    const company = yield* awaitResult(connection.get<CompanyMatch>(...selectByDomain(domain)))
    if (company) return company
  }
  for (const profile of profiles) {
    if (!mayExist('companies', ...toColumn(profile), domain === null ? undefined : 'without domain')) continue
    const there = yield* awaitResult(connection.all<CompanyMatch>(...selectByProfile(profile)))
    const candidates = domain === null ? there : there.filter((company) => company.domain === null)
    if (candidates.length > 1)
      throw new InvalidRecordError('several companies have this profile: give the domain of the one meant')
    if (candidates[0]) return candidates[0]
  }
  return undefined
}

const toColumn = ({ id, slug }: NetworkProfile): [column: string, value: string] =>
  id === undefined ? ['slug', slug ?? ''] : ['network_id', id]

/** Remembers what a company can be found by. One with a domain is found by profile only when no domain is given. */
function rememberCompany({ remember }: WriteContext, { row: { domain }, profiles }: PreparedCompany): void {
  remember('companies', 'domain', domain)
  for (const profile of profiles)
    remember('companies', ...toColumn(profile), domain === null ? ['without domain'] : [])
}

const keyColumns = ['domain', 'network_id', 'slug', 'name'] as const
// A company's id never changes.
const companyWriter = createRowWriter('companies', companyRowColumns, [...keyColumns, 'id'])

function* addCompany(context: WriteContext, key: number, { row, uses }: PreparedCompany): Steps<WriteResult> {
  companyWriter.add(context, key, toRowValues(row), row.words)
  if (uses) yield* writeUses(context, key, [], uses)
  return 'added'
}

/** Merges a company. What the record does not have, as its headcount history, counts as changed. */
function* mergeCompany(
  context: WriteContext,
  existing: CompanyMatch,
  { row, uses, history }: PreparedCompany,
): Steps<WriteResult> {
  const before = JSON.parse(existing.record) as StoredAccount
  const after = { ...before, ...(JSON.parse(row.record) as StoredAccount), id: before.id }
  const merged = toCompanyRow(after, {
    domain: row.domain ?? existing.domain,
    network_id: row.network_id ?? existing.network_id,
    slug: row.slug ?? existing.slug,
    name: row.name ?? existing.name,
  })
  checkCompany(context.target, merged)
  const hasSameKeys = keyColumns.every((column) => merged[column] === existing[column])
  const texts = toCompanyTexts(before).some((text, at) => text !== merged.words[at])
    ? merged.words
    : undefined
  const isSame = merged.record === existing.record
  if (!isSame) companyWriter.change(context, existing.key, toRowValues(merged), hasSameKeys, texts)
  if (uses) yield* writeUses(context, existing.key, before.technologies ?? [], uses)
  const hasDetails = uses?.some((use) => Object.values(use).filter((fact) => fact !== undefined).length > 1)
  return isSame && !hasDetails && !history ? 'unchanged' : 'updated'
}
