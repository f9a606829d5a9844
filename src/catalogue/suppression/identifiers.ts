import type { Fields } from '../../api/values/objects.js'
import { domainKey, emailKey, nameKey, phoneKey, placeOf, profileKey } from '../../identity/mentions.js'
import { foldText } from '../../identity/name.js'
import { toE164 } from '../../identity/phone.js'
import { parseProfile } from '../../identity/profile.js'
import { toPlainText } from '../../identity/spelling.js'
import { firstText, toCompanyDomain, toEmail } from '../../identity/value-kinds.js'

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
  const words = toPlainText(text).trim().replace(/^tel:/i, '')
  const profile = /[\\/]/.test(words) ? parseProfile(words) : undefined
  if (profile) return { kind: 'profile', value: words, key: profileKey(profile) }
  const email = toEmail(words)
  if (email !== undefined) return { kind: 'email', value: email, key: emailKey(email) }
  const phone = /^[+\d(]/.test(words) ? toE164(words) : undefined
  if (phone !== undefined) return { kind: 'phone', value: phone, key: phoneKey(phone) }
  if (!/\s/.test(words)) {
    const domain = toCompanyDomain(words)
    return domain === undefined ? undefined : { kind: 'domain', value: domain, key: domainKey(domain) }
  }
  const [, name = '', company = ''] = atCompany.exec(words) ?? []
  const domain = toCompanyDomain(company)
  if (domain === undefined || foldText(name) === '') return undefined
  const key = nameKey(foldText(name), placeOf({ domain }))
  return { kind: 'person', value: `${name} at ${domain}`, key }
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
  kind === 'profile' && key.startsWith('person:')

const hostOf = (site: string): string => site.slice(site.lastIndexOf('@') + 1)
