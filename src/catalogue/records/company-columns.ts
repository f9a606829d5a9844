import { companySizes, companyTypes, industries } from '../../api/schemas/enumerations.js'
import type { Value } from '../../storage/driver/connection.js'
import { foldText } from '../normalize/name.js'
import { regionOf } from '../places/place.js'
import type { StoredAccount } from './account.js'

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
