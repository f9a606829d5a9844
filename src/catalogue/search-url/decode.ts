import { isDeepStrictEqual } from 'node:util'
import { ApiError, isRefusal } from '../../api/calls/errors.js'
import type { DecodedSearch } from '../../api/ports/ports.js'
import { bounds, isClean, wrongSearchUrl } from '../../api/schemas/fields.js'
import { resultOr, withoutUndefined } from '../../api/values/objects.js'
import { networkOrigin, premiumPathOf, type SearchPage, searchPageOf } from '../../api/values/url.js'
import { parseProfile } from '../../identity/profile.js'
import { shorten } from '../../identity/readers.js'
import {
  endlessRevenue,
  type FilterType,
  filterTypes,
  ignoredParameters,
  narrowing,
  type PlainParameter,
  plainParameters,
  revenueType,
} from './filter-types.js'
import {
  brokenQuery,
  decodeItems,
  decodeNested,
  decodeText,
  decodeValue,
  isList,
  isObject,
  type NestedObject,
  type Parameter,
  parseNested,
  parseParameters,
  type UrlValue,
  valueReaders,
} from './grammar.js'

type SearchSubject = DecodedSearch['kind']

/** Decodes a search url as people paste it. 400 for any other url, 422 for unsupported filters or none at all. */
export function decodeSearchUrl(url: string, of: SearchSubject): DecodedSearch {
  const page = url.length <= bounds.searchUrl ? searchPageOf(url) : undefined
  if (page?.of !== of) throw wrongUrl(of)
  const filters = toFilters(parseUrl(page), of)
  if (Object.keys(filters).length > 0) return { kind: of, filters } as DecodedSearch
  throw unsupported(
    'it has no filter and no keyword; open the search, wait for its results, and copy the address then',
  )
}

const wrongUrl = (of: SearchSubject, why = ''): ApiError =>
  new ApiError('bad_request', { reason: `search_url ${wrongSearchUrl(of)}${why}` })

function parseUrl(page: SearchPage): UrlSearch {
  try {
    return page.premium ? parsePremiumUrl(page) : parsePlainUrl(page)
  } catch (error) {
    if (isRefusal(error, 'field.broken_query')) throw wrongUrl(page.of, '; its query is cut off or broken')
    throw error
  }
}

/** Returns the premium url of a search, decoded again to be sure; null when it has filters that urls do not have. */
export function encodeSearchUrl({ kind, filters }: DecodedSearch): string | null {
  const given = withoutEmpty(filters)
  const url = writeSearchUrl(kind, given)
  const decoded = resultOr(undefined, () => decodeSearchUrl(url, kind))
  return isDeepStrictEqual(decoded?.filters, given) ? url : null
}

type Filters = Extract<DecodedSearch, { kind: 'people' }>['filters']

/** Returns the filters without empty ones. The one company whose people are searched becomes a filter by its number. */
function withoutEmpty({ company, ...others }: Filters): Readonly<Record<string, unknown>> {
  const number = company?.networkId ?? (company?.url && parseProfile(company.url)?.id)
  const employer =
    company && number && !others.included_companies?.length ? { included_companies: [number] } : { company }
  const saysNothing = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(
    Object.entries({ ...others, ...employer }).filter(([, value]) => !saysNothing(value)),
  )
}

/** A value in a url, with the url's name for its filter. */
interface UrlFilter {
  readonly name: string
  readonly filter: FilterType
  readonly value: UrlValue
  readonly excluded: boolean
}

interface UrlSearch {
  readonly keyword?: string | undefined
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly currency?: string | undefined
  readonly values: readonly UrlFilter[]
  /** Names of unknown filters. */
  readonly unknown: readonly string[]
}

/** Returns the error for a search that is valid but unsupported. */
export const unsupported = (reason: string): ApiError =>
  new ApiError('invalid', { reason: `search_url: ${reason}` })

