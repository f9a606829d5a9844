import { type Fields, isObject } from '../api/values/objects.js'
import { keyText } from './keys.js'
import { foldName, foldPersonName } from './name.js'
import { toE164 } from './phone.js'
import { type NetworkProfile, parseProfile } from './profile.js'
import { firstText, foldFullName, toCompanyDomain, toDomain, toEmail } from './value-kinds.js'

// Whom JSON of any server mentions, by the names of its fields: suppression and erasure ask this.

/** Returns the key of a phone number, which identifies in what is said about somebody, and makes no two records one. */
export const phoneKey = (number: string): string => `person:phone:${number}`

export const emailKey = (email: string): string => keyText('person', { sort: 'email', value: email })

export const domainKey = (domain: string): string => keyText('company', { sort: 'domain', value: domain })

export const profileKey = ({ kind, id, slug = '' }: NetworkProfile): string =>
  keyText(kind, id === undefined ? { sort: 'slug', value: slug } : { sort: 'id', value: id })

/** Returns where somebody works as it stands in the key of a name. */
export const placeOf = ({ domain, name }: { readonly domain?: string; readonly name?: string }): string =>
  domain === undefined ? `name:${name}:` : `domain:${domain}`

/** Returns the key of a name, which identifies at one company only. */
export const nameKey = (foldedName: string, place: string): string =>
  keyText('person', { sort: 'name', value: `${foldedName}:company:${place}` })

/** What an object says about one person or company, with its details, and without the records in its lists. */
export interface Mentions {
  /** Keys of what identifies by itself: addresses, numbers, profiles, domains. */
  readonly keys: Set<string>
  /** Those of them that are people's profiles, as URLs. */
  readonly profiles: Set<string>
  /** Folded names of people. */
  readonly people: Set<string>
  /** The same with those of fields called `name`, which may be a company's. */
  readonly names: Set<string>
  /** Companies, as they stand in keys of names. */
  readonly places: Set<string>
  /** The same of the domains of email addresses, which say less. */
  readonly mailPlaces: Set<string>
}

export function mentionsIn(record: Fields): Mentions {
  const found: Mentions = {
    keys: new Set(),
    profiles: new Set(),
    people: new Set(),
    names: new Set(),
    places: new Set(),
    mailPlaces: new Set(),
  }
  collect(record, found)
  return found
}

/** Returns all keys of what an object mentions; `around` are the companies of what it is in. */
export function keysOfMentions({ keys, names, ...mentions }: Mentions, around: Iterable<string> = []) {
  const all = new Set(keys)
  const places = [...mentions.places, ...mentions.mailPlaces, ...around]
  for (const name of names) for (const place of places) all.add(nameKey(name, place))
  return all
}

export const mentionedKeys = (record: Fields, around: Iterable<string> = []): ReadonlySet<string> =>
  keysOfMentions(mentionsIn(record), around)

/** Whether a field holds values of a kind, by its name in requests, replies and deliveries of any server. */
const holds = {
  email: /e-?mail/i,
  phone: /phone|^number$|mobile/i,
  domain: /domain|website|_companies$|^companies$/i,
  profile: /url|profile|_companies$|^companies$/i,
  id: /_id$/i,
  employer: /^(?:current_)?company(?:_?name)?$/i,
} as const

/** Fields that speak about others, and ids of what is neither a person nor a company. */
const foreign =
  /^custom$|status$|^event$|_image|picture$|webhook|^(?:enrichment|industry|job|list|search|workspace)_id$/i

function collect(record: Fields, found: Mentions): void {
  const { first_name, firstName = first_name, last_name, lastName = last_name, full_name, fullName } = record
  const own = { ...record, first_name: firstName, last_name: lastName, full_name: full_name ?? fullName }
  const person = foldFullName(own)
  if (person !== '') found.people.add(person)
  const name = person || foldPersonName(firstText(record.name) ?? '')
  if (name !== '') found.names.add(name)
  for (const [field, value] of Object.entries(record)) {
    if (value === null || foreign.test(field)) continue
    if (typeof value === 'string' || typeof value === 'number') readText(field, String(value), found)
    else if (Array.isArray(value)) {
      for (const item of value)
        if (typeof item === 'string') readText(field, item, found)
        else if (isObject(item) && isInline(field)) collect(item, found)
    } else if (isObject(value)) {
      const employer = holds.employer.test(field) || field === 'account' ? firstText(value.name) : undefined
      if (employer !== undefined) readEmployer(employer, found)
      collect(value, found)
    }
  }
}

