import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../api/calls/errors.js'
import { bounds, isClean, wrongSearchUrl } from '../../api/schemas/fields.js'
import { type SearchPage, searchPageOf } from '../../api/values/network-url.js'
import type { DecodedSearch } from '../../engine/ports/ports.js'
import { parseProfile } from '../normalize/profile.js'
import { shorten } from '../normalize/readers.js'
import {
  endlessRevenue,
  type FilterType,
  filterTypes,
  narrowing,
  noFilters,
  type PlainParameter,
  plainParameters,
  revenueType,
} from './filter-types.js'
import {
  BrokenQuery,
  decoded,
  isList,
  isObject,
  type Nested,
  type NestedObject,
  nestedValue,
  type Parameter,
  parametersOf,
  parseNested,
  plainItems,
  plainValue,
} from './grammar.js'
import { readerOf, type UrlValue } from './values.js'
import { writeSearchUrl } from './write.js'

type Kind = DecodedSearch['kind']

/**
 * The search that a search url of the network stands for, premium or plain, as people paste it. 400 for the url of
 * anything else, 422 for a search with a filter that cannot be honoured, or with none.
 */
export function searchAt(url: string, of: Kind): DecodedSearch {
  const page = url.length <= bounds.searchUrl ? searchPageOf(url) : undefined
  if (page?.of !== of) throw wrongUrl(of)
  const filters = filtersFor(asksOf(page), of)
  if (Object.keys(filters).length > 0) return { kind: of, filters } as DecodedSearch
  throw refused(
    'it has no filter and no keyword; open the search, wait for its results, and copy the address then',
  )
}

const wrongUrl = (of: Kind, why = ''): ApiError =>
  new ApiError('bad_request', { reason: `search_url ${wrongSearchUrl(of)}${why}` })

function asksOf(page: SearchPage): Asks {
  try {
    return page.premium ? asksOfPremium(page) : asksOfPlain(page)
  } catch (error) {
    if (error instanceof BrokenQuery) throw wrongUrl(page.of, '; its query is cut off or broken')
    throw error
  }
}

/**
 * The premium url of a search on the network; null where it has filters that urls do not have. What a url says is
 * read back, so that it never opens another search.
 */
