import { ApiError } from '../../api/calls/errors.js'
import type { GrowthFilters, PeopleFilters } from '../../api/ports/ports.js'
import { companySizes } from '../../api/schemas/enumerations.js'
import { parseNetworkUrl } from '../../api/values/url.js'
import { foldName, foldText } from '../../identity/name.js'
import { parseProfile } from '../../identity/profile.js'
import { shorten } from '../../identity/readers.js'
import { toDomain } from '../../identity/value-kinds.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { idOfIndustry } from '../full-text/facets.js'
import {
  anyOf,
  type Condition,
  every,
  ifAny,
  isOneOf,
  not,
  phrase,
  some,
  type TextQuery,
  within,
} from '../full-text/keyword.js'
import { findPlace, findRegion, type Place } from '../places/place.js'
import { toEmployerWords } from '../records/person.js'

/** The filters that companies are given in: by name, network id, profile url or domain. */
const fields = ['included_companies', 'excluded_companies', 'past_companies'] as const
type Field = (typeof fields)[number]

/** A company of the catalogue that a profile url or a domain stands for. */
interface Employer {
  readonly key: number
  readonly name: string | null
  readonly network_id: string | null
}

export interface EmployerFilter {
  /** As given: names and ids are compared as they are, and no company has the name of a profile url. */
  readonly given: readonly string[]
  readonly employers: readonly Employer[]
  /** Profile urls and domains that stand for no company, or for several. */
  readonly unknown: readonly string[]
}

/**
 * Finds the companies that filters give by profile url or domain, however many, as `matchCompany` would find each. 422
 * names those of a filter of which none is known, and one that is no company's.
 */
export async function readEmployerFilters(connection: Connection, filters: PeopleFilters) {
  const read: Partial<Record<Field, EmployerFilter>> = {}
  for (const field of fields) {
    const given = filters[field]
    if (!given?.length) continue
    const filter = await readFilter(connection, field, given)
    if (field !== 'excluded_companies' && filter.unknown.length === given.length)
      await refuseUnknown(connection, field, filter.unknown)
    read[field] = filter
  }
  return read
}

/** Returns the profile urls and domains of a search that stand for no company. */
export async function findUnknownCompanies(connection: Connection, filters: PeopleFilters) {
  const read = Object.entries(await readEmployerFilters(connection, filters))
  return Object.fromEntries(
    read.flatMap(([field, { unknown }]) => (unknown.length > 0 ? [[field, unknown]] : [])),
  )
}

type Identifier = 'network_id' | 'slug' | 'domain'

async function readFilter(connection: Connection, field: Field, given: readonly string[]) {
  const identified = given.flatMap((text) => {
    const identifier = identify(field, text)
    return identifier ? [{ text, ...identifier }] : []
  })
  const found = new Map<string, Employer>()
  for (const [by, some] of Map.groupBy(identified, ({ by }) => by)) {
    const values = JSON.stringify(some.map(({ value }) => value))
    for (const row of await connection.all<Employer & { value: string }>(selectBy(by), values))
      found.set(`${by} ${row.value}`, row)
  }
  const employers = identified.flatMap(({ by, value }) => found.get(`${by} ${value}`) ?? [])
  const missing = identified.filter(({ by, value }) => !found.has(`${by} ${value}`))
  const hosts = missing.filter(({ isHost }) => isHost).map(({ text }) => foldName(text))
  const named = new Set(hosts.length > 0 ? await findNames(connection, hosts) : [])
  const unknown = missing.filter(({ text, isHost }) => !isHost || !named.has(foldName(text)))
  return { given, employers, unknown: unknown.map(({ text }) => text) }
}

/** Several companies with one profile are ambiguous, as they are to a lookup. */
const selectBy = (
  column: Identifier,
) => `SELECT ${column} AS value, min(key) AS key, min(name) AS name, min(network_id) AS network_id
    FROM companies WHERE ${column} IN (SELECT value FROM json_each(?)) GROUP BY ${column} HAVING count(*) = 1`

