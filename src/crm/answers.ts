import { type Fields, isObject } from '../api/values/objects.js'

/** Returns the objects of a list. */
export const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** Returns the number of a header. */
export const wholeIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,12}$/.test(text.trim()) ? Number(text) : undefined

/** Returns when it was, by the text of a CRM. */
export const timeOf = (text: unknown): number => {
  const ms = Date.parse(String(text ?? ''))
  return Number.isNaN(ms) ? 0 : ms
}
