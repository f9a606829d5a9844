import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { ApiError } from '../../api/calls/errors.js'
import type { Location } from '../../api/ports/ports.js'
import { foldText } from '../../identity/name.js'
import { boundText } from '../../storage/driver/connection.js'
import countryIds from './country-ids.json' with { type: 'json' }

export type Place = ReturnType<typeof toPlace>

/** Returns the place with an id of any source, a country code, or an exact name such as `Paris, France`. */
export function findPlace(idOrName: string): Place | undefined {
  const text = idOrName.trim()
  const code = fromPlaceId(text)
  if (code === undefined && looksLikeId(text)) return undefined
  const entry = code === undefined ? parseFirstPlace(text) : gazetteer().byCode(code)
  return entry && toPlace(entry)
}

function toPlace(entry: GazetteerEntry) {
  const { code, country, region, name, also } = entry
  const kind: 'city' | 'country' | 'region' =
    typeof code === 'number' ? 'city' : code === country ? 'country' : 'region'
  return {
    kind,
    code,
    country,
    ...(region === null ? {} : { region }),
    name,
    /** The name with region and country: `Lyon, Auvergne-Rhône-Alpes, France`. */
    context: formatContext(entry),
    /** All its names, folded; its own comes first. */
    names: [foldText(name), ...(also?.split('\n') ?? [])],
  }
}

/** Returns a name with region and country. A region named like the city or the country is left out. */
function formatContext({ code, country, region, name }: GazetteerEntry): string {
  if (code === country) return name
  const land = gazetteer().byCode(country)?.name ?? country
  const around = region === null || region === code ? undefined : gazetteer().byCode(region)?.name
  const isSaid = around === undefined || around === name || foldText(around) === foldText(land)
  return [name, ...(isSaid ? [] : [around]), land].join(', ')
}

/** Size of the cache: a file names few cities, but many times. */
const maxKnownRegions = 20_000

const knownRegions = new Map<string, string | undefined>()

/**
 * Returns the code of a city's region: of the largest city of that name, unless `location` names the region of
 * another one. For an unknown city, the region that `location` names. Answers are cached.
 */
export function findRegion(
  country: string | undefined,
  city: string | undefined,
  location?: string,
): string | undefined {
  const key = `${country}\n${city}\n${location}`
  const known = knownRegions.get(key)
  if (known !== undefined || knownRegions.has(key)) return known
  if (knownRegions.size >= maxKnownRegions) knownRegions.clear()
  const region = readRegion(country, city, location)
  knownRegions.set(key, region)
  return region
}

function readRegion(country: string | undefined, city: string | undefined, location: string | undefined) {
  const cities = country && city ? gazetteer().citiesNamed(country, foldText(city)) : []
  const [largest, ...others] = cities.flatMap(({ region }) => region ?? [])
  if (location === undefined || (largest !== undefined && others.length === 0)) return largest
  const named = parseRegion(country, location)
  return largest === undefined || (named !== undefined && others.includes(named)) ? named : largest
}

/** Returns the region that a text names, or the region of the place that it names. */
function parseRegion(country: string | undefined, location: string): string | undefined {
  const isThere = (entry: GazetteerEntry): boolean =>
    entry.region !== null && entry.country === (country ?? entry.country)
  const [found] = parsePlace(location).filter(isThere)
  if (found?.region) return found.region
  if (country === undefined) return undefined
  const [region] = splitParts(location)
    .flatMap((part) => parsePlace(part))
    .filter((entry) => isThere(entry) && entry.code === entry.region)
  return region?.region ?? undefined
}

type Code = GazetteerEntry['code']
type IdSource = 'live' | 'database' | 'hiring'

/** The network's own ids of countries. Other ids are invented here, above all of the network's. */
const countries: Readonly<Record<string, number>> = countryIds

/** From here on, an id of source `live` is the GeoNames id of a city. */
const firstCity = 200_000_000
/** From here on, it is the code of a country or region, read as a number of base 36. */
const firstCode = 1_000_000_000

/** Returns the id of a place: `geo:FR.84`, `hiring:FR.84`, or for source `live` a number alone. */
function toPlaceId(code: Code, source: IdSource): string {
  if (source !== 'live') return `${source === 'hiring' ? 'hiring' : 'geo'}:${code}`
  if (typeof code === 'number') return String(firstCity + code)
  return String(countries[code] ?? firstCode + Number.parseInt(code.replace('.', ''), 36))
}

