import { type Fields, isObject, resultOr } from '../../api/values/objects.js'
import { foldName, foldText } from '../../identity/name.js'
import { parseProfile } from '../../identity/profile.js'
import { toDomain } from '../../identity/value-kinds.js'
import type { Driver } from '../../storage/driver/connection.js'
import type { DryRun, SubjectMatcher } from '../../storage/erasure/traversal.js'
import {
  eraseFromCatalogue,
  findIdentifiers,
  type NamedPerson,
  noneErased,
  type Subject,
  type SubjectIdentifiers,
  searchWords,
  toIdentifiers,
} from './tables.js'

const address = /^[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@.,;<>]+$/

/** Returns the person with an email address or the URL of a profile; `undefined` when the text is neither. */
export function parseSubject(text: string): Subject | undefined {
  const profile = parseProfile(text)
  if (profile?.kind === 'person') return { profile }
  const email = text.trim().toLowerCase()
  return address.test(email) ? { email } : undefined
}

/** Finds a person in the catalogue. Where there is none, they are recognised by what was given only. */
export async function findSubject(catalogue: Driver | undefined, subject: Subject) {
  const identifiers = catalogue
    ? await catalogue.read((connection) => findIdentifiers(connection, subject))
    : toIdentifiers(subject)
  const matcher = createMatcher(identifiers)
  return {
    matcher,
    identifiers,
    /** Words in lower case. Every file that holds an identifier of the person contains one. */
    words: searchWords(identifiers),
    /** Erases the person from the catalogue; with `dryRun` it only counts. */
    eraseCatalogue: async (dryRun: DryRun) =>
      catalogue ? eraseFromCatalogue(catalogue, identifiers, matcher, dryRun) : noneErased,
  }
}

/**
 * Creates the matcher of a person. A value is about them when it has their address, number or profile; so is one with their
 * full name and a company of theirs, or with their name and nothing else that says who it is.
 */
export function createMatcher(identifiers: SubjectIdentifiers): SubjectMatcher {
  const texts = createTextMatcher(identifiers)
  const isTheirs = (value: Fields, around: Fields) =>
    identifiers.people.some((person) => isNamed(person, value, around))
  const isMember = (member: unknown): boolean =>
    mentions(member) ||
    (isObject(member) &&
      identifiers.people.some((one) => foldValue(member.name) === one.name && !isAnother(one, member)))

  function mentions(value: unknown, around: Fields = {}): boolean {
    if (typeof value === 'string') return texts.mentions(value)
    if (Array.isArray(value)) return value.some((item) => mentions(item, around))
    if (!isObject(value)) return false
    const inside = ([key, held]: [string, unknown]) =>
      texts.mentions(key) || mentions(held, value) || membersIn(key, held).some(isMember)
    return isTheirs(value, around) || Object.entries(value).some(inside)
  }

  function isAbout(value: unknown, around: Fields = {}): boolean {
    if (typeof value === 'string') return texts.isIdentifier(value)
    if (Array.isArray(value)) return value.some((item) => isAbout(item, around))
    if (!isObject(value)) return false
    // A job posting is about the company, not about its hiring team.
    const inside = ([key, held]: [string, unknown]) => key !== hiringTeam && isAbout(held, value)
    return isTheirs(value, around) || Object.entries(value).some(inside)
  }

  function redact(value: unknown, around: Fields = {}): unknown {
    if (typeof value === 'string') return texts.redact(value)
    if (Array.isArray(value)) return value.map((item) => redact(item, around))
    if (!isObject(value)) return value
    const own = isTheirs(value, around)
    const rest = Object.entries(value).map(([key, held]) => {
      if (own && nameKeys.has(key)) return [key, redacted]
      const members = membersIn(key, held)
      const others = members.length > 0 ? members.filter((member) => !isMember(member)) : held
      return [texts.redact(key), redact(others, value)]
    })
    return Object.fromEntries(rest)
  }

  return {
    mentions: (value) => mentions(value),
    isAbout: (value) => isAbout(value),
    redact: <T>(value: T) => (mentions(value) ? (redact(value) as T) : value),
    redactName: (text) => texts.redactName(texts.redact(text)),
  }
}

/** Where a job posting names the people who hire, by `name`. */
const hiringTeam = 'hiring_team'

const membersIn = (key: string, value: unknown): readonly unknown[] =>
  key === hiringTeam && Array.isArray(value) ? value : []

const firstNames = ['first_name', 'firstname', 'firstName']
const lastNames = ['last_name', 'lastname', 'lastName']
const fullNames = ['full_name', 'fullname', 'fullName']
const nameKeys: ReadonlySet<string> = new Set([...firstNames, ...lastNames, ...fullNames])

/** Returns whether an object names the person and no other. `around` is the object that it is in. */
function isNamed(person: NamedPerson, value: Fields, around: Fields): boolean {
  const parts = `${first(value, firstNames) ?? ''} ${first(value, lastNames) ?? ''}`
  if (![foldValue(first(value, fullNames)), foldValue(parts)].includes(person.name)) return false
  if (isAnother(person, value)) return false
  const companies = [...companiesIn(value), ...companiesIn(around)]
  if (companies.length > 0) return companies.some((company) => person.companies.has(company))
  // Too many people share a name of one word.
  return (
    person.name.includes(' ') &&
    addressesIn(value).every((email) => person.companies.has(toDomain(email) ?? ''))
  )
}

const urlKeys = 'network_profile_url premium_profile_url network_url linkedin_url profile_url url'.split(' ')

