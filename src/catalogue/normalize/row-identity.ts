import type { Fields } from '../../api/values/objects.js'
import { foldName, foldText } from './name.js'
import { type NetworkProfile, parseProfile } from './profile.js'
import { toCompanyDomain } from './shared-hosts.js'

/**
 * Returns a key that is equal for rows of the same company: profile url, else registrable domain, else folded name and
 * country. Fields may have the names of any operation or record. `undefined` when there is none of these.
 */
export function toCompanyIdentity(fields: Fields): string | undefined {
  const url = firstText(fields.company_network_url, fields.network_url, fields.url)
  const profile = url === undefined ? undefined : parseProfile(url)
  if (profile?.kind === 'company') return toProfileIdentity(profile)
  const id = firstText(fields.company_network_id)
  if (id !== undefined) return `company:id:${id}`
  const site = firstText(fields.domain, fields.company_domain)
  const name = firstText(fields.name, fields.company_name)
  const domain = site === undefined ? undefined : toCompanyDomain(site, name)
  if (domain !== undefined) return `company:domain:${domain}`
  if (name === undefined) return undefined
  return `company:name:${foldName(name)}:${firstText(fields.country)?.toUpperCase() ?? ''}`
}

/**
 * Returns a key that is equal for rows of the same person: profile url, also one that cannot be parsed, else email
 * address, else folded name and the company's domain or name. `undefined` when there is none of these.
 */
export function toPersonIdentity(fields: Fields): string | undefined {
  const url = firstText(fields.network_url, fields.network_profile_url, fields.linkedin_url)
  const profile = url === undefined ? undefined : parseProfile(url)
  if (profile?.kind === 'person') return toProfileIdentity(profile)
  if (url !== undefined && !profile) return `person:url:${url}`
  const email = firstText(fields.email)
  if (email !== undefined) return `person:email:${email.toLowerCase()}`
  const name = foldFullName(fields)
  const company = toCompanyIdentity({
    domain: fields.domain,
    company_domain: fields.company_domain,
    company_name: fields.company_name,
  })
  return name === '' || company === undefined ? undefined : `person:name:${name}:${company}`
}

const toProfileIdentity = ({ kind, id, slug }: NetworkProfile): string =>
  id === undefined ? `${kind}:slug:${slug}` : `${kind}:id:${id}`

function foldFullName(fields: Fields): string {
  const parts = [firstText(fields.first_name, fields.firstname), firstText(fields.last_name, fields.lastname)]
  return foldText(
    parts.some((part) => part !== undefined) ? parts.join(' ') : (firstText(fields.full_name) ?? ''),
  )
}

/** Returns the first value that is non-blank text or a number, as text. */
function firstText(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value === 'number') return String(value)
    const text = typeof value === 'string' ? value.trim() : ''
    if (text !== '') return text
  }
  return undefined
}
