import { ApiError } from '../api/errors.js'
import type { ProfileFilters } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import { countryOf } from './country.js'
import type { Candidate } from './match.js'
import { foldText } from './name.js'
import { every, given, holdsAny, not } from './phrases.js'
import { short } from './values.js'

/** A place, and how many people there match. */
interface Place {
  readonly country: string | null
  readonly city: string | null
  readonly people: number
}

/** How many people of a company match. A location is a country by code or name, or a city; 422 for any other. */
export async function countProfiles(
  connection: Connection,
  { key }: Candidate,
  filters: ProfileFilters,
): Promise<number> {
  const titled = (phrases: readonly string[]) => holdsAny('people_text', 'title', phrases)
  const [matches, ...values] = every(
    given([
      [filters.title_to_include, titled],
      [filters.title_to_exclude, (phrases) => not(titled(phrases))],
    ]),
  )
  const places = await connection.all<Place>(
    `SELECT country, json_extract(record, '$.city') AS city, sum(${matches}) AS people
      FROM people WHERE company = ? GROUP BY 1, 2`,
    ...values,
    key,
  )
  const included = located('included_locations', filters.included_locations, places)
  const excluded = located('excluded_locations', filters.excluded_locations, places)
  return places
    .filter((place) => (included ? included.has(place) : true) && !excluded?.has(place))
    .reduce((total, { people }) => total + people, 0)
}

/** The places that locations mean; undefined when no location is given. */
function located(
  field: 'included_locations' | 'excluded_locations',
  locations: readonly string[] | undefined,
  places: readonly Place[],
): Set<Place> | undefined {
  if (!locations || locations.length === 0) return undefined
  return new Set(
    locations.flatMap((location) => {
      const country = countryOf(location)
      if (country !== undefined) return places.filter((place) => place.country === country)
      const city = foldText(location)
      const there = places.filter((place) => place.city !== null && foldText(place.city) === city)
      if (there.length === 0 || city === '') throw unknownLocation(field, location)
      return there
    }),
  )
}

// A place that is nobody's city may be a region, or an id from elsewhere: to count nobody there would be a guess.
const unknownLocation = (field: string, location: string): ApiError =>
  new ApiError('invalid', {
    reason: `${field}: '${short(location)}' is neither a country nor a city of someone at this company; give a country code such as FR`,
  })
