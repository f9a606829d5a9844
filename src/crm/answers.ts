import { type Fields, isObject, withoutUndefined } from '../api/values/objects.js'
import type { CrmAnswer, CrmLimits } from './connector.js'

/** Returns the objects of a list. */
export const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** Returns the number of a header. */
export const wholeIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,12}$/.test(text.trim()) ? Number(text) : undefined

/** Returns the limit of a day as two headers of an answer say it; what was known before where the answer has neither, as some. */
export function limitsIn(
  { headers }: CrmAnswer,
  before: CrmLimits,
  { limit, remaining }: Readonly<Record<'limit' | 'remaining', string>>,
): CrmLimits {
  const [perDay, leftToday] = [wholeIn(headers[limit]), wholeIn(headers[remaining])]
  if (perDay === undefined && leftToday === undefined) return before
  return withoutUndefined({ unit: before.unit, perDay, leftToday }) as CrmLimits
}

/** Returns when it was, by the text of a CRM. */
export const timeOf = (text: unknown): number => {
  const ms = Date.parse(String(text ?? ''))
  return Number.isNaN(ms) ? 0 : ms
}