export function urlOf({ kind, filters }: DecodedSearch): string | null {
  const given = givenIn(filters)
  const url = writeSearchUrl(kind, given)
  try {
    return isDeepStrictEqual(searchAt(url, kind).filters, given) ? url : null
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

type Filters = Extract<DecodedSearch, { kind: 'people' }>['filters']

/** Filters without those that say nothing; the one company whose people are meant is a filter by its number. */
function givenIn({ company, ...others }: Filters): Readonly<Record<string, unknown>> {
  const number = company?.networkId ?? (company?.url && parseProfile(company.url)?.id)
  const employer =
    company && number && !others.included_companies?.length ? { included_companies: [number] } : { company }
  const saysNothing = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(
    Object.entries({ ...others, ...employer }).filter(([, value]) => !saysNothing(value)),
  )
}

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
    const names = [...new Set(asks.unknown)].map(shorten)
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
  throw refused(`${name}: '${shorten(value.text || value.id || '')}' is not ${expected}`)
}

function checked(name: string, text: string, max: number): string {
  if (text.length > max) throw refused(`${name} must be at most ${max} characters`)
  if (!isClean(text)) throw refused(`${name} must not contain NUL or broken characters`)
  return text
}

/** What a url of the premium search tool asks for. Throws `BrokenQuery` where its query is not in the nested notation. */
export function asksOfPremium({ of, query }: SearchPage): Asks {
  const parameters = parametersOf(query).filter(({ value }) => value.trim() !== '')
  const written = (key: string) => parameters.find(({ name }) => name === key)?.value
  const nested = written('query')
  const root: NestedObject = nested === undefined ? new Map() : parseNested(nestedValue(nested))
  const filters = filtersIn(root)
  const others = filters.filter((filter) => nameOf(filter) !== revenueType || of !== 'companies')
  const names = [...parameters.map(({ name }) => name), ...root.keys()]
  const asides = written('keywords')
  return {
    keyword: textAt(root, 'keywords') ?? (asides === undefined ? undefined : plainValue(asides)),
    ...revenueIn(filters.find((filter) => !others.includes(filter))),
    values: others.flatMap((filter) => valuesIn(filter, of)),
    unknown: [
      ...names.filter((name) => narrowing.test(name)),
      ...others.map(nameOf).filter((name) => filterTypeOf(name, of) === undefined),
    ],
  }
}

function filtersIn(root: NestedObject): NestedObject[] {
  const filters = root.get('filters') ?? []
  if (!isList(filters) || !filters.every(isObject)) throw new BrokenQuery()
  return filters.filter(isObject)
}

/** The type of a filter, with its sub-filter where it has one; that of a revenue is its currency. */
function nameOf(filter: NestedObject): string {
  const [type, sub] = [textAt(filter, 'type'), textAt(filter, 'selectedSubFilter')]
  if (type === undefined) throw new BrokenQuery()
  return sub === undefined || type === revenueType ? type : `${type}:${sub}`
}

function valuesIn(filter: NestedObject, of: SearchPage['of']): Asked[] {
  const name = nameOf(filter)
  const type = filterTypeOf(name, of)
  if (!type) return []
  const values = filter.get('values')
  if (!isList(values)) throw refused(`${name} has no list of values`)
  return values.map((value) => ({
    name,
    filter: type,
    value: valueIn(value),
    excluded: isExcluded(name, value),
  }))
}

function valueIn(value: Nested): UrlValue {
  if (!isObject(value)) throw new BrokenQuery()
  const [id, text] = [textAt(value, 'id'), textAt(value, 'text')]
  return { ...(id === undefined ? {} : { id }), ...(text === undefined ? {} : { text }) }
}

function isExcluded(name: string, value: Nested): boolean {
  const selection = (isObject(value) && textAt(value, 'selectionType')) || 'INCLUDED'
  if (selection !== 'INCLUDED' && selection !== 'EXCLUDED')
    throw refused(`${name}: a value is INCLUDED or EXCLUDED, not '${shorten(selection)}'`)
  return selection === 'EXCLUDED'
}

/** A range of revenue in millions. */
function revenueIn(filter: NestedObject | undefined): Pick<Asks, 'min' | 'max' | 'currency'> {
  if (!filter) return {}
  const range = filter.get('rangeValue')
  if (!isObject(range)) throw refused(`${revenueType} has no range`)
  const [min, max] = [endIn(range, 'min'), endIn(range, 'max')]
  const currency = textAt(filter, 'selectedSubFilter')
  if (currency !== undefined && !/^[A-Z]{3}$/.test(currency))
    throw refused(`${revenueType}: '${shorten(currency)}' is not a currency such as USD`)
  if (min !== undefined && max !== undefined && min > max)
    throw refused(`${revenueType}: min must not be above max`)
  const most = max === endlessRevenue ? undefined : max
  return min === undefined && most === undefined ? {} : { min, max: most, currency }
}

function endIn(range: NestedObject, end: 'min' | 'max'): number | undefined {
  const text = textAt(range, end)
  if (text !== undefined && !/^\d{1,12}(?:\.\d{1,6})?$/.test(text))
    throw refused(`${revenueType}: '${shorten(text)}' is not a number of millions`)
  return text === undefined ? undefined : Number(text)
}

/** The text of a key, decoded; undefined where there is none. */
function textAt(object: NestedObject, key: string): string | undefined {
  const value = object.get(key)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw new BrokenQuery()
  return decoded(value).trim() || undefined
}

/** What a url of the plain search asks for. */
export function asksOfPlain({ of, query }: SearchPage): Asks {
  const known = plainParameters[of]
  const parameters = parametersOf(query).filter(({ name, value }) => !saysNothing(name, value))
  const isKnown = ({ name }: Parameter) => name === 'keywords' || Object.hasOwn(known, name)
  const keywords = parameters.find(({ name }) => name === 'keywords')
  return {
    keyword: keywords && plainValue(keywords.value),
    values: parameters.flatMap((parameter) => {
      const row = Object.hasOwn(known, parameter.name) ? known[parameter.name] : undefined
      return row ? askedBy(parameter, row, of) : []
    }),
    unknown: parameters.filter((parameter) => !isKnown(parameter)).map(({ name }) => name),
  }
}

/** Without a value nothing is filtered; what begins with an underscore or `utm_` is for statistics. */
const saysNothing = (name: string, value: string): boolean =>
  noFilters.has(name) || /^(?:_|utm_)/.test(name) || plainItems(value).length === 0

function askedBy({ name, value }: Parameter, { type, holds }: PlainParameter, of: SearchPage['of']): Asked[] {
  const filter = filterTypeOf(type, of)
  if (!filter) return []
  const values =
    holds === 'text'
      ? [{ text: plainValue(value) }]
      : plainItems(value).map((item) => ({ id: item, text: item }))
  return values.map((one) => ({ name, filter, value: one, excluded: false }))
}