interface Identified {
  readonly by: Identifier
  readonly value: string
  /** Whether the text is a domain and may be a name, such as `Booking.com`. */
  readonly isHost?: boolean
}

/** Returns what identifies a company in a text; `undefined` for a name or a network id. 422 for another address. */
function identify(field: Field, text: string): Identified | undefined {
  const profile = parseProfile(text)
  if (profile?.kind === 'company') {
    const { id, slug = '' } = profile
    return id === undefined ? { by: 'slug', value: slug } : { by: 'network_id', value: id }
  }
  // A page of the network is not the website of a company, except its own.
  const isOther = profile !== undefined || (parseNetworkUrl(text)?.path ?? '') !== ''
  const domain = isOther ? undefined : toDomain(text)
  if (domain !== undefined) return { by: 'domain', value: domain, isHost: /^[^\s/@:]+$/.test(text) }
  if (isOther || /^https?:/i.test(text))
    throw new ApiError('invalid', {
      reason: `${field}: '${shorten(text)}' is neither the profile of a company nor a website`,
    })
  return undefined
}

/** Returns those of some folded names that companies have. */
async function findNames(connection: Connection, names: readonly string[], max = ''): Promise<string[]> {
  const sql = `SELECT name FROM companies WHERE name IN (SELECT value FROM json_each(?)) GROUP BY name ${max}`
  const rows = await connection.all<{ name: string }>(sql, JSON.stringify(names))
  return rows.map(({ name }) => name)
}

/** Throws 422 unless people have one of the texts as the name of an employer that is not in the catalogue. */
async function refuseUnknown(connection: Connection, field: Field, unknown: readonly string[]) {
  const past = toEmployerQuery(unknown.flatMap(toEmployerWords))
  const [where, ...values] =
    field === 'past_companies'
      ? dialectOf(connection).texts.matchTexts('people', past, 'many')
      : isOneOf('employer', unknown.map(foldName))
  if (await connection.get(`SELECT key FROM people WHERE ${where} LIMIT 1`, ...values)) return
  const named = unknown.slice(0, maxNamed).map((text) => `'${shorten(text)}'`)
  const more = unknown.length > maxNamed ? ` and ${unknown.length - maxNamed} more` : ''
  throw new ApiError('invalid', { reason: `${field}: no company is known as ${named.join(', ')}${more}` })
}

/** Maximum number of unknown companies that an error names. */
const maxNamed = 10

export async function toPastQuery(connection: Connection, { given, employers }: EmployerFilter) {
  // A position without a network id says only a name: it finds the one company that has it.
  const names = employers.flatMap(({ name }) => name ?? [])
  const own = names.length > 0 ? await findNames(connection, names, 'HAVING count(*) = 1') : []
  const ids = employers.flatMap(({ network_id }) => network_id ?? [])
  return toEmployerQuery([...given, ...own, ...ids].flatMap(toEmployerWords))
}

const toEmployerQuery = (words: readonly string[]): TextQuery =>
  within(['past_employers'], anyOf(words.map(phrase)))

// Conditions on the columns of `companies`. An unknown value fulfils none of them, so that `not` keeps the company.

/** Companies of one of some industries, each given by its id or its name in any spelling. */
export function inIndustries(industries: readonly string[]): Condition {
  const isId = (industry: string): boolean => /^\d+$/.test(industry)
  const names = industries.filter((industry) => !isId(industry)).map(foldText)
  const known = names.flatMap((name) => idOfIndustry(name) ?? [])
  return some([
    isOneOf('industry', industries.filter(isId)),
    isOneOf('industry_name', names),
    // Who has the id alone has its name, too.
    ...ifAny(known, (ids) => every([['industry_name IS NULL'], isOneOf('industry', ids)])),
  ])
}

export const ofSizes = (sizes: readonly (typeof companySizes)[number][]): Condition =>
  isOneOf(
    'size',
    sizes.map((size) => companySizes.indexOf(size)),
  )

export const ofTypes = (letters: readonly string[]): Condition => isOneOf('company_type', letters)

