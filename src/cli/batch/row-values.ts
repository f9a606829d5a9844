import type { z } from 'zod'
import { coerceField, kindOf } from '../../api/validation/coerce.js'
import { toCountryCode } from '../../catalogue/normalize/country.js'
import { toE164 } from '../../catalogue/normalize/phone.js'

/** Reads cells as the fields of a schema take them; countries by any of their names, phone numbers with any separators. */
export function valueReader(schema: z.ZodObject): (field: string, cell: string) => unknown {
  const fields: Readonly<Record<string, Parameters<typeof coerceField>[0]>> = schema.shape
  const lists = new Set(Object.keys(fields).filter((name) => isList(fields[name])))
  return (field, cell) => {
    if (field === 'country' || field === 'country_code') return toCountryCode(cell) ?? cell
    const schema = fields[field]
    const value = schema ? coerceField(schema, lists.has(field) ? partsOf(cell) : cell) : cell
    return field === 'phone_number' || field === 'phone_numbers' ? inE164(value) : value
  }
}

const isList = (schema: Parameters<typeof coerceField>[0] | undefined): boolean =>
  schema !== undefined && kindOf(schema).type === 'array'

/** The parts of a cell that holds a list as an output writes it: `a; b`. */
const partsOf = (cell: string): string[] =>
  cell
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Phone numbers as the API takes them; what is none stays as it is, for validation to refuse. */
function inE164(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inE164)
  return typeof value === 'string' ? (toE164(value) ?? value) : value
}
