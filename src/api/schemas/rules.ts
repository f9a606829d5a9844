import * as z from 'zod'
import type { Fields } from '../values/objects.js'
import type { FieldRefusal } from './fields.js'

/** Returns whether a field was given; an empty list does not count. */
export const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

/** What a rule objects to: the row of the error table, and a sentence (for `missing_keys`: the keys). */
export interface Objection extends FieldRefusal {
  readonly reason: string
}

/** Creates a check of several fields of an object. Unless it is `always` made, all fields are valid by themselves. */
export function rule(object: (fields: Fields) => Objection | undefined, { always = false } = {}) {
  const check = z.check<Fields>(({ value, issues }) => {
    const objection = object(value)
    if (!objection) return
    const { reason, error } = objection
    issues.push({ code: 'custom', input: value, message: reason, params: { error } satisfies FieldRefusal })
  })
  if (always) check._zod.def.when = () => true
  return check
}

/** An objection that answers 400. */
export const badRequest = (reason: string): Objection => ({ error: 'bad_request', reason })
/** An objection that answers 422. */
export const invalid = (reason: string): Objection => ({ error: 'invalid', reason })
/** Fields that the given ones require: 400. */
export const missing = (...keys: string[]): Objection => ({ error: 'missing_keys', reason: keys.join(', ') })

/** At least one of these fields is required: 400. */
export const atLeastOne = (...keys: string[]) =>
  rule((fields) =>
    keys.some((key) => isGiven(fields[key]))
      ? undefined
      : badRequest(`Provide at least one of: ${keys.join(', ')}`),
  )

/** Exactly one of these fields: none is 400, more than one 422. */
export const exactlyOne = (...keys: string[]) =>
  rule((fields) => {
    const count = keys.filter((key) => isGiven(fields[key])).length
    if (count === 1) return undefined
    return count === 0
      ? badRequest(`Provide one of: ${keys.join(', ')}`)
      : invalid(`Provide only one of: ${keys.join(', ')}`)
  })

/** Two fields that exclude each other: 422. */
export const notTogether = (key: string, ...others: string[]) =>
  rule((fields) => {
    const clash = others.filter((other) => isGiven(fields[other]))
    return isGiven(fields[key]) && clash.length > 0
      ? invalid(`${key} cannot be combined with ${clash.join(', ')}`)
      : undefined
  })

/** Only dates are compared; another text is refused by its own field. */
const isNoDate = (end: unknown): boolean => typeof end === 'string' && Number.isNaN(Date.parse(end))

/** The ends of a range, in order: 422. */
export const inOrder = (from: string, to: string) =>
  rule((fields) => {
    const [low, high] = [fields[from], fields[to]]
    const comparable = isGiven(low) && typeof low === typeof high && ![low, high].some(isNoDate)
    const ordered = !comparable || (low as number | string) <= (high as number | string)
    return ordered
      ? undefined
      : invalid(`${from} must not be ${typeof low === 'string' ? 'after' : 'above'} ${to}`)
  })

/** A cursor defines the page, so a page number beside it is a contradiction: 400. */
export const cursorOrPage = () =>
  rule(({ cursor, page }) =>
    cursor !== undefined && page !== undefined ? badRequest('Use cursor or page, not both') : undefined,
  )
