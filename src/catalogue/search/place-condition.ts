import { ApiError } from '../../api/calls/errors.js'
import { type Condition, ifAny, isOneOf, some } from '../full-text/sql-conditions.js'
import { shorten } from '../normalize/readers.js'
import { findPlace, findRegion, type Place } from '../places/place.js'

/**
 * Returns a condition for records in one of some places, on the columns `country`, `region` and `city` (folded). 422
 * for an unknown place.
 */
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
  throw new ApiError('invalid', {
    reason: `${field}: '${shorten(id)}' is not a known place; find its id with prospect locations find`,
  })
}

/**
 * Cities are compared with their region, so that towns of one name stay apart. A record without a region is in the
 * largest of them.
 */
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