/** Returns the code in an id of any source; `undefined` for a text that is no id. */
function fromPlaceId(id: string): Code | undefined {
  const [, code, city] = /^(?:geo|hiring):(?:([A-Z]{2}(?:\.[A-Z0-9]{1,8})?)|(\d{1,12}))$/.exec(id) ?? []
  if (code !== undefined) return code
  if (city !== undefined) return Number(city)
  return /^\d{9,16}$/.test(id) ? fromLiveId(Number(id)) : undefined
}

/** Returns whether a text has the form of an id, so that it is not taken for a name. */
const looksLikeId = (text: string): boolean => /^(?:geo|hiring):|^\d+$/.test(text)

function fromLiveId(id: number): Code | undefined {
  if (id < firstCity) return Object.keys(countries).find((code) => countries[code] === id)
  if (id < firstCode) return id - firstCity
  const letters = (id - firstCode).toString(36).toUpperCase()
  return letters.length > 2 ? `${letters.slice(0, 2)}.${letters.slice(2)}` : letters
}

const maxPlaces = 20
/** Maximum number of places with a prefix that are searched for one in a given country or region. */
const maxCandidates = 2_000

/**
 * Places of a name, best match first, 20 at most: the name itself, then names that begin so, then names with a later
 * word that does; of equal matches countries, then regions, then cities by population.
 */
export function findLocations(name: string, source: IdSource): readonly Location[] {
  const called = parsePlace(name)
  const found =
    called.length < maxPlaces ? [...called, ...findByPrefix(splitParts(name.slice(0, 200)))] : called
  const distinct = [...new Map(found.map((entry) => [entry.key, entry])).values()]
  return distinct.slice(0, maxPlaces).map((entry) => toLocation(toPlace(entry), source))
}

function findByPrefix([name, ...contexts]: readonly string[]): readonly GazetteerEntry[] {
  if (name === undefined) return []
  if (contexts.length === 0) return gazetteer().beginning(name, maxPlaces)
  return keepWithin(gazetteer().beginning(name, maxCandidates), contexts)
}

function toLocation({ code, country, kind, name, context }: Place, source: IdSource): Location {
  const id = toPlaceId(code, source)
  if (source === 'live') return { id, name: context }
  if (source === 'hiring') return { id, name, display_name: context, country_code: country }
  return { id, name, kind, context }
}

/** Longer texts are no places, even with their region and country. */
const maxLength = 200

/** Returns the places that a text names, best first: `Lyon`, `paris texas`, or in an area (`Greater Paris Region`). */
export function parsePlace(text: string): readonly GazetteerEntry[] {
  if (text.length > maxLength) return []
  const parts = splitParts(text)
  const found = [...gazetteer().named(parts.join(' ')), ...findWithin(parts)]
  if (found.length > 0) return [...new Map(found.map((entry) => [entry.key, entry])).values()]
  const center = toCenter(parts)
  return center === undefined ? [] : parsePlace(center)
}

/** Returns the first of `parsePlace`, without reading the others: hundreds of towns may have one name. */
function parseFirstPlace(text: string): GazetteerEntry | undefined {
  if (text.length > maxLength) return undefined
  const parts = splitParts(text)
  const found = gazetteer().firstNamed(parts.join(' ')) ?? findWithin(parts)[0]
  const center = found ? undefined : toCenter(parts)
  return center === undefined ? found : parseFirstPlace(center)
}

/** Returns the parts of a text between its commas, folded. */
const splitParts = (text: string): string[] =>
  text
    .split(/[,;|]/)
    .map(foldText)
    .filter((part) => part !== '')

/** Keeps the places within the regions and countries that the other parts name; unknown parts are ignored. */
function keepWithin(entries: readonly GazetteerEntry[], contexts: readonly string[]) {
  const known = contexts.map(findScopes).filter((scopes) => scopes.length > 0)
  return known.length === 0
    ? []
    : entries.filter((entry) => known.every((scopes) => scopes.some((scope) => isWithin(entry, scope))))
}

function findWithin([name = '', ...contexts]: readonly string[]): readonly GazetteerEntry[] {
  if (contexts.length > 0) return keepWithin(gazetteer().named(name), contexts)
  for (const [head, tail] of splitWords(name)) {
    const entries = gazetteer().named(head)
    const found = entries.length > 0 ? keepWithin(entries, [tail]) : []
    if (found.length > 0) return found
  }
  return []
}

