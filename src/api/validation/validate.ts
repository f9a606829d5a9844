import { hash } from 'node:crypto'
import * as z from 'zod'
import type { InputOf, Shape } from '../areas/shapes.js'
import { ApiError } from '../calls/errors.js'
import {
  type Aliases,
  aliasesOf,
  type Operation,
  type OperationId,
  operation,
  wrapperOf,
} from '../operations/table.js'
import { importFields } from '../schemas/enumerations.js'
import { type FieldRefusal, takesNumbers } from '../schemas/fields.js'
import { toCanonicalJson } from '../values/json.js'
import { closest } from '../values/nearest.js'
import {
  type Fields,
  isBlank,
  isObject,
  markField,
  nameFields,
  nextTurn,
  valueAt,
} from '../values/objects.js'
import { bare, coerceInput, kindOf } from './coerce.js'

type ErrorName = FieldRefusal['error']

/** Most sentences of an answer, and most issues read for them. */
const maxSentences = 5
const maxIssues = 100
/** The specification answers missing and malformed dates alike. */
const missingIsInvalid: ReadonlySet<OperationId> = new Set<OperationId>(['credits.consumption'])

/** Validates and completes the input of an operation. Throws an `ApiError` that names every invalid field. */
export function validate<Id extends OperationId>(id: Id, shape: Shape, input: unknown): InputOf<Id> {
  return parse(id, shape, toFields(id, shape, input))
}

/** Does the same. Other requests have a turn while the items of a long list are validated, and the first invalid ones count. */
export function validateInTurns<Id extends OperationId>(
  id: Id,
  shape: Shape,
  input: unknown,
): InputOf<Id> | Promise<InputOf<Id>> {
  const fields = toFields(id, shape, input)
  const long = Object.keys(shape.input.shape).find((name) => isLong(shape.input.shape[name], fields[name]))
  return long === undefined ? parse(id, shape, fields) : parseInTurns(id, shape, fields, long)
}

async function parseInTurns<Id extends OperationId>(
  id: Id,
  shape: Shape,
  fields: Fields,
  long: string,
): Promise<InputOf<Id>> {
  const items = fields[long] as readonly unknown[]
  const portion = (from: number) => items.slice(from, from + itemsPerTurn)
  const parsed: Fields = parse(id, shape, { ...fields, [long]: portion(0) })
  const list = z.array((bare(shape.input.shape[long]) as z.ZodArray).element)
  const valid = [...(parsed[long] as readonly unknown[])]
  for (let from = itemsPerTurn; from < items.length; from += itemsPerTurn) {
    await nextTurn()
    const { data, error } = list.safeParse(portion(from), wording)
    if (error) {
      const inList = ([at, ...path]: readonly PropertyKey[]) => [long, Number(at) + from, ...path]
      const issues = error.issues.map((issue) => ({ ...issue, path: inList(issue.path) }))
      throw refusal(id, shape, fields, issues)
    }
    for (const item of data) valid.push(item)
  }
  return { ...parsed, [long]: valid } as InputOf<Id>
}

/** Items of a list that are validated in one turn of the event loop. */
const itemsPerTurn = 1_000

const isLong = (field: z.core.$ZodType, value: unknown): boolean =>
  Array.isArray(value) && value.length > itemsPerTurn && value.length <= mostIn(field)

/** Returns how many items a field may have; -1 where it is no list. */
function mostIn(field: z.core.$ZodType): number {
  const list = bare(field)
  if (!(list instanceof z.ZodArray)) return -1
  return (list._zod.bag as { readonly maximum?: number }).maximum ?? Number.POSITIVE_INFINITY
}

function toFields(id: OperationId, shape: Shape, input: unknown): Fields {
  if (!isObject(input)) throw new ApiError('bad_request', { reason: 'The request must be a JSON object' })
  return withoutExcess(shape.input.shape, checkNames(id, shape, withoutBlanks(id, shape, input)))
}

/** Returns fields without the items that follow those for which a list is too long: each may be invalid, too. */
function withoutExcess(schemas: Schemas, fields: Fields): Fields {
  const shortened = Object.entries(fields).flatMap(([name, value]) => {
    if (!Array.isArray(value) || !Object.hasOwn(schemas, name)) return []
    const most = mostIn(schemas[name] as z.core.$ZodType)
    return most >= 0 && value.length > most + 1 ? [[name, value.slice(0, most + 1)]] : []
  })
  return shortened.length === 0 ? fields : { ...fields, ...Object.fromEntries(shortened) }
}

