import type { SearchPage } from '../../api/values/network-url.js'
import { short } from '../normalize/readers.js'
import { endlessRevenue, narrowing, revenueType } from './filter-types.js'
import { type Asked, type Asks, filterTypeOf, refused } from './filters.js'
import { BrokenQuery, isList, isObject, type Nested, type NestedObject, parseNested } from './grammar.js'
import { decoded, nestedValue, parametersOf, plainValue } from './parameters.js'
import type { UrlValue } from './values.js'

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
    throw refused(`${name}: a value is INCLUDED or EXCLUDED, not '${short(selection)}'`)
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
    throw refused(`${revenueType}: '${short(currency)}' is not a currency such as USD`)
  if (min !== undefined && max !== undefined && min > max)
    throw refused(`${revenueType}: min must not be above max`)
  const most = max === endlessRevenue ? undefined : max
  return min === undefined && most === undefined ? {} : { min, max: most, currency }
}

function endIn(range: NestedObject, end: 'min' | 'max'): number | undefined {
  const text = textAt(range, end)
  if (text !== undefined && !/^\d{1,12}(?:\.\d{1,6})?$/.test(text))
    throw refused(`${revenueType}: '${short(text)}' is not a number of millions`)
  return text === undefined ? undefined : Number(text)
}

/** The text of a key, decoded; undefined where there is none. */
function textAt(object: NestedObject, key: string): string | undefined {
  const value = object.get(key)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw new BrokenQuery()
  return decoded(value).trim() || undefined
}
