import { domainToUnicode } from 'node:url'
import { type Fields, isObject, resultOr } from '../api/values/objects.js'
import { personIn } from './keys.js'
import {
  emailKey,
  type Mentions,
  mentionsIn,
  nameKey,
  phoneKey,
  placeOf,
  profileKey,
  type RecordJudge,
  withoutRecords,
} from './mentions.js'
import { isMobile, nationalDigitsOf, toE164 } from './phone.js'
import type { NetworkProfile } from './profile.js'
import { toPlainText } from './spelling.js'
import { firstText, toDomain, toEmail } from './value-kinds.js'

/** A name of a person, which identifies together with a company of theirs. */
export interface NamedPerson {
  /** Folded full name. */
  readonly name: string
  /** Where they work or worked, as in the key of a name. */
  readonly places: readonly string[]
  /** Keys of their profiles. */
  readonly profiles: readonly string[]
}

/** What a person is recognised by. Addresses and slugs are in lower case, phones in E.164. */
export interface PersonIdentifiers {
  readonly emails: readonly string[]
  readonly phones: readonly string[]
  readonly slugs: readonly string[]
  readonly ids: readonly string[]
  readonly people: readonly NamedPerson[]
}

const profileOf = (own: Omit<NetworkProfile, 'kind'>): string => profileKey({ kind: 'person', ...own })

/** Returns the keys that each identify the person. */
export const keysOfPerson = ({
  emails,
  phones,
  slugs,
  ids,
  people,
}: PersonIdentifiers): readonly string[] => [
  ...emails.map(emailKey),
  ...phones.map(phoneKey),
  ...slugs.map((slug) => profileOf({ slug })),
  ...ids.map((id) => profileOf({ id })),
  ...people.flatMap(({ name, places }) => places.map((place) => nameKey(name, place))),
]

/**
 * Returns what recognises a person in JSON and in texts. A record is about them when it has their address, number or profile;
 * so is one with their full name and a company of theirs, or with their name and nothing that says where its person works.
 */
export function createPersonMatcher(person: PersonIdentifiers) {
  const { mentions: text, mayMention } = createTextMatcher(person)
  const isTheirs = createJudge(person)

  const textsMention = (value: unknown): boolean => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.some(textsMention)
    return isObject(value) && Object.entries(value).some(([key, held]) => text(key) || textsMention(held))
  }
  const isAbout = (value: unknown): boolean => isObject(value) && isTheirs(mentionsIn(value), value, [], '')

  /** Whether a text, or a record in a list, is about the person; not the value itself. */
  function mentionsInside(value: unknown): boolean {
    if (textsMention(value)) return true
    let found = false
    const goes: RecordJudge = (mentions, record, ...at) => {
      found ||= record !== value && isTheirs(mentions, record, ...at)
      return false
    }
    withoutRecords(value, { goes })
    return found
  }

  function emptied(value: unknown, blank: null | undefined | ''): unknown {
    if (typeof value === 'string') return text(value) ? blank : value
    if (Array.isArray(value))
      return value
        .filter((item) => typeof item !== 'string' || !text(item))
        .map((item) => emptied(item, blank))
    if (!isObject(value)) return value
    const rest = Object.entries(value).filter(([key]) => !text(key))
    return Object.fromEntries(rest.map(([key, held]) => [key, emptied(held, blank)]))
  }

  return {
    /** Returns false where JSON certainly has no address, number, profile or id of the person. */
    mayMention,
    /** Returns whether a text or JSON mentions the person. */
    mentions: (value: unknown): boolean => isAbout(value) || mentionsInside(value),
    /** Returns whether a record is about the person. */
    isAbout,
    /**
     * Returns a record of something else without the records about the person in its lists, and with `blank` in place of each
     * text that mentions them; the same value where there is neither.
     */
    without: <T>(value: T, blank: null | undefined | ''): T =>
      mentionsInside(value) ? (emptied(withoutInner(value, isTheirs), blank) as T) : value,
  }
}

/** Takes records out of the lists of a value, which is none of them. */
function withoutInner(value: unknown, isTheirs: RecordJudge): unknown {
  return withoutRecords(value, {
    goes: (mentions, record, around, field) => record !== value && isTheirs(mentions, record, around, field),
  })
}

/** Fields of records with an address, a profile or numbers of their person. */
const addressFields = ['email', 'most_probable_email', 'work_email', 'personal_email'] as const
const numberFields = ['phone', 'phones', 'phone_number', 'phone_numbers'] as const

/**
 * Returns what records that are about a person say of them. Where these have several names, an identifier is shared by several
 * people, and says nothing of one.
 */
export function identifiersIn(records: readonly Fields[], known: PersonIdentifiers): PersonIdentifiers {
  const all = records.map((record) => ({ record, facts: personIn(record) }))
  const names = new Set(known.people.map(({ name }) => name))
  for (const { facts } of all) if (names.size === 0 && facts.name !== '') names.add(facts.name)
  const own = all.filter(({ facts }) => facts.name === '' || names.has(facts.name))
  if (own.length < all.length && known.people.length === 0) return noIdentifiers
  const people = own.flatMap(({ record, facts }): NamedPerson[] => {
    const { name, slug, id, employer } = facts
    const domains = [employer.domain, ...emailsOf(record).map((email) => toDomain(email))]
    const places = [
      ...domains.flatMap((domain) => (domain === undefined ? [] : [placeOf({ domain })])),
      ...(employer.folded ? [placeOf({ name: employer.folded })] : []),
    ]
    const profiles = [...(slug ? [profileOf({ slug })] : []), ...(id ? [profileOf({ id })] : [])]
    return name === '' ? [] : [{ name, places, profiles }]
  })
  return {
    emails: own.flatMap(({ record }) => emailsOf(record)),
    phones: own.flatMap(({ record }) => numbersOf(record)),
    slugs: own.flatMap(({ facts }) => facts.slug ?? []),
    ids: own.flatMap(({ facts }) => facts.id ?? []),
    people,
  }
}