/** Returns the filter type of a name; `undefined` when searches of this kind do not have it. */
const findFilterType = (name: string, of: SearchPage['of']): FilterType | undefined =>
  filterTypes.find(({ type, [of]: target }) => type === name && target !== undefined)

/** Maximum number of places in a url. Each may take several searches of the gazetteer, and other requests wait meanwhile. */
const maxPlaces = 200

/** Returns the filters of a url. Throws 422 that names unsupported ones. */
function toFilters(asks: UrlSearch, of: SearchPage['of']): Readonly<Record<string, unknown>> {
  if (asks.unknown.length > 0) {
    const names = [...new Set(asks.unknown)].map(shorten)
    throw unsupported(`these filters are not supported; remove them from the search: ${names.join(', ')}`)
  }
  const [place, ...otherPlaces] = asks.values.filter(({ filter }) => filter.value === 'place')
  if (place && otherPlaces.length >= maxPlaces)
    throw unsupported(`${place.name} has too many places, ${maxPlaces} at most`)
  const filters = new Map<string, ValuesByName>()
  for (const asked of asks.values) add(filters, asked, of)
  const { keyword, min, max, currency } = asks
  const others = {
    keyword: keyword && checkText('keywords', keyword, bounds.keyword),
    min_revenue: min,
    max_revenue: max,
    revenue_currency: currency,
  }
  return Object.fromEntries([
    ...Object.entries(others).filter(([, value]) => value !== undefined && value !== ''),
    ...[...filters].map(([target, byName]) => [target, combineValues(target, byName)]),
  ])
}

/** The values for one of our filters, by the url's names for it. */
type ValuesByName = Map<string, Set<string>>

function add(filters: Map<string, ValuesByName>, asked: UrlFilter, of: SearchPage['of']): void {
  const { name, filter, value, excluded } = asked
  const [include, exclude] = filter[of] ?? []
  const target = excluded ? exclude : include
  if (target === undefined) throw unsupported(`${name} can only include; remove what it excludes`)
  const byName = filters.get(target) ?? new Map<string, Set<string>>()
  const values = byName.get(name) ?? new Set()
  for (const one of toValues(name, filter, value)) values.add(checkText(name, one, bounds.text))
  filters.set(target, byName.set(name, values))
}

/** Filters that are one text. */
const singles = new Set(['first_name', 'last_name'])

/** Returns the values of a filter. The network requires both of two filter names; our filter requires one. */
function combineValues(target: string, byName: ValuesByName): string | readonly string[] {
  const [[name, values] = ['', new Set<string>()], ...others] = byName
  const other = others.find(
    ([, set]) => set.size !== values.size || [...set].some((value) => !values.has(value)),
  )
  if (other) throw unsupported(`${name} and ${other[0]} cannot be combined; remove one of them`)
  const most = singles.has(target) ? 1 : bounds.items
  if (values.size > most) throw unsupported(`${name} has too many values, ${most} at most`)
  const [only = ''] = values
  return singles.has(target) ? only : [...values]
}

function toValues(name: string, { value: kind }: FilterType, value: UrlValue): readonly string[] {
  const { read, expected } = valueReaders[kind]
  const values = read(value)
  if (values.length > 0) return values
  throw unsupported(`${name}: '${shorten(value.text || value.id || '')}' is not ${expected}`)
}

function checkText(name: string, text: string, max: number): string {
  if (text.length > max) throw unsupported(`${name} must be at most ${max} characters`)
  if (!isClean(text)) throw unsupported(`${name} must not contain NUL or broken characters`)
  return text
}

