import { type Fields, isObject } from '../../api/values/objects.js'
import { foldText } from '../../identity/name.js'
import { toE164 } from '../../identity/phone.js'
import { type NetworkProfile, parseProfile } from '../../identity/profile.js'
import { firstText, foldFullName, toCompanyDomain, toDomain, toEmail } from '../../identity/value-kinds.js'
import type { SubjectIdentifiers } from '../erasure/tables.js'

/** What can be suppressed: a domain stands for a company and its people, a name with a domain for one person. */
export type SuppressionKind = 'email' | 'domain' | 'profile' | 'phone' | 'person'

/** A value that can be suppressed. Any spelling of it has the same key. */
export interface Suppressible {
  readonly kind: SuppressionKind
  /** As it is shown. */
  readonly value: string
  readonly key: string
}

const atCompany = /^(.+?)(?:\s*,\s*|\s+at\s+|\s*@\s+|\s+)(\S+)$/

/** Returns what a text as people write it can suppress; `undefined` where it identifies nobody. */
export function toSuppressible(text: string): Suppressible | undefined {
  const words = text.trim()
  const profile = words.includes('/') ? parseProfile(words) : undefined
  if (profile) return { kind: 'profile', value: words, key: profileKey(profile) }
  const email = toEmail(words)
  if (email !== undefined) return { kind: 'email', value: email, key: `email ${email}` }
  const phone = /^[+\d(]/.test(words) ? toE164(words) : undefined
  if (phone !== undefined) return { kind: 'phone', value: phone, key: `phone ${phone}` }
  if (!/\s/.test(words)) {
    const domain = toCompanyDomain(words)
    return domain === undefined ? undefined : { kind: 'domain', value: domain, key: `domain ${domain}` }
  }
  const [, name = '', company = ''] = atCompany.exec(words) ?? []
  const domain = toCompanyDomain(company)
  if (domain === undefined || foldText(name) === '') return undefined
  return { kind: 'person', value: `${name} at ${domain}`, key: personKey(foldText(name), domain) }
}

/** Returns a record that an entry is about, whose keys include those of what covers it. */
export function asRecord({ kind, value }: Suppressible): Fields {
  if (kind !== 'person') return { [kind === 'profile' ? 'url' : kind]: value }
  const [name = '', domain] = value.split(/ at (?=\S+$)/)
  return { full_name: name, domain }
}

/** Returns what a row about a person or company suppresses: the person alone, where it names one, else the company. */
export function suppressiblesIn(row: Fields): readonly Suppressible[] {
  const all = Object.values(row).flatMap((cell) =>
    typeof cell === 'string' ? (toSuppressible(cell) ?? []) : [],
  )
  const site =
    firstText(row.company_domain, row.domain, row.website) ?? all.find(({ kind }) => kind === 'email')?.value
  const name =
    firstText(row.full_name) ?? [firstText(row.first_name), firstText(row.last_name)].join(' ').trim()
  const named = site === undefined || name === '' ? undefined : toSuppressible(`${name}, ${hostOf(site)}`)
  const people = all.filter(
    ({ kind, key }) => kind === 'email' || kind === 'person' || isPersonProfile(kind, key),
  )
  if (named?.kind === 'person') people.push(named)
  return people.length > 0 ? [...people, ...all.filter(({ kind }) => kind === 'phone')] : all
}

const isPersonProfile = (kind: SuppressionKind, key: string): boolean =>
  kind === 'profile' && /^(?:person |id AC)/.test(key)

const hostOf = (site: string): string => site.slice(site.lastIndexOf('@') + 1)

const profileKey = ({ kind, id, slug }: NetworkProfile): string =>
  id === undefined ? `${kind} ${slug}` : `id ${id}`

const personKey = (foldedName: string, domain: string): string => `name ${foldedName} at ${domain}`

/** Returns the keys by which a person stays suppressed who is forgotten. */
export const keysOfForgotten = (subject: SubjectIdentifiers): readonly string[] => [
  ...subject.emails.map((email) => `email ${email}`),
  ...subject.phones.map((phone) => `phone ${phone}`),
  ...subject.slugs.map((slug) => profileKey({ kind: 'person', slug })),
  ...subject.ids.map((id) => profileKey({ kind: 'person', id })),
  ...subject.people.flatMap(({ name, companies }) =>
    [...companies].flatMap((company) => (company.includes('.') ? [personKey(name, company)] : [])),
  ),
]

/** What is read of a record: keys, and what makes a key only together. */
type Found = Readonly<Record<'keys' | 'names' | 'domains', Set<string>>>

/** Whether a field holds values of a kind, by its name in requests, replies and deliveries of any server. */
const holds = {
  email: /e-?mail/i,
  phone: /phone|^number$|mobile/i,
  domain: /domain|website|_companies$|^companies$/i,
  profile: /url|profile|_companies$|^companies$/i,
  id: /_id$/i,
} as const

/** Fields that speak about others. */
const foreign = /^custom$|status$|^event$|_image|picture$|webhook|^enrichment_id$/i

/** Returns the keys of the person and the company that an object is about, given the domains of what it is in. */
export function keysOf(record: Fields, around: Iterable<string> = []) {
  const found: Found = { keys: new Set(), names: new Set(), domains: new Set() }
  collect(record, found)
  const own = new Set(found.domains)
  for (const domain of own) found.keys.add(`domain ${domain}`)
  for (const name of found.names)
    for (const domain of [...own, ...around]) found.keys.add(personKey(name, domain))
  return { keys: found.keys, domains: new Set([...own, ...around]) }
}

function collect(record: Fields, found: Found): void {
  const name = foldFullName(record) || foldText(firstText(record.name) ?? '')
  if (name !== '') found.names.add(name)
  for (const [field, value] of Object.entries(record)) {
    if (value === null || foreign.test(field)) continue
    if (typeof value === 'string' || typeof value === 'number') readText(field, String(value), found)
    else if (Array.isArray(value)) {
      for (const item of value)
        if (typeof item === 'string') readText(field, item, found)
        else if (isObject(item) && isInline(field)) collect(item, found)
    } else if (isObject(value)) collect(value, found)
  }
}

/** Whether the objects of a list are details of its record, and no records. */
export const isInline = (field: string): boolean => holds.email.test(field) || holds.phone.test(field)

function readText(field: string, text: string, { keys, domains }: Found): void {
  if (holds.email.test(field)) {
    const email = toEmail(text)
    if (email === undefined) return
    keys.add(`email ${email}`)
    const domain = toDomain(hostOf(email))
    if (domain !== undefined) domains.add(domain)
    return
  }
  const profile = holds.profile.test(field) && text.includes('/') ? parseProfile(text) : undefined
  if (profile) keys.add(profileKey(profile))
  else if (holds.domain.test(field)) {
    const domain = toCompanyDomain(text)
    if (domain !== undefined) domains.add(domain)
  } else if (holds.phone.test(field)) {
    const phone = toE164(text)
    if (phone !== undefined) keys.add(`phone ${phone}`)
  } else if (holds.id.test(field)) keys.add(`id ${text}`)
}