/** Whether the objects of a list are details of its record, and no records. */
const isInline = (field: string): boolean => holds.email.test(field) || holds.phone.test(field)

function readEmployer(text: string, { places }: Mentions): void {
  const name = foldName(text)
  if (name !== '') places.add(placeOf({ name }))
}

function readText(field: string, text: string, found: Mentions): void {
  const { keys } = found
  if (holds.email.test(field)) {
    const email = toEmail(text)
    if (email === undefined) return
    keys.add(emailKey(email))
    addDomain(toDomain(email.slice(email.lastIndexOf('@') + 1)), keys, found.mailPlaces)
    return
  }
  const profile = holds.profile.test(field) && /[\\/]/.test(text) ? parseProfile(text) : undefined
  if (profile) {
    keys.add(profileKey(profile))
    if (profile.kind === 'person') found.profiles.add(profileKey(profile))
  } else if (holds.domain.test(field)) addDomain(toCompanyDomain(text), keys, found.places)
  else if (holds.phone.test(field)) {
    const phone = toE164(text)
    if (phone !== undefined) keys.add(phoneKey(phone))
  } else if (holds.id.test(field))
    for (const kind of field.startsWith('company')
      ? (['company'] as const)
      : (['company', 'person'] as const))
      keys.add(profileKey({ kind, id: text }))
  else if (holds.employer.test(field)) readEmployer(text, found)
}

function addDomain(domain: string | undefined, keys: Set<string>, places: Set<string>): void {
  if (domain === undefined) return
  keys.add(domainKey(domain))
  places.add(placeOf({ domain }))
}

/** Says whether a record goes. `around` are the companies of what it is in; `field` is that of its list. */
export type RecordJudge = (
  mentions: Mentions,
  record: Fields,
  around: readonly string[],
  field: string,
) => boolean

/** What JSON is left without some of its records. */
export interface RecordRemoval {
  readonly goes: RecordJudge
  /** Returns what stands in the place of a record that goes; `undefined` for nothing. */
  readonly blank?: (record: Fields) => Fields | undefined
}

/**
 * Returns JSON without the records that go: they are taken out of lists, and are null where a list answers a list. `undefined`
 * where all of it goes; of a value in which none goes, an equal one.
 */
export const withoutRecords = (value: unknown, removal: RecordRemoval): unknown =>
  withoutRecord('', value, [], removal)

function withoutRecord(
  field: string,
  value: unknown,
  around: readonly string[],
  removal: RecordRemoval,
): unknown {
  if (Array.isArray(value)) return withoutItems(field, value, around, removal)
  if (!isObject(value)) return value
  const mentions = mentionsIn(value)
  if (removal.goes(mentions, value, around, field)) return removal.blank?.(value)
  return withoutLists(value, [...mentions.places, ...mentions.mailPlaces, ...around], removal)
}

function withoutLists(value: Fields, around: readonly string[], removal: RecordRemoval): Fields {
  const entries = Object.entries(value).map(([field, held]): [string, unknown] => {
    // What a caller added is about others.
    if (field === 'custom') return [field, held]
    if (Array.isArray(held))
      return [field, isInline(field) ? held : withoutItems(field, held, around, removal)]
    return [field, isObject(held) ? withoutLists(held, around, removal) : held]
  })
  return Object.fromEntries(entries)
}

function withoutItems(
  field: string,
  list: readonly unknown[],
  around: readonly string[],
  removal: RecordRemoval,
): unknown[] {
  const rest = list.map((item) => withoutRecord(field, item, around, removal))
  // The results of a bulk request stand in the order of its items.
  if (field === 'results') return rest.map((item) => item ?? null)
  return rest.filter((item, at) => item !== undefined || list[at] === undefined)
}