/** Companies whose yearly revenue is within bounds in millions, in the currency if one is given; all without bounds. */
export function withRevenue(min?: number, max?: number, currency?: string): Condition[] {
  const bounds = between('revenue', min && min * 1_000_000, max && max * 1_000_000)
  const isIn: Condition[] = currency === undefined ? [] : [['revenue_currency = ?', currency]]
  return bounds.length > 0 ? [...bounds, ...isIn] : []
}

/** Returns the conditions of the bounds of a column that are given, inclusive. */
export const between = (column: string, min: number | undefined, max: number | undefined): Condition[] => [
  ...(min === undefined ? [] : [[`${column} >= ?`, min] as const]),
  ...(max === undefined ? [] : [[`${column} <= ?`, max] as const]),
]

/** Returns the conditions of the filters that searches of companies share; empty lists are ignored. */
export const companyConditions = (filters: SharedFilters): Condition[] => [
  ...ifAny(filters.company_size, ofSizes),
  ...ifAny(filters.included_locations, (ids) => inPlaces('included_locations', ids)),
  ...ifAny(filters.excluded_locations, (ids) => not(inPlaces('excluded_locations', ids))),
  ...ifAny(filters.included_industries, inIndustries),
  ...ifAny(filters.excluded_industries, (industries) => not(inIndustries(industries))),
  ...ofSample('companies', filters),
]

/** Returns the condition of records that the sample wrote, and that own data says nothing about. */
export const ofSample = (
  kind: 'companies' | 'people',
  { samples }: Pick<GrowthFilters, 'samples'>,
): Condition[] =>
  samples ? [[`${kind}.key IN (SELECT key FROM sample_records WHERE kind = '${kind}' AND own IS NULL)`]] : []

type SharedFilters = Pick<
  GrowthFilters,
  'samples' | 'company_size' | `${'included' | 'excluded'}_${'locations' | 'industries'}`
>

/** Returns a condition for rows whose `company` fulfils some conditions; none without conditions. */
export function atCompanies(conditions: readonly Condition[]): Condition[] {
  if (conditions.length === 0) return []
  const [sql, ...values] = every(conditions)
  // The `+` keeps SQLite from a lookup by index for each company with each other value.
  return [[`+company IN (SELECT key FROM companies INDEXED BY companies_facts WHERE ${sql})`, ...values]]
}

/** Returns a condition for records in places, on `country`, `region` and `city` (folded). 422 for an unknown place. */
export function inPlaces(field: string, ids: readonly string[]): Condition {
  const places = ids.map((id) => requirePlace(field, id))
  const of = (kind: Place['kind']) => places.filter((place) => place.kind === kind)
  // Unused kinds of places are left out: a scan evaluates the whole condition on every row.
  const inAny = (kind: 'country' | 'region') => {
    const codes = of(kind).flatMap((place) => place[kind] ?? [])
    return ifAny(codes, (some) => isOneOf(kind, some))
  }
  return some([...inAny('country'), ...inAny('region'), ...ifAny(of('city'), (all) => some(inCities(all)))])
}

function requirePlace(field: string, id: string): Place {
  const place = findPlace(id)
  if (place) return place
  throw new ApiError('unknown_place', { field, id: shorten(id) })
}

/** With their region, towns of one name stay apart. A record without a region is in the largest of them. */
function inCities(places: readonly Place[]): Condition[] {
  const rows = places.flatMap((place) =>
    place.names.map((name) => [place.country, name, place.region ?? null] as const),
  )
  const largest = rows.filter(([country, name, region]) => (findRegion(country, name) ?? null) === region)
  return [
    [`(country, city, region) IN (SELECT ${columns(3)} FROM json_each(?))`, JSON.stringify(rows)],
    [
      `region IS NULL AND (country, city) IN (SELECT ${columns(2)} FROM json_each(?))`,
      JSON.stringify(largest),
    ],
  ]
}

const columns = (count: number): string =>
  Array.from({ length: count }, (_, at) => `value ->> ${at}`).join(', ')
