import { networkOrigin, premiumPathOf, type SearchPage } from '../../api/values/network-url.js'
import { type FilterType, filterTypes, revenueType } from './filter-types.js'
import { type UrlValue, valueReaders } from './values.js'

type Filters = Readonly<Record<string, unknown>>

/** Returns the premium search url of filters, without those that urls do not have. */
export function writeSearchUrl(of: SearchPage['of'], filters: Filters): string {
  const types = [...filterTypes.flatMap((type) => writeFilter(type, of, filters)), ...writeRevenue(filters)]
  const { keyword } = filters
  const query = [
    ...(types.length > 0 ? [`filters:List(${types.join(',')})`] : []),
    ...(typeof keyword === 'string' ? [`keywords:${encodeText(keyword)}`] : []),
  ].join(',')
  return `${networkOrigin}/${premiumPathOf(of)}?query=${encodeURIComponent(`(${query})`)}`
}

function writeFilter(filter: FilterType, of: SearchPage['of'], filters: Filters): string[] {
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

function writeRevenue({ min_revenue: min, max_revenue: max, revenue_currency: currency }: Filters): string[] {
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
