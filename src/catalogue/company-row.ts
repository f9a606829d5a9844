import type { Value } from '../storage/driver.js'
import type { StoredAccount } from './account.js'
import { companyColumns, companyValues } from './company-columns.js'

/** What a company is found by beside its domain, as its columns keep it. */
export interface CompanyNames {
  readonly network_id: string | null
  readonly slug: string | null
  /** Folded. */
  readonly name: string | null
}

/** A company as its table and its texts take it. */
export interface CompanyRow {
  /** Its JSON. */
  readonly record: string
  /** Values of `companyRowColumns`, in their order. */
  readonly values: readonly Value[]
  /** What keyword searches look through. */
  readonly words: readonly [name: string, about: string]
}

/** The columns that a row fills, all but the key. */
export const companyRowColumns = ['domain', 'network_id', 'slug', 'name', ...companyColumns, 'record'] as const

/** Makes the row of a company. */
export function companyRow(account: StoredAccount, { network_id, slug, name }: CompanyNames): CompanyRow {
  const record = JSON.stringify(account)
  return {
    record,
    values: [account.domain ?? null, network_id, slug, name, ...companyValues(account), record],
    words: wordsOf(account),
  }
}

/** What keyword searches look through. */
export const wordsOf = (account: StoredAccount): [name: string, about: string] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]
