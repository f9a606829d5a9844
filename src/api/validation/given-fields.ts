import * as z from 'zod'
import type { Shape } from '../areas/shapes.js'
import { ApiError } from '../calls/errors.js'
import { type Aliases, aliasesOf, type OperationId, operation, wrapperOf } from '../operations/table.js'
import { importFields } from '../schemas/enumerations.js'
import { takesNumbers } from '../schemas/fields.js'
import { mostAlike } from '../values/nearest.js'
import { type Fields, isBlank, isObject } from '../values/objects.js'
import { bare } from './coerce.js'

type Schemas = Readonly<Record<string, z.core.$ZodType>>
type Input = Pick<Shape, 'input'>

/**
 * Returns the fields of a request without empty ones: `""` and `null` are the same as leaving a known field out. Those
 * of the path stay, and `live`, which must be true or false.
 */
export function withoutBlanks(id: OperationId, { input }: Input, fields: Fields): Fields {
  const { path } = operation(id)
  const keeps = (name: string) => name === 'live' || path.includes(`{${name}}`)
  return dropBlanks(input.shape, aliasesOf(id), unwrap(id, fields), keeps)
}

/** Returns fields that are inside a wrapper beside the others. Throws 422 for one that is given in both places. */
export function unwrap(id: OperationId, fields: Fields): Fields {
  const wrapper = wrapperOf(id)
  const inner = wrapper === undefined ? undefined : fields[wrapper]
  if (wrapper === undefined || !isObject(inner)) return fields
  const { [wrapper]: _, ...beside } = fields
  const given = Object.entries(inner).filter(([, value]) => !isBlank(value))
  const twice = given.find(([name]) => !isBlank(beside[name] ?? null))?.[0]
  if (twice !== undefined) throw twoSpellings(twice, `${wrapper}.${twice}`)
  return { ...beside, ...Object.fromEntries(given) }
}

function dropBlanks(
  schemas: Schemas,
  aliases: Aliases,
  fields: Fields,
  keeps: (name: string) => boolean = () => false,
): Fields {
  if (!Object.values(fields).some((value) => isBlank(value) || Array.isArray(value))) return fields
  const entries = Object.entries(fields)
  const left = entries.map(([name, value]) => {
    const own = nameOf(aliases, name)
    if (keeps(name) || !Object.hasOwn(schemas, own)) return value
    return isBlank(value)
      ? undefined
      : mapItems(schemas[own], value, (item, of) => dropBlanks(of, aliases, item))
  })
  if (entries.every(([, value], at) => left[at] === value)) return fields
  return Object.fromEntries(
    entries.map(([name], at) => [name, left[at]]).filter(([, value]) => value !== undefined),
  )
}

/** Returns whether there are other spellings; without them the items of a list need not be read. */
const hasAny = (aliases: Aliases): boolean => Object.keys(aliases).length > 0

/** Returns whether fields have their internal spelling and no lists, as most have: nothing in them needs to be renamed. */
const isInternal = (aliases: Aliases, fields: Fields): boolean => {
  for (const name in fields) if (Object.hasOwn(aliases, name) || Array.isArray(fields[name])) return false
  return true
}

const nameOf = (aliases: Aliases, name: string): string =>
  Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name

/** Changes the objects in a list of objects with known fields. Another value stays as it is. */
function mapItems(
  field: z.core.$ZodType | undefined,
  value: unknown,
  change: (item: Fields, schemas: Schemas) => Fields,
): unknown {
  const list = field && bare(field)
  const item = list instanceof z.ZodArray ? bare(list.element) : undefined
  if (!(item instanceof z.ZodObject) || !Array.isArray(value)) return value
  const changed = value.map((one: unknown) => (isObject(one) ? change(one, item.shape) : one))
  return changed.some((one, at) => one !== value[at]) ? changed : value
}

/** Most unknown fields that an answer names. */
const mostNamed = 5
/** Longest name that an answer repeats. */
const longestName = 80

/**
 * Throws 422 for a field in two spellings and, where fields choose records, for one that is not known: a search that
 * ignored it would find others.
 */
export function checkNames(id: OperationId, { input }: Input, fields: Fields): void {
  const aliases = aliasesOf(id)
  checkSpellings(input.shape, aliases, fields)
  if (!operation(id).filters) return
  const unknown = findUnknown(id, { input }, fields)
  if (unknown.length === 0) return
  const known = Object.keys(input.shape)
  const named = unknown.slice(0, mostNamed).map((name) => {
    const shown = name.slice(0, longestName)
    return `Unknown field ${shown || '""'}, the nearest is ${mostAlike(shown, known)}`
  })
  throw new ApiError('invalid', {
    reason: [...named, ...(unknown.length > mostNamed ? ['and more'] : [])].join('; '),
  })
}

/** Returns the names of the fields that an operation does not know, in any of its spellings. */
export function findUnknown(id: OperationId, { input }: Input, fields: Fields): string[] {
  const known = Object.keys(input.shape)
  const taken = new Set<string>(operation(id).flag === 'preview' ? [...known, ...importFields] : known)
  return Object.keys(fields).filter((name) => !taken.has(nameOf(aliasesOf(id), name)))
}

function checkSpellings(schemas: Schemas, aliases: Aliases, fields: Fields): Fields {
  if (isInternal(aliases, fields)) return fields
  const spellings = new Map<string, string>()
  for (const name of Object.keys(fields)) {
    const own = nameOf(aliases, name)
    const other = spellings.get(own)
    if (other !== undefined) throw twoSpellings(other, name)
    spellings.set(own, name)
    if (hasAny(aliases)) mapItems(schemas[own], fields[name], (item, of) => checkSpellings(of, aliases, item))
  }
  return fields
}

/** The refusal of a field that is given twice, under two names. */
export const twoSpellings = (one: string, other: string): ApiError =>
  new ApiError('invalid', { reason: `${one} and ${other} are the same field: give one of them` })

/** Returns the fields in their internal spelling, with numbers in lists of ids as text. */
export const toInternal = (id: OperationId, { input }: Input, fields: Fields): Fields =>
  rename(input.shape, aliasesOf(id), fields)

function rename(schemas: Schemas, aliases: Aliases, fields: Fields): Fields {
  if (isInternal(aliases, fields)) return fields
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const own = nameOf(aliases, name)
      const field = Object.hasOwn(schemas, own) ? schemas[own] : undefined
      const read = field ? idsAsText(field, value) : value
      return [own, hasAny(aliases) ? mapItems(field, read, (item, of) => rename(of, aliases, item)) : read]
    }),
  )
}

function idsAsText(field: z.core.$ZodType, value: unknown): unknown {
  const list = bare(field)
  if (!(list instanceof z.ZodArray) || !takesNumbers(list.element) || !Array.isArray(value)) return value
  return value.map((one) => (Number.isInteger(one) || typeof one === 'bigint' ? String(one) : one))
}