/** Parses a url of the premium search tool. Throws a Refusal when its query is not in the nested notation. */
function parsePremiumUrl({ of, query }: SearchPage): UrlSearch {
  const parameters = parseParameters(query).filter(({ value }) => value.trim() !== '')
  const written = (key: string) => parameters.find(({ name }) => name === key)?.value
  const nested = written('query')
  const root: NestedObject = nested === undefined ? new Map() : parseNested(decodeNested(nested))
  const filters = readFilters(root)
  const others = filters.filter((filter) => filterName(filter) !== revenueType || of !== 'companies')
  const names = [...parameters.map(({ name }) => name), ...root.keys()]
  const asides = written('keywords')
  return {
    keyword: textAt(root, 'keywords') ?? (asides === undefined ? undefined : decodeValue(asides)),
    ...readRevenue(filters.find((filter) => !others.includes(filter))),
    values: others.flatMap((filter) => readValues(filter, of)),
    unknown: [
      ...names.filter((name) => narrowing.test(name)),
      ...others.map(filterName).filter((name) => findFilterType(name, of) === undefined),
    ],
  }
}

function readFilters(root: NestedObject): NestedObject[] {
  const filters = root.get('filters') ?? []
  if (!isList(filters) || !filters.every(isObject)) throw brokenQuery()
  return filters.filter(isObject)
}

/** Returns the type of a filter, with its sub-filter if it has one. The sub-filter of a revenue is its currency. */
function filterName(filter: NestedObject): string {
  const [type, sub] = [textAt(filter, 'type'), textAt(filter, 'selectedSubFilter')]
  if (type === undefined) throw brokenQuery()
  return sub === undefined || type === revenueType ? type : `${type}:${sub}`
}

function readValues(filter: NestedObject, of: SearchPage['of']): UrlFilter[] {
  const name = filterName(filter)
  const type = findFilterType(name, of)
  if (!type) return []
  const values = filter.get('values')
  if (!isList(values)) throw unsupported(`${name} has no list of values`)
  return values.map((one) => {
    if (!isObject(one)) throw brokenQuery()
    const value = withoutUndefined({ id: textAt(one, 'id'), text: textAt(one, 'text') })
    return { name, filter: type, value, excluded: isExcluded(name, one) }
  })
}

function isExcluded(name: string, value: NestedObject): boolean {
  const selection = textAt(value, 'selectionType') ?? 'INCLUDED'
  if (selection !== 'INCLUDED' && selection !== 'EXCLUDED')
    throw unsupported(`${name}: a value is INCLUDED or EXCLUDED, not '${shorten(selection)}'`)
  return selection === 'EXCLUDED'
}

/** Returns a range of revenue, in millions. */
function readRevenue(filter: NestedObject | undefined): Pick<UrlSearch, 'min' | 'max' | 'currency'> {
  if (!filter) return {}
  const range = filter.get('rangeValue')
  if (!isObject(range)) throw unsupported(`${revenueType} has no range`)
  const [min, max] = [readEnd(range, 'min'), readEnd(range, 'max')]
  const currency = textAt(filter, 'selectedSubFilter')
  if (currency !== undefined && !/^[A-Z]{3}$/.test(currency))
    throw unsupported(`${revenueType}: '${shorten(currency)}' is not a currency such as USD`)
  if (min !== undefined && max !== undefined && min > max)
    throw unsupported(`${revenueType}: min must not be above max`)
  const most = max === endlessRevenue ? undefined : max
  return min === undefined && most === undefined ? {} : { min, max: most, currency }
}

function readEnd(range: NestedObject, end: 'min' | 'max'): number | undefined {
  const text = textAt(range, end)
  if (text !== undefined && !/^\d{1,12}(?:\.\d{1,6})?$/.test(text))
    throw unsupported(`${revenueType}: '${shorten(text)}' is not a number of millions`)
  return text === undefined ? undefined : Number(text)
}

/** Returns the decoded text of a key; `undefined` when there is none. */
function textAt(object: NestedObject, key: string): string | undefined {
  const value = object.get(key)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw brokenQuery()
  return decodeText(value).trim() || undefined
}

