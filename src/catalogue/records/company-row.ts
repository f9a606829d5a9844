import { companySizes, companyTypes, industries } from '../../api/schemas/enumerations.js'
import type { Account } from '../../engine/ports/ports.js'
import type { Value } from '../../storage/driver/connection.js'
import { foldText } from '../normalize/name.js'
import { regionOf } from '../places/place.js'

/** A stored company: an account without its absent keys, but always with its id. */
export type StoredAccount = Partial<Account> & Pick<Account, 'id'>

/** The account that a company's stored JSON stands for, with every key; field by field, since that is fastest. */
export function accountOf(record: string): Account {
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

/** Columns of companies that repeat what the record says, to be found and filtered by. */
export const companyColumns = [
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

/** The values of these columns, in their order. */
export function companyValues(account: StoredAccount): Value[] {
  const { country, city, location, headquarters, industry, industry_id } = account
  const industryName = industry ?? industries[industry_id ?? '']
  return [
    account.id,
    country ?? null,
    regionOf(country ?? undefined, city ?? undefined, location ?? headquarters ?? undefined) ?? null,
    foldedOrNull(city),
    industry_id ?? industryIds.get(foldText(industry ?? '')) ?? null,
    foldedOrNull(industryName),
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

/** A text as it is compared; null where nothing is left of it. */
export const foldedOrNull = (text: string | null | undefined): string | null => foldText(text ?? '') || null
