import type { Account, CompanyQuery } from '../../api/ports/ports.js'
import { companySizes, companyTypes } from '../../api/schemas/enumerations.js'
import { getOrMake } from '../../api/values/objects.js'
import { cleanName, foldName, foldText } from '../../identity/name.js'
import { type NetworkProfile, parseProfile } from '../../identity/profile.js'
import { toCompanyDomain } from '../../identity/value-kinds.js'
import {
  findFormCountries,
  foldTranscribed,
  type NameReading,
  readWrittenName,
  type TaggedPlace,
} from '../../identity/written-name.js'
import {
  boundInteger,
  boundText,
  type Connection,
  findRow,
  mapResult,
  type Value,
} from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { idOfIndustry, nameOfIndustry } from '../full-text/facets.js'
import { findRegion, gazetteer } from '../places/place.js'
import { absentWhereUnknown, fields } from './fields.js'

/** A company that may match. `name` is folded; `slug` and `network_id` are from its profile url. */
export interface CompanyMatch extends CompanyKeys {
  readonly key: number
  readonly country: string | null
  readonly source: number | null
  readonly record: string
}

type NormalizedQuery = ReturnType<typeof normalizeQuery>

/** A profile url that this many companies share is a placeholder. */
export const maxPerProfile = 100
/** A longer text is no name with tags. */
const maxNameLength = 300

const columns = 'SELECT key, domain, network_id, slug, name, country, source, record FROM companies WHERE'
const byDomain = `${columns} domain = ?`
const byId = `${columns} network_id = ${boundText} ORDER BY key LIMIT ${maxPerProfile}`
const bySlug = `${columns} slug = ${boundText} ORDER BY key LIMIT ${maxPerProfile}`
// The country is part of the name. When the query has an unknown profile or domain, a company with another one does not match.
const named = (names: string) => `${columns} name ${names}
  AND (${boundText} IS NULL OR country IS NULL OR country = ${boundText})
  AND (${boundInteger} = 0 OR slug IS NULL AND network_id IS NULL) AND (${boundInteger} = 0 OR domain IS NULL)`
const byName = `${named(`= ${boundText}`)} LIMIT 2`
const byNames = `${named('IN (SELECT value FROM json_each(?))')} ORDER BY key LIMIT ${maxPerProfile}`
// Where there is none, no name needs to be looked for beside an unknown domain.
const anyWithoutDomain = 'SELECT key FROM companies WHERE domain IS NULL LIMIT 1'
const hasAny = (connection: Connection) =>
  mapResult(connection.get(anyWithoutDomain), (found) => found !== undefined)
const nextName = `SELECT name FROM companies WHERE name >= ${boundText} ORDER BY name LIMIT 1`

/**
 * Returns the company that matches a query; `undefined` when there is none or the match is ambiguous. The strongest identifier
 * decides: network id, profile url, domain, then name with country. A weaker one only chooses among its candidates. When a
 * stronger one is not in the catalogue, a weaker one finds only a company without a value for it.
 */
export async function matchCompany(
  connection: Connection,
  query: CompanyQuery,
): Promise<CompanyMatch | undefined> {
  const wanted = normalizeQuery(query)
  for (const [at, profile] of wanted.profiles.entries()) {
    const candidates = await connection.all<CompanyMatch>(...selectByProfile(profile))
    if (candidates.length === maxPerProfile) return undefined
    const stronger = wanted.profiles.slice(0, at)
    const left = candidates.filter((company) => !hasOtherProfile(company, stronger))
    if (candidates.length > 0) return onlyOne(narrow(left, wanted))
  }
  if (wanted.domain !== undefined) {
    const company = await findRow<CompanyMatch>(connection, byDomain, wanted.domain)
    if (company) return hasOtherProfile(company, wanted.profiles) ? undefined : company
    if (!(await getOrMake(connection.known, anyWithoutDomain, () => hasAny(connection)))) return undefined
  }
  const { name } = wanted
  if (name === undefined) return undefined
  const named = await connection.all<CompanyMatch>(byName, name, ...toKnownValues(wanted))
  const company =
    named.length > 0 ? onlyOne(named) : await matchWrittenName(connection, query.name ?? '', wanted)
  const isOther = wanted.country === undefined && company && hasOtherForm(company, query.name ?? '')
  return isOther ? undefined : company
}

/**
 * Returns whether a company and a name have legal forms that no country has both of, or only the name has partners beside a
 * form of the company: `Merck KGaA`, and `Merck & Co. Inc.` or `Merck & Co.`.
 */
