import { foldText } from '../normalize/name.js'
import { type Entry, gazetteer } from './gazetteer.js'
import { partsOf, placesCalled } from './parse-place.js'
import { codeOf, looksLikeId } from './place-id.js'

/** A country, a region of it, or a city. */
export interface Place {
  readonly kind: 'country' | 'region' | 'city'
  /** What its ids carry beside their source: `FR`, `FR.84`, or the GeoNames id of a city. */
  readonly code: string | number
  /** ISO 3166-1 alpha-2 code. */
  readonly country: string
  /** Code of the region (first-level division) that it is or that a city is in, such as `FR.84`. */
  readonly region?: string
  /** A city's name, folded. */
  readonly city?: string
  readonly name: string
  /** With what it is in: `Lyon, Auvergne-Rhône-Alpes, France`. */
  readonly context: string
  /** All its names, folded; its own comes first. */
  readonly names: readonly string[]
}

/** The place of an id of any source, of a country's code, or of an exact name such as `Paris, France`. */
export function placeOf(idOrName: string): Place | undefined {
  const text = idOrName.trim()
  const code = codeOf(text)
  if (code === undefined && looksLikeId(text)) return undefined
  const entry = code === undefined ? placesCalled(text)[0] : gazetteer().byCode(code)
  return entry && placeFrom(entry)
}

/** A place of the gazetteer in full. */
export function placeFrom(entry: Entry): Place {
  const { code, country, region, name, also } = entry
  const own = foldText(name)
  const kind = typeof code === 'number' ? 'city' : code === country ? 'country' : 'region'
  return {
    kind,
    code,
    country,
    ...(region === null ? {} : { region }),
    ...(kind === 'city' ? { city: own } : {}),
    name,
    context: contextOf(entry),
    names: [own, ...(also?.split('\n') ?? [])],
  }
}

/** A name with the names of what is around; a region that is called like the city or the country is said once. */
function contextOf({ code, country, region, name }: Entry): string {
  if (code === country) return name
  const land = gazetteer().byCode(country)?.name ?? country
  const around = region === null || region === code ? undefined : gazetteer().byCode(region)?.name
  const isSaid = around === undefined || around === name || foldText(around) === foldText(land)
  return [name, ...(isSaid ? [] : [around]), land].join(', ')
}

/**
 * The code of the region that a city of a country is in: of the largest city of that name, unless `location` names
 * another's region. Where the city is not known, of what `location` names. Cheap for what was asked before.
 */
export const regionOf = remembering()

/** Answers remembered at once; a file names few cities, but many times. */
const most = 20_000

function remembering() {
  const regions = new Map<string, readonly string[]>()
  const located = new Map<string, string | undefined>()
  const remembered = <T>(known: Map<string, T>, key: string, find: () => T): T => {
    const found = known.get(key)
    if (found !== undefined || known.has(key)) return found as T
    if (known.size >= most) known.clear()
    const answer = find()
    known.set(key, answer)
    return answer
  }
  return (country: string | undefined, city: string | undefined, location?: string): string | undefined => {
    const key = `${country} ${city}`
    const [largest, ...others] =
      country && city ? remembered(regions, key, () => regionsOf(country, city)) : []
    if (location === undefined || (largest !== undefined && others.length === 0)) return largest
    const named = remembered(located, `${country} ${location}`, () => regionNamed(country, location))
    return largest === undefined || (named !== undefined && others.includes(named)) ? named : largest
  }
}

/** Regions of a country that have a city of this name, that of the largest first. */
const regionsOf = (country: string, city: string): string[] =>
  gazetteer()
    .citiesNamed(country, foldText(city))
    .flatMap(({ region }) => region ?? [])

/** The region that a text names, or that a place is in which it names. */
function regionNamed(country: string | undefined, location: string): string | undefined {
  const isThere = (entry: Entry): boolean =>
    entry.region !== null && entry.country === (country ?? entry.country)
  const [found] = placesCalled(location).filter(isThere)
  if (found?.region) return found.region
  if (country === undefined) return undefined
  const [region] = partsOf(location)
    .flatMap((part) => placesCalled(part))
    .filter((entry) => isThere(entry) && entry.code === entry.region)
  return region?.region ?? undefined
}
