import { companySizes, companyTypes, industries } from '../../api/schemas/enumerations.js'
import type { Account } from '../../engine/ports/ports.js'
import type { Value } from '../../storage/driver/connection.js'
import { foldText } from '../normalize/name.js'
import { findRegion } from '../places/place.js'

/** A stored company: an account with its id and without absent keys. */
export type StoredAccount = Partial<Account> & Pick<Account, 'id'>

/** Returns the account in a company's stored JSON, with every key. Copying field by field is fastest. */
export function toAccount(record: string): Account {
  const known = JSON.parse(record) as StoredAccount
  return {
    id: known.id,
    name: known.name ?? null,
    cleaned_name: known.cleaned_name ?? null,
    domain: known.domain ?? null,
    website: known.website ?? null,
    description: known.description ?? null,
    industry: known.industry ?? null,
    industry_id: known.industry_id ?? null,
    company_type: known.company_type ?? null,
    employee_range: known.employee_range ?? null,
    headcount: known.headcount ?? null,
    headquarters: known.headquarters ?? null,
    location: known.location ?? null,
    city: known.city ?? null,
    country: known.country ?? null,
    founded_year: known.founded_year ?? null,
    revenue: known.revenue ?? null,
    revenue_currency: known.revenue_currency ?? null,
    phone: known.phone ?? null,
    network_id: known.network_id ?? null,
    network_url: known.network_url ?? null,
    company_profile_picture: known.company_profile_picture ?? null,
    technologies: known.technologies ?? [],
  }
}

/** Columns of companies that repeat facts of the record, for searches. */
const companyColumns = [
  'id',
  'country',
  'region',
  'city',
  'industry',
  'industry_name',
  'size',
  'company_type',
  'headcount',
  'revenue',
  'revenue_currency',
] as const

/** The values that a company is found by, as stored in its columns. */
export interface CompanyKeys {
  readonly domain: string | null
  readonly network_id: string | null
  readonly slug: string | null
  /** Folded. */
  readonly name: string | null
}

/** A company as it is stored in its table and text index. */
export interface CompanyRow extends CompanyKeys {
  /** Values of `companyColumns`, in their order. */
  readonly facts: readonly Value[]
  /** Its JSON. */
  readonly record: string
  /** The texts of keyword searches. */
  readonly words: readonly [name: string, about: string]
}

/** Returns the row of a company. */
export const toCompanyRow = (account: StoredAccount, names: CompanyKeys): CompanyRow => ({
  ...names,
  facts: toCompanyFacts(account),
  record: JSON.stringify(account),
  words: toCompanyTexts(account),
})

/** Returns the texts of keyword searches. */
export const toCompanyTexts = (account: StoredAccount): [name: string, about: string] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]

/** The columns of a row without the key, in the order of `toRowValues`. */
export const companyRowColumns = ['domain', 'network_id', 'slug', 'name', ...companyColumns, 'record']

/** Returns the values of a row, in the order of `companyRowColumns`. */
export const toRowValues = ({ domain, network_id, slug, name, facts, record }: CompanyRow): Value[] => [
  domain,
  network_id,
  slug,
  name,
  ...facts,
  record,
]

/** Returns the values of `companyColumns`, in their order. */
function toCompanyFacts(account: StoredAccount): Value[] {
  const { country, city, location, headquarters, industry, industry_id } = account
  const industryName = industry ?? industries[industry_id ?? '']
  return [
    account.id,
    country ?? null,
    findRegion(country ?? undefined, city ?? undefined, location ?? headquarters ?? undefined) ?? null,
    foldOrNull(city),
    industry_id ?? industryIds.get(foldText(industry ?? '')) ?? null,
    foldOrNull(industryName),
    account.employee_range ? companySizes.indexOf(account.employee_range) : null,
    typeLetters.get(account.company_type ?? '') ?? null,
    account.headcount ?? null,
    account.revenue ?? null,
    account.revenue_currency?.toUpperCase() ?? null,
  ]
}

const industryIds: ReadonlyMap<string, string> = new Map(
  Object.entries(industries).map(([id, name]) => [foldText(name), id]),
)

const typeLetters: ReadonlyMap<string, string> = new Map(
  Object.entries(companyTypes).map(([letter, label]) => [label, letter]),
)

/** Returns folded text; null when it is blank. */
export const foldOrNull = (text: string | null | undefined): string | null => foldText(text ?? '') || null
