import type { TaggedPlace } from '../normalize/written-name.js'
import { gazetteer } from './gazetteer.js'

/** Cities whose key in the gazetteer is lower are so large that their names are hardly used as words. */
const largeCities = 5_000

/** Returns the place that a tag in a company's name (`- Munich`) means; a small town is bound to its country. */
export function findTaggedPlace(folded: string): TaggedPlace | undefined {
  const places = gazetteer().named(folded)
  const [first] = places
  if (!first) return undefined
  const isBound = !places.some(
    ({ code, country, key }) => code === country || (typeof code === 'number' && key < largeCities),
  )
  return { countries: [...new Set(places.map(({ country }) => country))], isBound }
}
