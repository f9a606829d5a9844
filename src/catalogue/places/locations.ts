import type { Location } from '../../engine/ports/ports.js'
import { type Entry, gazetteer } from './gazetteer.js'
import { narrowed, partsOf, placesCalled } from './parse-place.js'
import { idOf, type Place, placeFrom } from './place.js'

type Source = Parameters<typeof idOf>[1]

/** Places answered at most. */
const most = 20
/** Places that begin with a word, looked through for those in a country or region that is named too. */
const looked = 2_000

/**
 * Places of a name, best match first, 20 at most: the name itself, then names that begin so, then names with a later
 * word that does; of equal matches countries, then regions, then cities by population.
 */
export function findLocations(name: string, source: Source): readonly Location[] {
  const called = placesCalled(name)
  const found = called.length < most ? [...called, ...begun(partsOf(name.slice(0, 200)))] : called
  const distinct = [...new Map(found.map((entry) => [entry.key, entry])).values()]
  return distinct.slice(0, most).map((entry) => shown(placeFrom(entry), source))
}

function begun([name, ...contexts]: readonly string[]): readonly Entry[] {
  if (name === undefined) return []
  if (contexts.length === 0) return gazetteer().beginning(name, most)
  return narrowed(gazetteer().beginning(name, looked), contexts)
}

function shown({ code, country, kind, name, context }: Place, source: Source): Location {
  const id = idOf(code, source)
  if (source === 'live') return { id, name: context }
  if (source === 'hiring') return { id, name, display_name: context, country_code: country }
  return { id, name, kind, context }
}