function parse<Id extends OperationId>(id: Id, shape: Shape, fields: Fields): InputOf<Id> {
  const parsed = shape.input.safeParse(fields, wording)
  if (parsed.success) return parsed.data as InputOf<Id>
  throw refusal(id, shape, fields, parsed.error.issues)
}

/** The details of a refusal that says which fields are missing, or what is wrong with some. */
export interface MissingOrInvalid {
  /** Fields of which one is enough. */
  readonly anyOf?: readonly string[]
  readonly fields?: readonly string[]
  readonly sentence?: string
}

function refusal(id: OperationId, shape: Shape, fields: Fields, issues: readonly z.core.$ZodIssue[]) {
  const keys = [
    ...missingKeys(shape.input, fields),
    ...issues.filter(isMissing).map(({ message }) => message),
  ]
  if (keys.length > 0 && !missingIsInvalid.has(id))
    return new ApiError('missing_keys', { keys: keys.join(', '), fields: keys.join(', ').split(', ') })
  const row = findSeverest(issues.map(rowOf))
  const first = issues.filter((issue) => rowOf(issue) === row).slice(0, maxIssues)
  const reported = first.filter((issue) => !isFollowUp(issue, first))
  const sentences = [...new Set(reported.map((issue) => sentenceOf(issue, fields)))]
  if (row === 'missing_keys') return new ApiError(row, { keys: nameFields(sentences.join(', ')) })
  const sentence = joinSentences(sentences)
  const anyOf = reported.length === 1 ? refusalIn(reported[0])?.anyOf : undefined
  return new ApiError(row, { reason: nameFields(sentence), sentence, anyOf })
}

/** Reads the texts of a query. Throws where it has several values of a field that takes one. */
export function coerceQuery(schema: Shape['input'], fields: Fields): Fields {
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape
  const isOne = (name: string) =>
    Object.hasOwn(shape, name) && kindOf(shape[name] as z.ZodType).type !== 'array'
  const [twice] = Object.entries(fields).filter(([name, value]) => Array.isArray(value) && isOne(name))
  if (twice) throw refuseField(twice[0], 'is given more than once')
  return coerceInput(schema, fields)
}

/** Returns the refusal of a field; `why` ends its sentence. */
export function refuseField(name: string, why: string): ApiError {
  const sentence = `${markField(name)} ${why}`
  return new ApiError('invalid', { reason: nameFields(sentence), sentence })
}

/** Returns whether an issue is about the length or the like of a value whose type is wrong. */
const isFollowUp = ({ code, path }: z.core.$ZodIssue, issues: readonly z.core.$ZodIssue[]): boolean =>
  code !== 'invalid_type' &&
  issues.some((other) => other.code === 'invalid_type' && other.path.join() === path.join())

/** Returns the required fields that are missing, in the order of the schema. */
const missingKeys = (schema: z.ZodObject, fields: Fields): string[] =>
  Object.entries(schema.shape as Record<string, z.core.$ZodType>)
    .filter(([name, field]) => field._zod.optin === undefined && (valueAt(fields, [name]) ?? null) === null)
    .map(([name]) => name)

/** Returns whether a rule says that fields are missing; its message names them. */
const isMissing = (issue: z.core.$ZodIssue) => issue.path.length === 0 && rowOf(issue) === 'missing_keys'

/** Missing fields are reported before malformed ones, 400 before 422, and both before 404. */
const findSeverest = (rows: readonly ErrorName[]): ErrorName =>
  (['missing_keys', 'bad_request', 'invalid'] as const).find((row) => rows.includes(row)) ?? 'not_found'

const refusalIn = (issue: z.core.$ZodIssue | undefined): FieldRefusal | undefined =>
  issue?.code === 'custom' ? (issue.params as FieldRefusal | undefined) : undefined

const rowOf = (issue: z.core.$ZodIssue): ErrorName => refusalIn(issue)?.error ?? 'invalid'

const joinSentences = (sentences: readonly string[]): string =>
  sentences.slice(0, maxSentences).join('; ') + (sentences.length > maxSentences ? '; and more' : '')

/** Returns what is wrong with the value of a field, as a sentence that begins with its marked name; `undefined` if nothing is. */
export function describeValue(schema: z.ZodType, name: string, value: unknown): string | undefined {
  const issue = schema.safeParse(value, wording).error?.issues[0]
  return issue && sentenceOf({ ...issue, path: [name] }, { [name]: true })
}

function sentenceOf(issue: z.core.$ZodIssue, fields: Fields): string {
  if (issue.path.length === 0) return issue.message
  const path = markField(issue.path.map(String).join('.'))
  if (valueAt(fields, issue.path) === undefined) return `${path} is required`
  return `${path}${refusalIn(issue)?.isSentence ? ':' : ''} ${issue.message}`
}

