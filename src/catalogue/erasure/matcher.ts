import { type Fields, isObject } from '../../api/values/objects.js'
import type { SubjectMatcher } from '../../storage/erasure/traversal.js'
import { toDomain } from '../normalize/domain.js'
import { foldName, foldText } from '../normalize/name.js'
import { parseProfile } from '../normalize/profile.js'
import type { NamedPerson, SubjectIdentifiers } from './identifiers.js'
import { createTextMatcher, redacted } from './redact.js'

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

const profileKeys = [
  ...['network_profile_url', 'premium_profile_url', 'network_url', 'linkedin_url', 'profile_url', 'url'],
]

/** Returns whether an object has the profile of another person, by slug or by id. */
function isAnother({ slugs, ids }: NamedPerson, value: Fields): boolean {
  return profileKeys.some((key) => {
    const url = value[key]
    const profile = typeof url === 'string' ? parseProfile(url) : undefined
    if (profile?.kind !== 'person') return false
    const [own, given] = profile.id === undefined ? [slugs, profile.slug] : [ids, profile.id]
    return own.length > 0 && given !== undefined && !own.includes(given)
  })
}

/** Returns the companies that an object says its person works at. */
function companiesIn(value: Fields): string[] {
  const { company, current_position: position } = value
  const inside = [company, position].filter(isObject)
  return [
    ...listTexts(value.domain, value.company_domain, ...inside.map(({ domain }) => domain)).flatMap(
      (text) => toDomain(text) ?? [],
    ),
    ...listTexts(
      ...[value.company_name, value.companyName, value.current_company, company],
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
