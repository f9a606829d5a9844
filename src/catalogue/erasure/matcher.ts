import { type Fields, isObject } from '../../api/values/objects.js'
import type { Forgotten } from '../../engine/ports/ports.js'
import { toDomain } from '../normalize/domain.js'
import { foldName, foldText } from '../normalize/name.js'
import { parseProfile } from '../normalize/profile.js'
import type { Named, Traces } from './identifiers.js'
import { mentionsOf, struck } from './redact.js'

/**
 * Whoever left these traces. What has their address, number or profile as one of its values is about them; so is what
 * has their full name with a company of theirs, and what has their name and says nothing else of who it is.
 */
export function forgottenBy(traces: Traces): Forgotten {
  const mentions = mentionsOf(traces)
  const isTheirs = (value: Fields, around: Fields) =>
    traces.people.some((person) => isNamed(person, value, around))
  const isMember = (member: unknown): boolean =>
    isIn(member) ||
    (isObject(member) &&
      traces.people.some((one) => folded(member.name) === one.name && !isAnother(one, member)))

  function isIn(value: unknown, around: Fields = {}): boolean {
    if (typeof value === 'string') return mentions.isIn(value)
    if (Array.isArray(value)) return value.some((item) => isIn(item, around))
    if (!isObject(value)) return false
    const inside = ([key, held]: [string, unknown]) =>
      mentions.isIn(key) || isIn(held, value) || membersIn(key, held).some(isMember)
    return isTheirs(value, around) || Object.entries(value).some(inside)
  }

  function isAbout(value: unknown, around: Fields = {}): boolean {
    if (typeof value === 'string') return mentions.isAll(value)
    if (Array.isArray(value)) return value.some((item) => isAbout(item, around))
    if (!isObject(value)) return false
    // A posting is about the company.
    const inside = ([key, held]: [string, unknown]) => key !== team && isAbout(held, value)
    return isTheirs(value, around) || Object.entries(value).some(inside)
  }

  function without(value: unknown, around: Fields = {}): unknown {
    if (typeof value === 'string') return mentions.without(value)
    if (Array.isArray(value)) return value.map((item) => without(item, around))
    if (!isObject(value)) return value
    const own = isTheirs(value, around)
    const rest = Object.entries(value).map(([key, held]) => {
      if (own && nameKeys.has(key)) return [key, struck]
      const members = membersIn(key, held)
      const others = members.length > 0 ? members.filter((member) => !isMember(member)) : held
      return [mentions.without(key), without(others, value)]
    })
    return Object.fromEntries(rest)
  }

  return {
    isIn: (value) => isIn(value),
    isAbout: (value) => isAbout(value),
    without: <T>(value: T) => (isIn(value) ? (without(value) as T) : value),
    unnamed: (text) => mentions.unnamed(mentions.without(text)),
  }
}

/** Where a job posting names those who hire, by `name`. */
const team = 'hiring_team'

const membersIn = (key: string, value: unknown): readonly unknown[] =>
  key === team && Array.isArray(value) ? value : []

const firstNames = ['first_name', 'firstname', 'firstName']
const lastNames = ['last_name', 'lastname', 'lastName']
const fullNames = ['full_name', 'fullname', 'fullName']
const nameKeys: ReadonlySet<string> = new Set([...firstNames, ...lastNames, ...fullNames])

/** Whether an object names somebody, and says nothing of another person. `around` is the object it is in. */
function isNamed(person: Named, value: Fields, around: Fields): boolean {
  const parts = `${first(value, firstNames) ?? ''} ${first(value, lastNames) ?? ''}`
  if (![folded(first(value, fullNames)), folded(parts)].includes(person.name)) return false
  if (isAnother(person, value)) return false
  const companies = [...companiesIn(value), ...companiesIn(around)]
  if (companies.length > 0) return companies.some((company) => person.companies.has(company))
  // One word alone is too many people's name.
  return (
    person.name.includes(' ') &&
    addressesIn(value).every((email) => person.companies.has(toDomain(email) ?? ''))
  )
}

const profileKeys = [
  ...['network_profile_url', 'premium_profile_url', 'network_url', 'linkedin_url', 'profile_url', 'url'],
]

/** Whether an object has the profile of somebody else: of one who has a name in urls, another name, and so with ids. */
function isAnother({ slugs, ids }: Named, value: Fields): boolean {
  return profileKeys.some((key) => {
    const url = value[key]
    const profile = typeof url === 'string' ? parseProfile(url) : undefined
    if (profile?.kind !== 'person') return false
    const [own, given] = profile.id === undefined ? [slugs, profile.slug] : [ids, profile.id]
    return own.length > 0 && given !== undefined && !own.includes(given)
  })
}

/** The companies that an object says somebody works at. */
function companiesIn(value: Fields): string[] {
  const { company, current_position: position } = value
  const inside = [company, position].filter(isObject)
  return [
    ...texts(value.domain, value.company_domain, ...inside.map(({ domain }) => domain)).flatMap(
      (text) => toDomain(text) ?? [],
    ),
    ...texts(
      ...[value.company_name, value.companyName, value.current_company, company],
      ...inside.flatMap(({ name, company_name }) => [name, company_name]),
    ).map(foldName),
  ]
}

const addressesIn = ({ email, personal_email, most_probable_email }: Fields): string[] =>
  texts(email, personal_email, most_probable_email)

const texts = (...values: readonly unknown[]): string[] =>
  values.filter((value) => typeof value === 'string').filter((text) => text.trim() !== '')

const first = (value: Fields, keys: readonly string[]): unknown =>
  keys.map((key) => value[key]).find((held) => held !== undefined && held !== null)

const folded = (value: unknown): string => (typeof value === 'string' ? foldText(value) : '')