/** What is said of a value whose schema has no words of its own. */
const wording = { error: (issue: z.core.$ZodRawIssue): string => `must be ${expectedOf(issue)}` }

function expectedOf(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_value') return `one of: ${issue.values.map(String).join(', ')}`
  return issue.code === 'invalid_type' ? (types[issue.expected] ?? issue.expected) : 'valid'
}

const types: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

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
  if (wrapper === undefined || !(isObject(inner) || isBlank(inner))) return fields
  const { [wrapper]: _, ...beside } = fields
  const given = Object.entries(isObject(inner) ? inner : {}).filter(([, value]) => !isBlank(value))
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

/**
 * Whether a request is of the form that its operation takes: its list has as many objects as may be, and what is to be echoed is
 * an object. What they are filled with is not looked at.
 */
export function isWellFormed({ input: { shape } }: Input, input: unknown): boolean {
  if (!isObject(input)) return false
  const schemas: Schemas = shape
  return Object.entries(schemas).every(([name, schema]) => {
    const list = bare(schema)
    if (!(list instanceof z.ZodArray && bare(list.element) instanceof z.ZodObject))
      return name !== 'custom' || isEchoed(input.custom)
    const items = input[name]
    if (!Array.isArray(items) || !items.every(isObject)) return false
    const issues = list.safeParse(items).error?.issues ?? []
    return issues.every(({ path }) => path.length > 0) && items.every(({ custom }) => isEchoed(custom))
  })
}

const isEchoed = (custom: unknown): boolean => isBlank(custom ?? null) || isObject(custom)

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
const maxNamed = 5
/** Longest name that an answer repeats. */
const maxNameLength = 80

/**
 * Returns the fields in their internal spelling, with numbers in lists of ids as text. Throws 422 for a field in two
 * spellings and, where fields choose records, for one that is not known: a search that ignored it would find others.
 */
export function checkNames(id: OperationId, { input }: Input, fields: Fields): Fields {
  const internal = rename(input.shape, aliasesOf(id), fields)
  const unknown = operation(id).filters ? findUnknown(id, { input }, fields) : []
  if (unknown.length === 0) return internal
  const known = Object.keys(input.shape)
  const named = unknown.slice(0, maxNamed).map((name) => {
    if (name === wrapperOf(id)) return `${name} must be an object`
    const shown = name.slice(0, maxNameLength)
    return `Unknown field ${shown || '""'}, the nearest is ${closest(shown, known)}`
  })
  throw new ApiError('invalid', {
    reason: [...named, ...(unknown.length > maxNamed ? ['and more'] : [])].join('; '),
  })
}

/** Returns the names of the fields that an operation does not know, in any of its spellings. */
export function findUnknown(id: OperationId, { input }: Input, fields: Fields): string[] {
  const known = Object.keys(input.shape)
  const taken = new Set<string>(operation(id).flag === 'preview' ? [...known, ...importFields] : known)
  return Object.keys(fields).filter((name) => !taken.has(nameOf(aliasesOf(id), name)))
}

/** The refusal of a field that is given twice, under two names. */
const twoSpellings = (one: string, other: string): ApiError =>
  new ApiError('invalid', { reason: `${one} and ${other} are the same field: give one of them` })

function rename(schemas: Schemas, aliases: Aliases, fields: Fields): Fields {
  if (isInternal(aliases, fields)) return fields
  const spellings = new Map<string, string>()
  const renamed: [string, unknown][] = []
  for (const [name, value] of Object.entries(fields)) {
    const own = nameOf(aliases, name)
    const other = spellings.get(own)
    if (other !== undefined) throw twoSpellings(other, name)
    spellings.set(own, name)
    const field = Object.hasOwn(schemas, own) ? schemas[own] : undefined
    const read = field ? idsAsText(field, value) : value
    renamed.push([
      own,
      hasAny(aliases) ? mapItems(field, read, (item, of) => rename(of, aliases, item)) : read,
    ])
  }
  return Object.fromEntries(renamed)
}

function idsAsText(field: z.core.$ZodType, value: unknown): unknown {
  const list = bare(field)
  if (!(list instanceof z.ZodArray) || !takesNumbers(list.element) || !Array.isArray(value)) return value
  return value.map((one) => (Number.isInteger(one) || typeof one === 'bigint' ? String(one) : one))
}

/** Returns what identifies a request: operation and fields, whatever the order of their keys. */
export const fingerprintOf = (operation: Operation, fields: unknown): string =>
  hash('sha256', `${operation.method} ${operation.path} ${toCanonicalJson(fields)}`, 'base64url')
