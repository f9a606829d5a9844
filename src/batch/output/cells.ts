import { toJson } from '../../api/values/json.js'

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null

/** A value as the text of one cell: nothing for null, `a; b` for a list of scalars, JSON for what is nested. */
export function cellOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value) && value.every(isScalar)) return value.map(cellOf).join('; ')
  return toJson(value)
}
