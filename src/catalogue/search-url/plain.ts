import type { SearchPage } from '../../api/values/network-url.js'
import { noFilters, type PlainParameter, plainParameters } from './filter-types.js'
import { type Asked, type Asks, filterTypeOf } from './filters.js'
import { type Parameter, parametersOf, plainItems, plainValue } from './parameters.js'

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