/** Returns the countries and regions that a text names, also one within another: `illinois united states`. */
function findScopes(text: string): readonly GazetteerEntry[] {
  const scopes = gazetteer().named(text).filter(isScope)
  if (scopes.length > 0) return scopes
  for (const [head, tail] of splitWords(text)) {
    const outer = gazetteer().named(tail).filter(isScope)
    const inner = outer.length === 0 ? [] : gazetteer().named(head).filter(isScope)
    const found = inner.filter((entry) => outer.some((scope) => isWithin(entry, scope)))
    if (found.length > 0) return found
  }
  return []
}

const isScope = ({ code }: GazetteerEntry): boolean => typeof code === 'string'

const isWithin = (entry: GazetteerEntry, { code, country }: GazetteerEntry): boolean =>
  entry.code !== code && (code === country ? entry.country === country : entry.region === code)

/** Returns each way to split a text into two, the longest beginning first. */
function splitWords(text: string): [head: string, tail: string][] {
  const words = text.split(' ')
  return words
    .slice(1, 12)
    .map((_, at): [string, string] => [words.slice(0, at + 1).join(' '), words.slice(at + 1).join(' ')])
    .reverse()
}

const before = /^(?:greater|grand|area of|ville de|region de|metropole de) /
const behind = /(?: (?:metropolitan|metro|bay))? (?:area|region)$| et (?:sa )?(?:peripherie|environs)$/

/** Returns the name of the city that an area is named after; `undefined` when it is no such area. */
function toCenter(parts: readonly string[]): string | undefined {
  const bare = parts.map((part) => part.replace(before, '').replace(behind, '')).join()
  return bare === parts.join() ? undefined : bare
}

interface GazetteerEntry {
  /** Lower for larger kinds of places, and for larger places of the same kind. */
  readonly key: number
  /** What its ids carry beside their source: `FR`, `FR.84`, or the GeoNames id of a city. */
  readonly code: string | number
  /** ISO 3166-1 alpha-2 code. */
  readonly country: string
  /** Code of the region (first-level division) that it is or that a city is in, such as `FR.84`. */
  readonly region: string | null
  readonly name: string
  /** Further names, folded, a line each. */
  readonly also: string | null
}

let opened: ReturnType<typeof open> | undefined

/** Returns the gazetteer, a read-only file beside the program that is opened on first use. */
export function gazetteer() {
  opened ??= open()
  return opened
}

const columns = 'places.key, code, country, region, places.name, also'

/** Opens the countries, regions and cities of the world. Names are given folded. */
function open() {
  const database = new Database(findFile(), { readonly: true, fileMustExist: true })
  const byCode = database.prepare<[string | number], GazetteerEntry>(
    `SELECT ${columns} FROM places WHERE code = ?`,
  )
  const named = database.prepare<[string], GazetteerEntry>(
    `SELECT ${columns} FROM names JOIN places ON places.key = names.place
      WHERE names.folded = ${boundText} AND later = 0 ORDER BY names.place`,
  )
  const citiesNamed = database.prepare<[string, string], GazetteerEntry>(
    `SELECT ${columns} FROM names JOIN places ON places.key = names.place
      WHERE names.folded = ${boundText} AND later = 0 AND country = ${boundText} AND typeof(code) = 'integer' ORDER BY names.place`,
  )
  const beginning = database.prepare<[string, string, number], GazetteerEntry>(
    `SELECT ${columns} FROM (
        SELECT place, min(later) AS later FROM names WHERE folded >= ? AND folded < ?
          GROUP BY place ORDER BY later, place LIMIT ?
      ) JOIN places ON places.key = place ORDER BY later, place`,
  )
  return {
    byCode: (code: string | number) => byCode.get(code),
    /** Returns the places with this name, the most important first. */
    named: (name: string): readonly GazetteerEntry[] => named.all(name),
    firstNamed: (name: string): GazetteerEntry | undefined => named.get(name),
    /** Returns the cities of a country with this name, the largest first. */
    citiesNamed: (country: string, name: string) => citiesNamed.all(name, country),
    /** Returns places whose name begins so, then those with a later word that does, the most important first. */
    beginning: (text: string, limit: number) => beginning.all(text, `${text}\u{10ffff}`, limit),
  }
}

/** Returns the path of the file: beside the program, above the library's chunks, or in the build of these sources. */
function findFile(): string {
  const paths = ['./places.db', '../places.db', '../../../dist/places.db'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  const path = paths.find(existsSync)
  if (path === undefined)
    throw new ApiError('storage_failed', { reason: 'places.db is missing: install the program again' })
  return path
}
