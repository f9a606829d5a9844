import { domainOf } from './domain.js'
import { foldName, foldText } from './name.js'
import { type Profile, profileOf } from './profile.js'

/** Fields that can tell a company, in the names of any operation or record; others are not looked at. */
export interface CompanyFields {
  readonly url?: unknown
  readonly company_network_url?: unknown
  readonly network_url?: unknown
  readonly company_network_id?: unknown
  readonly domain?: unknown
  readonly company_domain?: unknown
  readonly name?: unknown
  readonly company_name?: unknown
  readonly country?: unknown
}

/** Fields that can tell a person. */
export interface PersonFields {
  readonly network_url?: unknown
  readonly network_profile_url?: unknown
  readonly linkedin_url?: unknown
  readonly email?: unknown
  readonly full_name?: unknown
  readonly first_name?: unknown
  readonly firstname?: unknown
  readonly last_name?: unknown
  readonly lastname?: unknown
  readonly domain?: unknown
  readonly company_domain?: unknown
  readonly company_name?: unknown
}

/**
 * What makes two rows the same company: profile url, else registrable domain, else folded name with country.
 * Nothing when none of them is there.
 */
export function companyIdentity(fields: CompanyFields): string | undefined {
  const url = first(fields.company_network_url, fields.network_url, fields.url)
  const profile = url === undefined ? undefined : profileOf(url)
  if (profile?.kind === 'company') return profileIdentity(profile)
  const id = first(fields.company_network_id)
  if (id !== undefined) return `company:id:${id}`
  const domain = domainIn(first(fields.domain, fields.company_domain))
  if (domain !== undefined) return `company:domain:${domain}`
  const name = first(fields.name, fields.company_name)
  if (name === undefined) return undefined
  return `company:name:${foldName(name)}:${first(fields.country)?.toUpperCase() ?? ''}`
}

/**
 * What makes two rows the same person: profile url, else e-mail address, else folded name with the company's
 * domain or name. Nothing when none of them is there.
 */
export function personIdentity(fields: PersonFields): string | undefined {
  const url = first(fields.network_url, fields.network_profile_url, fields.linkedin_url)
  const profile = url === undefined ? undefined : profileOf(url)
  if (profile?.kind === 'person') return profileIdentity(profile)
  const email = first(fields.email)
  if (email !== undefined) return `person:email:${email.toLowerCase()}`
  const name = fullName(fields)
  const company = companyIdentity({
    domain: fields.domain,
    company_domain: fields.company_domain,
    company_name: fields.company_name,
  })
  return name === '' || company === undefined ? undefined : `person:name:${name}:${company}`
}

const profileIdentity = ({ kind, id, slug }: Profile): string =>
  id === undefined ? `${kind}:slug:${slug}` : `${kind}:id:${id}`

function fullName(fields: PersonFields): string {
  const parts = [first(fields.first_name, fields.firstname), first(fields.last_name, fields.lastname)]
  return foldText(
    parts.some((part) => part !== undefined) ? parts.join(' ') : (first(fields.full_name) ?? ''),
  )
}

const domainIn = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : domainOf(text)

/** The first of the values that is text with something in it, or a number. */
function first(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value === 'number') return String(value)
    const text = typeof value === 'string' ? value.trim() : ''
    if (text !== '') return text
  }
  return undefined
}