function hasOtherForm(company: CompanyMatch, name: string): boolean {
  const own = readName(company)
  if (own === name) return false
  const countries = findFormCountries(name)
  const isPartnership = hasPartners.test(foldText(name)) && !hasPartners.test(foldText(own))
  const others = countries || isPartnership ? findFormCountries(own) : undefined
  if (others === undefined) return false
  return isPartnership || ![...others].some((country) => countries?.has(country))
}

const hasPartners = / (?:and|und|et|og|och|y) (?:co|cie|comp|company|compagnie)(?: |$)/

const readName = ({ record }: CompanyMatch): string => (JSON.parse(record) as { name?: string }).name ?? ''

/** Returns the one company that is meant by a name that the catalogue does not have as written. */
async function matchWrittenName(connection: Connection, name: string, wanted: NormalizedQuery) {
  if (name.length > maxNameLength) return undefined
  const { folds, stems, forms } = readWrittenName(name, findTaggedPlace, wanted.country)
  const readings = new Map(folds)
  for (const [stem, reading] of stems)
    for (const form of await findFollowing(connection, stem, forms)) {
      const fold = `${stem} ${form}`
      const earlier = readings.get(fold)
      if (earlier === undefined || reading.rank < earlier.rank) readings.set(fold, reading)
    }
  const found = await connection.all<CompanyMatch>(
    byNames,
    JSON.stringify([...readings.keys()]),
    ...toKnownValues(wanted),
  )
  if (found.length === maxPerProfile) return undefined
  const readable = found.flatMap((company) => {
    const reading = readings.get(company.name ?? '')
    return reading && isSpelt(company, reading) ? [{ company, reading }] : []
  })
  const nearest = Math.min(...readable.map(({ reading }) => reading.rank))
  const left = readable.filter(({ reading }) => reading.rank === nearest)
  const tagged = left.filter(({ company, reading }) => reading.countries?.includes(company.country ?? ''))
  const [only] = left.length > 1 && tagged.length === 1 ? tagged : left.length === 1 ? left : []
  return only && (!only.reading.isBound || tagged.includes(only)) ? only.company : undefined
}

/**
 * Returns the legal forms that follow a stem in names of the catalogue. Each look into the ordered names skips the forms
 * that stand before the name it finds, so that one is enough where no name begins like that. Without such an index, returns all.
 */
async function findFollowing(connection: Connection, stem: string, forms: readonly string[]) {
  if (!dialectOf(connection).search.hasOrderedNames) return forms
  const found: string[] = []
  for (let at = 0; at < forms.length; ) {
    const name = (await connection.get<{ name: string }>(nextName, `${stem} ${forms[at]}`))?.name
    if (!name?.startsWith(`${stem} `)) break
    const next = name.slice(stem.length + 1)
    if (next === forms[at]) found.push(next)
    do at += 1
    while (at < forms.length && (forms[at] ?? '') < next)
  }
  return found
}

/** Returns whether a company has the accent that the reading of its name put in. */
const isSpelt = (company: CompanyMatch, { transcribed }: NameReading): boolean =>
  transcribed === undefined || foldTranscribed(readName(company)).includes(transcribed)

/** Returns the query for the companies with a profile: several when one owner has several domains. */
const selectByProfile = ({ id, slug }: NetworkProfile): readonly [sql: string, value: string | null] =>
  id === undefined ? [bySlug, slug ?? null] : [byId, id]

/** Returns the values of what `named` asks about a company beside its name. */
const toKnownValues = ({ profiles, domain, country }: NormalizedQuery): Value[] => [
  country ?? null,
  country ?? null,
  profiles.length > 0 ? 1 : 0,
  domain === undefined ? 0 : 1,
]

/** Returns a query with normalized identifiers; blank ones are missing. */
function normalizeQuery(query: CompanyQuery) {
  const profile = query.url ? parseProfile(query.url) : undefined
  const profiles: NetworkProfile[] = query.networkId ? [{ kind: 'company', id: query.networkId }] : []
  if (profile?.kind === 'company') profiles.push(profile)
  return {
    /** The network's id, then the profile url. */
    profiles,
    domain: query.domain ? toCompanyDomain(query.domain, query.name || undefined) : undefined,
    /** Folded when it is read, which takes long: most companies are found without it. */
    get name() {
      return (query.name && foldName(query.name)) || undefined
    },
    country: query.country?.trim().toUpperCase() || undefined,
  }
}

/** Narrows several companies with one profile by each weaker identifier in turn, as long as one remains. */
function narrow(candidates: readonly CompanyMatch[], wanted: NormalizedQuery): readonly CompanyMatch[] {
  const matchers: readonly ((company: CompanyMatch) => boolean)[] = [
    (company) => wanted.domain !== undefined && company.domain === wanted.domain,
    (company) => wanted.name !== undefined && company.name === wanted.name,
    (company) => wanted.country !== undefined && company.country === wanted.country,
  ]
  return matchers.reduce((left, matches) => {
    const chosen = left.length > 1 ? left.filter(matches) : left
    return chosen.length > 0 ? chosen : left
  }, candidates)
}

