import type { Location } from '../../engine/ports/ports.js'
import { type GazetteerEntry, gazetteer } from './gazetteer.js'
import { keepWithin, parsePlace, splitParts } from './parse-place.js'
import { type Place, toPlace, toPlaceId } from './place.js'

type Source = Parameters<typeof toPlaceId>[1]

/** Maximum number of places returned. */
const maxPlaces = 20
/** Maximum number of places with a prefix that are searched for one in a given country or region. */
const maxCandidates = 2_000

/**
 * Places of a name, best match first, 20 at most: the name itself, then names that begin so, then names with a later
 * word that does; of equal matches countries, then regions, then cities by population.
 */
export function findLocations(name: string, source: Source): readonly Location[] {
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

function toLocation({ code, country, kind, name, context }: Place, source: Source): Location {
  const id = toPlaceId(code, source)
  if (source === 'live') return { id, name: context }
  if (source === 'hiring') return { id, name, display_name: context, country_code: country }
  return { id, name, kind, context }
}
