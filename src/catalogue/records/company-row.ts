import { companySizes, companyTypes, industries } from '../../api/schemas/enumerations.js'
import type { Account } from '../../engine/ports/ports.js'
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

/** The values that a company is found by, as stored in its columns. */
export interface CompanyKeys {
  readonly domain: string | null
  readonly network_id: string | null
  readonly slug: string | null
  /** Folded. */
  readonly name: string | null
}

/** A company as it is stored: the values that it is found by, and columns that repeat facts of its record for searches. */
export type CompanyRow = CompanyKeys & ReturnType<typeof toCompanyFacts> & StoredTexts

/** The JSON of a record, and the texts that keyword searches find it by. */
export interface StoredTexts {
  readonly record: string
  readonly texts: readonly string[]
}

export const toCompanyRow = (
  account: StoredAccount,
  { domain, network_id, slug, name }: CompanyKeys,
): CompanyRow => ({
  domain,
  network_id,
  slug,
  name,
  ...toCompanyFacts(account),
  record: JSON.stringify(account),
  texts: toCompanyTexts(account),
})

/** The texts of keyword searches: the name, and what the company is about. */
export const toCompanyTexts = (account: StoredAccount): string[] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]

function toCompanyFacts(account: StoredAccount) {
  const { country, city, location, headquarters, industry, industry_id } = account
  return {
    id: account.id,
    country: country ?? null,
    region:
      findRegion(country ?? undefined, city ?? undefined, location ?? headquarters ?? undefined) ?? null,
    city: foldOrNull(city),
    industry: industry_id ?? industryIds.get(foldText(industry ?? '')) ?? null,
    industry_name: foldOrNull(industry ?? industries[industry_id ?? '']),
    size: account.employee_range ? companySizes.indexOf(account.employee_range) : null,
    company_type: typeLetters.get(account.company_type ?? '') ?? null,
    headcount: account.headcount ?? null,
    revenue: account.revenue ?? null,
    revenue_currency: account.revenue_currency?.toUpperCase() ?? null,
  }
}

const industryIds: ReadonlyMap<string, string> = new Map(
  Object.entries(industries).map(([id, name]) => [foldText(name), id]),
)

const typeLetters: ReadonlyMap<string, string> = new Map(
  Object.entries(companyTypes).map(([letter, label]) => [label, letter]),
)

/** Returns folded text; null when it is blank. */
export const foldOrNull = (text: string | null | undefined): string | null => foldText(text ?? '') || null