const noIdentifiers: PersonIdentifiers = { emails: [], phones: [], slugs: [], ids: [], people: [] }

const emailsOf = (record: Fields): readonly string[] =>
  addressFields.flatMap((field) => toEmail(firstText(record[field]) ?? '') ?? [])

/** Returns the mobile numbers of a record: many people share the others. */
const numbersOf = (record: Fields): readonly string[] =>
  numberFields
    .flatMap((field) => record[field])
    .flatMap((number) => (typeof number === 'string' ? (toE164(number) ?? []) : []))
    .filter(isMobile)

/** Where a job posting names the people who hire, by `name`. */
const hiringTeam = 'hiring_team'

function createJudge({ people, ...person }: PersonIdentifiers): RecordJudge {
  const own = new Set(keysOfPerson({ ...person, people: [] }))
  return ({ keys, people: full, names, places, mailPlaces, profiles }, _, around, field) => {
    for (const key of keys) if (own.has(key)) return true
    return people.some((one) => {
      if (!names.has(one.name) || isAnother(one, profiles)) return false
      const said = [...places, ...around]
      const at = said.length > 0 ? said : [...mailPlaces]
      if (field === hiringTeam || at.some((place) => one.places.includes(place))) return true
      // Too many people share a name of one word.
      return at.length === 0 && full.has(one.name) && one.name.includes(' ')
    })
  }
}

/** Whether profiles are those of somebody else of the same name: by slug or by id, as far as both are known. */
const isAnother = ({ profiles }: NamedPerson, others: Mentions['profiles']): boolean =>
  ['person:slug:', 'person:id:'].some((sort) => {
    const own = profiles.filter((key) => key.startsWith(sort))
    const given = [...others].filter((key) => key.startsWith(sort))
    return own.length > 0 && given.length > 0 && !given.some((key) => own.includes(key))
  })

/** Returns what tells whether a text contains an address, number, profile or id of a person, in any spelling. */
function createTextMatcher({ emails, phones, slugs, ids, people }: PersonIdentifiers) {
  const spelled = [...new Set(slugs.flatMap((slug) => [slug, encodeURIComponent(slug)]))]
  const addresses = [...new Set(emails.flatMap((email) => [email, toUnicodeAddress(email)]))]
  const any = new RegExp(
    anyOf([...addresses.map(emailPattern), ...phones.flatMap(phonePatterns), ...spelled.map(slugPattern)]),
    'iu',
  )
  // Ids of the network are case-sensitive.
  const anyId = new RegExp(anyOf(ids.map((id) => `(?<![\\w\\-])${escapeText(id)}(?![\\w\\-])`)), 'u')
  // What every mention contains: it is found fast, and most texts do not have it.
  const hint = new RegExp(
    anyOf([
      ...emails.map((email) => escapeText(email.slice(0, email.indexOf('@')))),
      ...phones.map((phone) => groupDigits(phone.slice(-4))),
      ...[...spelled, ...ids].map(escapeText),
    ]),
    'iu',
  )
  const lookups = people.flatMap(({ name, places }) => places.map((place) => nameKey(name, place)))
  const isLookup = (text: string) =>
    lookups.some((lookup) => text === lookup || text.startsWith(`${lookup} `))
  const holds = (text: string) => hint.test(text) && (any.test(text) || anyId.test(text))
  return {
    mentions: (given: string): boolean => {
      const text = toPlainText(given)
      return holds(text) || isLookup(text) || (text.includes('%') && holds(toPlainText(decode(text))))
    },
    mayMention: (json: string): boolean => hint.test(toPlainText(json)) || /%|\\u/.test(json),
  }
}

/** Joins patterns into one; without any, it matches nothing. */
const anyOf = (patterns: readonly string[]): string => (patterns.length === 0 ? '(?!)' : patterns.join('|'))

const escapeText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

function toUnicodeAddress(email: string): string {
  const at = email.lastIndexOf('@') + 1
  return email.slice(0, at) + domainToUnicode(email.slice(at))
}

const emailPattern = (email: string): string =>
  `(?<![\\p{L}\\p{N}._+\\-])${escapeText(email).replace('@', '(?:@|%40)')}(?![\\p{L}\\p{N}\\-]|\\.[\\p{L}\\p{N}])`

/** A shorter national number may be any other. */
const minNationalDigits = 8

/** Returns the patterns of a phone number, however its digits are grouped, also as it is written in its country. */
function phonePatterns(phone: string): string[] {
  const national = nationalDigitsOf(phone) ?? ''
  const own = national.length < minNationalDigits ? [] : [`0?${groupDigits(national)}`]
  return [`(?:\\+|00|%2B)?${groupDigits(phone.replace(/\D/g, ''))}`, ...own].map(
    (digits) => `(?<!\\d)${digits}(?!\\d)`,
  )
}

const groupDigits = (digits: string): string => [...digits].join('[\\s().\\-]{0,2}')

/** Returns the pattern of a slug in the url of a profile or post, or in the identity of a lookup. */
const slugPattern = (slug: string): string =>
  `(?:\\/(?:in|pub)\\/|person:slug:)${escapeText(slug)}(?![\\p{L}\\p{N}%_\\-])|\\/posts\\/${escapeText(slug)}(?![\\p{L}\\p{N}%\\-])`

const decode = (text: string): string => resultOr(text, () => decodeURIComponent(text))

export type PersonMatcher = ReturnType<typeof createPersonMatcher>
