import type { Fields } from '../api/values/objects.js'
import { toCountryCode } from './country.js'
import { foldName } from './name.js'
import { type NetworkProfile, parseProfile } from './profile.js'
import { firstText, foldFullName, toCompanyDomain, toEmail } from './value-kinds.js'

// Whom a record is about, answered once: imports, lookups, lists, the equal rows of a batch, suppression and erasure
// ask this (decision 11).

/** The kinds of records that are about somebody. */
export type SubjectKind = 'company' | 'person'

/** What identifies, the surest first. A name is told apart by what it stands with, and counts only where nothing surer differs. */
export const sorts = ['url', 'id', 'slug', 'email', 'domain', 'name'] as const
export type Sort = (typeof sorts)[number]

export interface Key {
  readonly sort: Sort
  /** Equal for equal subjects, however they are written. */
  readonly value: string
}

/** What a record says about its company; absent is what it does not say. Fields may have the names of any operation or record. */
export interface CompanyFacts {
  readonly slug?: string | undefined
  readonly id?: string | undefined
  readonly domain?: string | undefined
  readonly name?: string | undefined
  readonly folded?: string | undefined
  readonly country?: string | undefined
}

/** The same about its person; `emails` are the professional one first. */
export interface PersonFacts {
  readonly slug?: string | undefined
  readonly id?: string | undefined
  /** A profile URL that is none of the network's. */
  readonly url?: string | undefined
  readonly emails: readonly string[]
  /** Folded; empty where it has none. */
  readonly name: string
  readonly employer: CompanyFacts
}

export function companyIn(fields: Fields): CompanyFacts {
  const sure = surelyIn(fields)
  const country = firstText(fields.country, fields.country_code)
  return { ...sure, folded: sure.name && foldName(sure.name), country: country && toCountryCode(country) }
}

/** Returns the same without what takes long to read: its folded name, and its country. */
function surelyIn(fields: Fields): CompanyFacts {
  const name = firstText(fields.company_name, fields.name)
  const { slug, id } = profileIn('company', fields.company_network_url, fields.network_url, fields.url)
  const site = firstText(fields.domain, fields.company_domain)
  return {
    slug,
    id: firstText(fields.company_network_id, fields.network_id) ?? id,
    domain: site && toCompanyDomain(site, name),
    name,
  }
}

export function personIn(fields: Fields): PersonFacts {
  const name = firstText(fields.company_name)
  const site = firstText(fields.company_domain, fields.domain)
  return {
    ...profilesIn(fields),
    emails: emailsIn(fields),
    name: foldFullName(fields),
    employer: { domain: site && toCompanyDomain(site, name), name, folded: name && foldName(name) },
  }
}

type Profiles = Pick<PersonFacts, 'slug' | 'id' | 'url'>

function profilesIn(fields: Fields): Profiles {
  const { network_url, network_profile_url, linkedin_url, premium_profile_url } = fields
  const first = network_url ?? network_profile_url ?? linkedin_url ?? premium_profile_url
  if (first === undefined) return nowhere
  const urls = [network_url, network_profile_url, linkedin_url, premium_profile_url]
  const { slug, id } = profileIn('person', ...urls)
  const url = slug === undefined && id === undefined ? firstText(...urls) : undefined
  return { slug, id, url: url !== undefined && !parseProfile(url) ? url : undefined }
}

const nowhere: Profiles = { slug: undefined, id: undefined, url: undefined }
const none: readonly never[] = []

function emailsIn({ email, personal_email }: Fields): readonly string[] {
  const own = toEmail(firstText(email) ?? '')
  const other = personal_email === undefined ? undefined : toEmail(firstText(personal_email) ?? '')
  if (own === undefined) return other === undefined ? none : [other]
  return other === undefined || other === own ? [own] : [own, other]
}

/** Returns what identifies the subject of a record, the surest first; nothing where it says nobody. */
export function keysOf(kind: SubjectKind, fields: Fields): readonly Key[] {
  return kind === 'company' ? companyKeys(companyIn(fields)) : personKeys(personIn(fields))
}

function companyKeys({ slug, id, domain, folded, country = '' }: CompanyFacts): readonly Key[] {
  const keys: Key[] = []
  addKey(keys, 'id', id)
  addKey(keys, 'slug', slug)
  addKey(keys, 'domain', domain)
  addKey(keys, 'name', folded && `${folded}:${country}`)
  return keys
}

function personKeys({ name, employer, ...facts }: PersonFacts): readonly Key[] {
  const keys = surelyOfPerson(facts, facts.emails)
  if (name === '') return keys
  const { domain, folded } = employer
  addKey(keys, 'name', domain && `${name}:company:domain:${domain}`)
  addKey(keys, 'name', folded && `${name}:company:name:${folded}:`)
  return keys
}

function surelyOfPerson({ slug, id, url }: Profiles, emails: readonly string[]): Key[] {
  const keys: Key[] = []
  addKey(keys, 'url', url)
  addKey(keys, 'id', id)
  addKey(keys, 'slug', slug)
  for (const email of emails) addKey(keys, 'email', email)
  return keys
}

// Every row of a file of people comes here several times: lists that are spread into others would take half of the time.
function addKey(keys: Key[], sort: Sort, value: string | undefined): void {
  if (value) keys.push({ sort, value })
}

/** Returns a key as one text. */
export const keyText = (kind: SubjectKind, { sort, value }: Key): string => `${kind}:${sort}:${value}`

/** Returns the surest key as a text that is equal for records of the same subject; `undefined` where there is none. */
export function identityIn(kind: SubjectKind, fields: Fields): string | undefined {
  // Names and companies take long, and most records have something surer.
  const [surest = keysOf(kind, fields)[0]] = sureKeys(kind, fields)
  return surest && keyText(kind, surest)
}

/** Returns the profiles and domains that identify the subject of a record besides its identity, as texts of the same form. */
export const otherKeysIn = (kind: SubjectKind, fields: Fields): readonly string[] =>
  sureKeys(kind, fields)
    .slice(1)
    .flatMap((key) => (key.sort === 'email' ? [] : keyText(kind, key)))

/** Returns the keys of a record without names. */
const sureKeys = (kind: SubjectKind, fields: Fields): readonly Key[] =>
  kind === 'company' ? companyKeys(surelyIn(fields)) : surelyOfPerson(profilesIn(fields), emailsIn(fields))

export const surerThan = (sort: Sort): readonly Sort[] => sorts.slice(0, sorts.indexOf(sort))

/** Whether two subjects that share a key are others all the same: something surer than it differs. */
export function contradict(one: readonly Key[], other: readonly Key[], shared: Sort): boolean {
  return surerThan(shared).some((sort) => {
    const ours = one.filter((key) => key.sort === sort)
    const theirs = other.filter((key) => key.sort === sort)
    if (ours.length === 0 || theirs.length === 0) return false
    return !ours.some(({ value }) => theirs.some((key) => key.value === value))
  })
}

/** Returns the slug and the id in profile URLs of a kind: a person may have a regular and a premium one. */
function profileIn(kind: NetworkProfile['kind'], ...urls: readonly unknown[]) {
  const found: { slug?: string; id?: string } = {}
  for (const url of urls) {
    const profile = typeof url === 'string' && url !== '' ? parseProfile(url) : undefined
    if (profile?.kind !== kind) continue
    if (profile.slug !== undefined) found.slug ??= profile.slug
    if (profile.id !== undefined) found.id ??= profile.id
  }
  return found
}