function parsePlainUrl({ of, query }: SearchPage): UrlSearch {
  const known = new Map(Object.entries(plainParameters[of]))
  const parameters = parseParameters(query).filter(({ name, value }) => !saysNothing(name, value))
  const keywords = parameters.find(({ name }) => name === 'keywords')
  const others = parameters.filter(({ name }) => name !== 'keywords')
  return {
    keyword: keywords && decodeValue(keywords.value),
    values: others.flatMap((parameter) => toUrlFilters(parameter, known.get(parameter.name), of)),
    unknown: others.map(({ name }) => name).filter((name) => !known.has(name)),
  }
}

/** Returns whether a parameter filters nothing: it has no value, or only serves statistics. */
const saysNothing = (name: string, value: string): boolean =>
  ignoredParameters.has(name) || /^(?:_|utm_)/.test(name) || decodeItems(value).length === 0

function toUrlFilters(
  { name, value }: Parameter,
  parameter: PlainParameter | undefined,
  of: SearchPage['of'],
): UrlFilter[] {
  const filter = parameter && findFilterType(parameter.type, of)
  if (!filter) return []
  const values =
    parameter.holds === 'text'
      ? [{ text: decodeValue(value) }]
      : decodeItems(value).map((item) => ({ id: item, text: item }))
  return values.map((one) => ({ name, filter, value: one, excluded: false }))
}

type WrittenFilters = Readonly<Record<string, unknown>>

/** Returns the premium search url of filters, without those that urls do not have. */
function writeSearchUrl(of: SearchPage['of'], filters: WrittenFilters): string {
  const types = [...filterTypes.flatMap((type) => writeFilter(type, of, filters)), ...writeRevenue(filters)]
  const { keyword } = filters
  const query = [
    ...(types.length > 0 ? [`filters:List(${types.join(',')})`] : []),
    ...(typeof keyword === 'string' ? [`keywords:${encodeText(keyword)}`] : []),
  ].join(',')
  return `${networkOrigin}/${premiumPathOf(of)}?query=${encodeURIComponent(`(${query})`)}`
}

function writeFilter(filter: FilterType, of: SearchPage['of'], filters: WrittenFilters): string[] {
  const { type, value: kind, [of]: target = [] } = filter
  const { write } = valueReaders[kind]
  const values = target.flatMap((name, at) =>
    name !== undefined && filterTypeFor(name, of) === filter
      ? listTexts(filters[name]).map((text) => writeValue(write(text), at === 1))
      : [],
  )
  return values.length > 0 ? [`(type:${type},values:List(${values.join(',')}))`] : []
}

/** Returns the type that a filter is written as: the first with this target. */
const filterTypeFor = (name: string, of: SearchPage['of']): FilterType | undefined =>
  filterTypes.find(({ [of]: target }) => target?.some((one) => one === name))

const listTexts = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string')

function writeValue({ id, text }: UrlValue, excluded: boolean): string {
  const parts = [
    ...(id === undefined ? [] : [`id:${encodeText(id)}`]),
    ...(text === undefined ? [] : [`text:${encodeText(text)}`]),
    `selectionType:${excluded ? 'EXCLUDED' : 'INCLUDED'}`,
  ]
  return `(${parts.join(',')})`
}

function writeRevenue(filters: WrittenFilters): string[] {
  const { min_revenue: min, max_revenue: max, revenue_currency: currency } = filters
  const ends = Object.entries({ min, max }).filter(([, end]) => typeof end === 'number')
  if (ends.length === 0) return []
  const range = ends.map(([name, end]) => `${name}:${end}`).join(',')
  const sub = typeof currency === 'string' ? `,selectedSubFilter:${currency}` : ''
  return [`(type:${revenueType},rangeValue:(${range})${sub})`]
}

/** Percent-encodes a text. A lone surrogate has no encoding and becomes U+FFFD. */
const encodeText = (text: string): string =>
  encodeURIComponent(text.replace(/\p{Cs}/gu, '\ufffd')).replace(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