/** Returns whether an object has the profile of another person, by slug or by id. */
function isAnother({ slugs, ids }: NamedPerson, value: Fields): boolean {
  return urlKeys.some((key) => {
    const url = value[key]
    const profile = typeof url === 'string' ? parseProfile(url) : undefined
    if (profile?.kind !== 'person') return false
    const [own, given] = profile.id === undefined ? [slugs, profile.slug] : [ids, profile.id]
    return own.length > 0 && given !== undefined && !own.includes(given)
  })
}

function companiesIn(value: Fields): string[] {
  const { company, current_position: position } = value
  const inside = [company, position].filter(isObject)
  return [
    ...listTexts(value.domain, value.company_domain, ...inside.map(({ domain }) => domain)).flatMap(
      (text) => toDomain(text) ?? [],
    ),
    ...listTexts(
      value.company_name,
      value.companyName,
      value.current_company,
      company,
      ...inside.flatMap(({ name, company_name }) => [name, company_name]),
    ).map(foldName),
  ]
}

const addressesIn = ({ email, personal_email, most_probable_email }: Fields): string[] =>
  listTexts(email, personal_email, most_probable_email)

const listTexts = (...values: readonly unknown[]): string[] =>
  values.filter((value) => typeof value === 'string').filter((text) => text.trim() !== '')

const first = (value: Fields, keys: readonly string[]): unknown =>
  keys.map((key) => value[key]).find((held) => held !== undefined && held !== null)

const foldValue = (value: unknown): string => (typeof value === 'string' ? foldText(value) : '')

export const redacted = '[forgotten]'

/** Creates the matcher that recognises a person in texts by address, number or profile. */
function createTextMatcher(subject: SubjectIdentifiers) {
  const loose = anyOf([
    ...subject.emails.map(emailPattern),
    ...subject.phones.map(phonePattern),
    ...subject.slugs.flatMap((slug) => [...new Set([slug, encodeURIComponent(slug)])].map(slugPattern)),
  ])
  // Ids of the network are case-sensitive.
  const exact = anyOf(subject.ids.map((id) => `(?<![\\w\\-])${escapeText(id)}(?![\\w\\-])`))
  const [any, anyId] = [new RegExp(loose, 'iu'), new RegExp(exact, 'u')]
  const [all, allIds] = [new RegExp(loose, 'giu'), new RegExp(exact, 'gu')]
  const names = new RegExp(anyOf(subject.people.flatMap(({ written }) => written.map(namePattern))), 'giu')
  const lookups = subject.people.flatMap(({ identities }) => identities)
  const hint = hintPattern(subject)
  const holds = (text: string) => hint.test(text) && (any.test(text) || anyId.test(text))
  const isLookup = (text: string) =>
    lookups.some((lookup) => text === lookup || text.startsWith(`${lookup} `))
  const whole = new RegExp(`^\\s*(?:mailto:)?(?:${loose}|${exact})\\s*$`, 'iu')
  const mentions = (text: string) =>
    holds(text) || isLookup(text) || (text.includes('%') && holds(decode(text)))
  const redactName = (text: string) => text.replace(names, redacted)
  return {
    mentions,
    /** Returns whether a text is an identifier of the person and nothing else. */
    isIdentifier: (text: string) =>
      mentions(text) && (whole.test(text) || isLookup(text) || isProfile(subject, text)),
    redactName,
    /** Returns the text with identifiers redacted, and the name beside them. */
    redact: (text: string) => {
      if (!mentions(text)) return text
      const rest = text.replace(all, redacted).replace(allIds, redacted)
      // An identifier in a spelling that cannot be cut out takes its whole text with it.
      return mentions(rest) ? redacted : redactName(rest)
    },
  }
}

/** Returns a pattern that every mention contains. It is fast, and most texts do not match it. */
const hintPattern = ({ emails, phones, slugs, ids }: SubjectIdentifiers): RegExp =>
  new RegExp(
    anyOf([
      ...emails.map((email) => escapeText(email.slice(0, email.indexOf('@')))),
      ...phones.map((phone) => groupDigits(phone.slice(-4))),
      ...slugs.flatMap((slug) => [slug, encodeURIComponent(slug)]).map(escapeText),
      ...ids.map(escapeText),
    ]),
    'i',
  )

function isProfile({ slugs, ids }: SubjectIdentifiers, text: string): boolean {
  const profile = parseProfile(text)
  if (profile?.kind !== 'person') return false
  return profile.id === undefined ? slugs.includes(profile.slug ?? '') : ids.includes(profile.id)
}

/** Joins patterns into one; without any, it matches nothing. */
const anyOf = (patterns: readonly string[]): string => (patterns.length === 0 ? '(?!)' : patterns.join('|'))

const escapeText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const emailPattern = (email: string): string =>
  `(?<![\\p{L}\\p{N}._+\\-])${escapeText(email).replace('@', '(?:@|%40)')}(?![\\p{L}\\p{N}\\-]|\\.[\\p{L}\\p{N}])`

/** Returns the pattern of a phone number, however its digits are grouped. */
const phonePattern = (phone: string): string =>
  `(?<!\\d)(?:\\+|00|%2B)?${groupDigits(phone.replace(/\D/g, ''))}(?!\\d)`

const groupDigits = (digits: string): string => [...digits].join('[\\s().\\-]{0,2}')

/** Returns the pattern of a slug in the url of a profile or post, or in the identity of a lookup. */
const slugPattern = (slug: string): string =>
  `(?:\\/(?:in|pub)\\/|person:slug:)${escapeText(slug)}(?![\\p{L}\\p{N}%_\\-])|\\/posts\\/${escapeText(slug)}(?![\\p{L}\\p{N}%\\-])`

const namePattern = (name: string): string =>
  `(?<![\\p{L}\\p{N}])${name.trim().split(/\s+/).map(escapeText).join('\\s+')}(?![\\p{L}\\p{N}])`

const decode = (text: string): string => resultOr(text, () => decodeURIComponent(text))
