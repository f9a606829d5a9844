import type { Fields } from '../../api/values/objects.js'
import { toCountryCode } from '../../identity/country.js'
import { domainKey, emailKey, nameKey, phoneKey, placeOf, profileKey } from '../../identity/mentions.js'
import { foldName, foldPersonName, toWholeName } from '../../identity/name.js'
import { toE164 } from '../../identity/phone.js'
import { parseProfile } from '../../identity/profile.js'
import { toPlainText } from '../../identity/spelling.js'
import { firstText, toCompanyDomain, toDomain, toEmail } from '../../identity/value-kinds.js'

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
  const phone = /^[+\d(]/.test(words) ? toPhone(words, undefined) : undefined
  if (phone) return phone
  if (!/\s/.test(words)) {
    const domain = toCompanyDomain(words)
    return domain === undefined ? undefined : { kind: 'domain', value: domain, key: domainKey(domain) }
  }
  const [, name = '', company = ''] = atCompany.exec(words) ?? []
  const domain = toCompanyDomain(company)
  return domain === undefined ? undefined : atCompanyOf(name, { domain })
}

/** The same of what somebody types, who may also name a company by its name: `Jane Doe at Acme GmbH`. */
export function readSuppressible(text: string): Suppressible | undefined {
  const [, person, name] = /^(.+?)\s+at\s+(.+)$/.exec(toPlainText(text).trim()) ?? []
  return toSuppressible(text) ?? (person === undefined ? undefined : atCompanyOf(person, { name }))
}

/** Returns a record that an entry is about, whose keys include those of what covers it. */
export function asRecord({ kind, value }: Suppressible): Fields {
  if (kind !== 'person') return { [kind === 'profile' ? 'url' : kind]: value }
  const [, name = '', company = ''] = /^(.+?) at (.+)$/.exec(value) ?? []
  return { full_name: name, ...(toCompanyDomain(company) ? { domain: company } : { company_name: company }) }
}

/**
 * Returns what a row suppresses: the person alone, where it names one, else the company; with `kind` only what it says of that.
 * Cells of `phone` are numbers of the country of the row.
 */
export function suppressiblesIn(row: Fields, kind?: 'companies' | 'people'): readonly Suppressible[] {
  const country = firstText(row.country)
  const all = Object.entries(row).flatMap(([field, held]) =>
    [held].flat().flatMap((cell) => {
      if (typeof cell !== 'string' || field === 'country') return []
      return (
        (field === 'phone' ? toPhone(cell, country && toCountryCode(country)) : toSuppressible(cell)) ?? []
      )
    }),
  )
  const domain = companyDomainIn(row)
  const company =
    domain === undefined ? [] : [{ kind: 'domain', value: domain, key: domainKey(domain) } as const]
  if (kind === 'companies') return [...company, ...all.filter((one) => isProfileOf('company', one))]
  const named = namedPeople(row, all)
  const people = [...all.filter((one) => isOfPerson(one) || isProfileOf('person', one)), ...named]
  const numbers = all.filter((one) => one.kind === 'phone')
  // A row about somebody whose name is not understood is not about their whole company.
  const isOfSomebody = kind === 'people' || (kind === undefined && isUnreadName(row))
  if (isOfSomebody || people.length === 0) return isOfSomebody ? [...people, ...numbers] : all
  // A mailbox of the company's own stands for no person.
  const isOfCompany = people.every((one) => one.kind === 'email' && ownMailbox.test(one.value))
  return [...people, ...numbers, ...(isOfCompany ? company : [])]
}

function isUnreadName({ full_name }: Fields): boolean {
  const full = firstText(full_name)
  return full !== undefined && toWholeName(full) === undefined
}

const ownMailbox =
  /^(?:admin|bonjour|billing|contact|hello|hallo|help|info|kontakt|mail|marketing|office|post|press|sales|service|support|team|vertrieb)@/

const isOfPerson = ({ kind }: Suppressible): boolean => kind === 'email' || kind === 'person'

const isProfileOf = (of: 'company' | 'person', { kind, key }: Suppressible): boolean =>
  kind === 'profile' && key.startsWith(`${of}:`)

function toPhone(text: string, country: string | undefined): Suppressible | undefined {
  const number = toE164(text, country)
  return number === undefined ? undefined : { kind: 'phone', value: number, key: phoneKey(number) }
}

function companyDomainIn(row: Fields): string | undefined {
  const site = firstText(row.company_domain, row.domain, row.website)
  return site && toCompanyDomain(site, firstText(row.company_name, row.name))
}

/** Returns the person whose name a row has, at the company that it names, and at that of their address where it names another. */
function namedPeople(row: Fields, all: readonly Suppressible[]): readonly Suppressible[] {
  const full = firstText(row.full_name)
  const name =
    full === undefined
      ? [firstText(row.first_name), firstText(row.last_name)].join(' ').trim()
      : (toWholeName(full) ?? '')
  const address = all.find(({ kind }) => kind === 'email')?.value
  const domains = [companyDomainIn(row), address && toDomain(address)].filter((one) => one !== undefined)
  // A company of another name at the same domain may be the one that is asked for.
  const places = [
    { name: firstText(row.company_name) },
    ...[...new Set(domains)].map((domain) => ({ domain })),
  ]
  return name === '' ? [] : places.flatMap((place) => atCompanyOf(name, place) ?? [])
}

function atCompanyOf(
  person: string,
  { domain, name }: { domain?: string | undefined; name?: string | undefined },
) {
  const [folded, company] = [foldPersonName(person), foldName(name ?? '')]
  if (folded === '' || (domain === undefined && company === '')) return undefined
  const place = domain === undefined ? { name: company } : { domain }
  const value = `${person} at ${domain ?? String(name)}`
  return { kind: 'person', value, key: nameKey(folded, placeOf(place)) } as const
}
