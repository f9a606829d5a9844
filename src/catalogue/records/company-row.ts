import type { Value } from '../../storage/driver/connection.js'
import type { StoredAccount } from './account.js'
import { companyColumns, companyValues } from './company-columns.js'

/** What a company is found by, as its columns keep it. */
export interface CompanyNames {
  readonly domain: string | null
  readonly network_id: string | null
  readonly slug: string | null
  /** Folded. */
  readonly name: string | null
}

/** A company as its table and its texts take it. */
export interface CompanyRow extends CompanyNames {
  /** Values of `companyColumns`, in their order. */
  readonly facts: readonly Value[]
  /** Its JSON. */
  readonly record: string
  /** What keyword searches look through. */
  readonly words: readonly [name: string, about: string]
}

/** Makes the row of a company. */
export const companyRow = (account: StoredAccount, names: CompanyNames): CompanyRow => ({
  ...names,
  facts: companyValues(account),
  record: JSON.stringify(account),
  words: wordsOf(account),
})

/** What keyword searches look through. */
export const wordsOf = (account: StoredAccount): [name: string, about: string] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]

/** The columns of a row, all but the key, in the order of `valuesOf`. */
export const companyRowColumns = ['domain', 'network_id', 'slug', 'name', ...companyColumns, 'record']

/** The values of a row, in the order of `companyRowColumns`. */
export const valuesOf = ({ domain, network_id, slug, name, facts, record }: CompanyRow): Value[] => [
  domain,
  network_id,
  slug,
  name,
  ...facts,
  record,
]
