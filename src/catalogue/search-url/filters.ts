import { ApiError } from '../../api/calls/errors.js'
import { bounds, isClean } from '../../api/schemas/fields.js'
import type { SearchPage } from '../../api/values/network-url.js'
import { short } from '../normalize/readers.js'
import { type FilterType, filterTypes } from './filter-types.js'
import { readerOf, type UrlValue } from './values.js'

/** A value that a url asks for, under the name that the url has for its filter. */
export interface Asked {
  readonly name: string
  readonly filter: FilterType
  readonly value: UrlValue
  readonly excluded: boolean
}

/** What a search url asks for. */
export interface Asks {
  readonly keyword?: string | undefined
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly currency?: string | undefined
  readonly values: readonly Asked[]
  /** Names of filters that are not understood. */
  readonly unknown: readonly string[]
}

/** The refusal of a search that is understood, but cannot be honoured. */
export const refused = (reason: string): ApiError =>
  new ApiError('invalid', { reason: `search_url: ${reason}` })

/** The type of filter of a name, where searches of this kind have it. */
export const filterTypeOf = (name: string, of: SearchPage['of']): FilterType | undefined =>
  filterTypes.find(({ type, [of]: target }) => type === name && target !== undefined)

/** The filters that a url asks for; 422 names those that cannot be honoured. */
export function filtersFor(asks: Asks, of: SearchPage['of']): Readonly<Record<string, unknown>> {
  if (asks.unknown.length > 0) {
    const names = [...new Set(asks.unknown)].map(short)
    throw refused(`these filters cannot be honoured, remove them from the search: ${names.join(', ')}`)
  }
  const filters = new Map<string, Target>()
  for (const asked of asks.values) add(filters, asked, of)
  const { keyword, min, max, currency } = asks
  const others = {
    keyword: keyword && checked('keywords', keyword, bounds.keyword),
    min_revenue: min,
    max_revenue: max,
    revenue_currency: currency,
  }
  return Object.fromEntries([
    ...Object.entries(others).filter(([, value]) => value !== undefined && value !== ''),
    ...[...filters].map(([target, byName]) => [target, chosen(target, byName)]),
  ])
}

/** The values asked for one of our filters, under each name that the url has for it. */
type Target = Map<string, Set<string>>

function add(filters: Map<string, Target>, asked: Asked, of: SearchPage['of']): void {
  const { name, filter, value, excluded } = asked
  const [include, exclude] = filter[of] ?? []
  const target = excluded ? exclude : include
  if (target === undefined) throw refused(`${name} can only include here, remove what it excludes`)
  const byName = filters.get(target) ?? new Map<string, Set<string>>()
  const values = byName.get(name) ?? new Set()
  for (const one of valuesOf(name, filter, value)) values.add(checked(name, one, bounds.text))
  filters.set(target, byName.set(name, values))
}

/** Filters that are one text. */
const singles = new Set(['first_name', 'last_name'])

/** The values of a filter. The network finds what fulfils both of two names, our filter what fulfils one. */
function chosen(target: string, byName: Target): string | readonly string[] {
  const [[name, values] = ['', new Set<string>()], ...others] = byName
  const other = others.find(
    ([, set]) => set.size !== values.size || [...set].some((value) => !values.has(value)),
  )
  if (other) throw refused(`${name} and ${other[0]} cannot be combined here, remove one of them`)
  const most = singles.has(target) ? 1 : bounds.items
  if (values.size > most) throw refused(`${name} has too many values, ${most} at most`)
  const [only = ''] = values
  return singles.has(target) ? only : [...values]
}

function valuesOf(name: string, { value: kind }: FilterType, value: UrlValue): readonly string[] {
  const { read, expected } = readerOf(kind)
  const values = read(value)
  if (values.length > 0) return values
  throw refused(`${name}: '${short(value.text || value.id || '')}' is not ${expected}`)
}

function checked(name: string, text: string, max: number): string {
  if (text.length > max) throw refused(`${name} must be at most ${max} characters`)
  if (!isClean(text)) throw refused(`${name} must not contain NUL or broken characters`)
  return text
}