/** Returns whether a company has another profile than these, which did not find it. Slugs and ids cannot be compared. */
const hasOtherProfile = (company: CompanyMatch, profiles: readonly NetworkProfile[]): boolean =>
  profiles.some(({ id }) => (id === undefined ? company.slug : company.network_id) !== null)

export const onlyOne = <T>(found: readonly T[]): T | undefined => (found.length === 1 ? found[0] : undefined)

/** Cities whose key in the gazetteer is lower are so large that their names are hardly used as words. */
const largeCities = 5_000

/** Returns the place that a tag in a company's name (`- Munich`) means; a small town is bound to its country. */
function findTaggedPlace(folded: string): TaggedPlace | undefined {
  const places = gazetteer().named(folded)
  const [first] = places
  if (!first) return undefined
  const isBound = !places.some(
    ({ code, country, key }) => code === country || (typeof code === 'number' && key < largeCities),
  )
  return { countries: [...new Set(places.map(({ country }) => country))], isBound }
}

/** A stored company: an account with its id and without absent keys. */
export type StoredAccount = Partial<Account> &
  Pick<Account, 'id'> & {
    /** Whether the name was in lower case where it came from. */
    lower?: 1
  }

/** An account of which nothing is known. */
const unknown = {
  ...Object.fromEntries(
    Object.keys(fields.companies)
      .filter((name) => !absentWhereUnknown.has(name))
      .map((name) => [name, null]),
  ),
  technologies: [],
}

/** Returns the account in a company's stored JSON, with every key. */
export const toAccount = (record: string): Account =>
  ({ ...unknown, ...completeAccount(JSON.parse(record) as StoredAccount) }) as Account

/** Returns a stored account with what is left out of it because it follows from the rest. */
export function completeAccount({ lower, ...account }: StoredAccount): StoredAccount {
  const { name, cleaned_name } = account
  if (!name || (cleaned_name !== undefined && !lower)) return account
  return {
    ...account,
    cleaned_name: cleaned_name ?? cleanName(name),
    ...(lower ? { original_name: name.toLowerCase() } : {}),
  }
}

/** The values that a company is found by, as stored in its columns. */
export interface CompanyKeys {
  readonly domain: string | null
  readonly network_id: string | null
  readonly slug: string | null
  /** Folded. */
  readonly name: string | null
}

/** A company as it is stored: the values that it is found by, and columns that repeat facts of its record for searches. */
export type CompanyRow = CompanyKeys &
  ReturnType<typeof toCompanyFacts> &
  StoredTexts & { readonly source: number | null }

/** The JSON of a record, and the texts that keyword searches find it by. */
export interface StoredTexts {
  readonly record: string
  readonly texts: readonly string[]
}

export const toCompanyRow = (
  account: StoredAccount,
  { domain, network_id, slug, name }: CompanyKeys,
  source: number | null = null,
): CompanyRow => ({
  ...toCompanyFacts(account),
  domain,
  network_id,
  slug,
  name,
  source,
  record: JSON.stringify(account),
  texts: toCompanyTexts(account),
})

/** The texts of keyword searches: the name, and what the company is about. */
export const toCompanyTexts = (account: StoredAccount): string[] => [
  account.name ?? '',
  [account.description, account.industry, ...(account.technologies ?? [])].filter(Boolean).join(' '),
]

export function toCompanyFacts(account: StoredAccount) {
  const { country, city, location, headquarters, industry, industry_id } = account
  const industryName = foldOrNull(industry)
  const industryId = industry_id ?? idOfIndustry(industryName ?? '') ?? null
  return {
    id: account.id,
    country: country ?? null,
    region:
      findRegion(country ?? undefined, city ?? undefined, location ?? headquarters ?? undefined) ?? null,
    city: foldOrNull(city),
    industry: industryId,
    // A name that follows from the id is not stored.
    industry_name: industryName !== null && nameOfIndustry(industryId) === industryName ? null : industryName,
    size: account.employee_range ? companySizes.indexOf(account.employee_range) : null,
    company_type: typeLetters.get(account.company_type ?? '') ?? null,
    headcount: account.headcount ?? null,
    revenue: account.revenue ?? null,
    revenue_currency: account.revenue_currency?.toUpperCase() ?? null,
  }
}

const typeLetters: ReadonlyMap<string, string> = new Map(
  Object.entries(companyTypes).map(([letter, label]) => [label, letter]),
)

export const foldOrNull = (text: string | null | undefined): string | null => foldText(text ?? '') || null
