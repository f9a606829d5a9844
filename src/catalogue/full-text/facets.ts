import type { CompanyFilters } from '../../api/ports/ports.js'
import { companySizes, industries } from '../../api/schemas/enumerations.js'
import { once } from '../../api/values/objects.js'
import { foldText } from '../../identity/name.js'
import { boundInteger } from '../../storage/driver/connection.js'
import { findPlace } from '../places/place.js'
import type { Condition } from './keyword.js'

// In SQLite the id of a company's words is its key, followed by 17 bits: what searches filter by most, in codes. A keyword
// that hundreds of thousands of companies have is narrowed by these alone; each other look costs a page of an index. One
// code stands for several countries or industries, so whoever is left is compared with the filters as ever.

/** The columns of a company that its facets tell of. */
export interface FacetColumns {
  readonly country?: unknown
  readonly industry?: unknown
  readonly industry_name?: unknown
  readonly size?: unknown
  readonly headcount?: unknown
}

export const facetColumns = ['country', 'industry', 'industry_name', 'size', 'headcount'] as const

/** How many codes texts are spread over; none and any other one come behind them. */
const codes = 50
const none = codes
const other = codes + 1
const noSize = 15

export const facetBits = 17
const places = { country: 11, industry: 5, size: 1 } as const
const widest = { country: 63, industry: 63, size: 15 } as const

/** Returns the facets of a company as a number. */
export function toFacets({ country, industry, industry_name, size, headcount }: FacetColumns): number {
  return (
    (codeOf(country) << places.country) |
    (industryCode(industry, industry_name) << places.industry) |
    (sizeCode(size) << places.size) |
    (isKnown(headcount) ? 1 : 0)
  )
}

const isKnown = (value: unknown): boolean => value !== null && value !== undefined

/** A number of PostgreSQL may come as a text. */
function sizeCode(size: unknown): number {
  const at = isKnown(size) ? Number(size) : noSize
  return at >= 0 ? at : noSize
}

function codeOf(value: unknown): number {
  if (!isKnown(value)) return none
  const text = String(value)
  let code = 0
  for (let at = 0; at < text.length; at++) code = (code * 33 + text.charCodeAt(at)) % codes
  return code
}

/** An industry is found by its id or by its name: where an id has another name than ours, it may be any. */
function industryCode(id: unknown, name: unknown): number {
  if (!isKnown(id)) return codeOf(name)
  const own = isKnown(name) ? undefined : nameOfIndustry(String(id))
  return own === undefined ? other : codeOf(own)
}

const names = once(
  (): ReadonlyMap<string, string> =>
    new Map(Object.entries(industries).map(([id, name]) => [id, foldText(name)])),
)
const ids = once((): ReadonlyMap<string, string> => new Map([...names()].map(([id, name]) => [name, id])))

/** Returns the folded name of an industry whose id is known. */
export const nameOfIndustry = (id: string | null): string | undefined => names().get(id ?? '')

/** Returns the id of an industry by its folded name. */
export const idOfIndustry = (name: string): string | undefined => ids().get(name)

/** Returns conditions that every company fulfils whom filters include, over the id of its words. */
export function facetConditions(rowid: string, filters: CompanyFilters): Condition[] {
  const { company_size, included_locations, included_industries } = filters
  const hasOneOf = (facet: keyof typeof places, wanted: readonly number[]): Condition => {
    const mask = [...new Set(wanted)].reduce((sum, code) => sum + 2 ** code, 0)
    return [`(${boundInteger} >> ((${rowid} >> ${places[facet]}) & ${widest[facet]})) & 1 = 1`, mask]
  }
  const countries = included_locations?.flatMap((id) => {
    const place = findPlace(id)
    // Who is in a region may have no country.
    return place && place.kind !== 'region' ? [codeOf(place.country)] : []
  })
  return [
    ...(company_size?.length
      ? [
          hasOneOf(
            'size',
            company_size.map((size) => companySizes.indexOf(size)),
          ),
        ]
      : []),
    ...(included_industries?.length
      ? [
          hasOneOf('industry', [
            other,
            ...included_industries.map((one) => codeOf(nameOfIndustry(one) ?? foldText(one))),
          ]),
        ]
      : []),
    ...(countries?.length && countries.length === included_locations?.length
      ? [hasOneOf('country', countries)]
      : []),
  ]
}
