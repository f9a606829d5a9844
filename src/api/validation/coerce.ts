import * as z from 'zod'
import { takesCountry } from '../schemas/fields.js'
import { parseExact } from '../values/json.js'
import { isObject, resultOr } from '../values/objects.js'

/** What a field accepts, for readers of text: a query, a command line, a CSV file. */
export interface FieldKind {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'enum' | 'array' | 'object'
  readonly required: boolean
  readonly description: string
  /** The words of an enum. */
  readonly values?: readonly string[]
  readonly item?: FieldKind
  /** Whether commas separate the items of an array in one text. */
  readonly hasCommas?: boolean
  readonly isCountry?: boolean
  readonly default?: unknown
}

type Text = string | readonly string[]

/** Returns what a schema accepts; optional, default and nullable ones are unwrapped. */
export function kindOf(schema: z.core.$ZodType): FieldKind {
  const layers = layersOf(schema)
  const preset = layers.find((layer) => layer instanceof z.ZodDefault)?.def.defaultValue
  return {
    ...typeOf(bare(schema)),
    required: schema._zod.optin === undefined,
    description: layers.map((layer) => z.globalRegistry.get(layer)?.description).find(Boolean) ?? '',
    ...(preset === undefined ? {} : { default: preset }),
  }
}

type Wrapper = z.ZodOptional | z.ZodNullable | z.ZodDefault

const isWrapper = (schema: z.core.$ZodType): schema is Wrapper =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable

/** Yields a schema and those it wraps, outermost first. */
const layersOf = (schema: z.core.$ZodType): z.core.$ZodType[] =>
  isWrapper(schema) ? [schema, ...layersOf(schema.def.innerType)] : [schema]

/** Returns the schema that optional, nullable and default ones wrap. */
export const bare = (schema: z.core.$ZodType): z.core.$ZodType =>
  isWrapper(schema) ? bare(schema.def.innerType) : schema

function typeOf(schema: z.core.$ZodType): Omit<FieldKind, 'required' | 'description' | 'default'> {
  if (schema instanceof z.ZodBoolean) return { type: 'boolean' }
  if (schema instanceof z.ZodNumber) return { type: schema.isInt ? 'integer' : 'number' }
  if (schema instanceof z.ZodEnum) return { type: 'enum', values: schema.options.map(String) }
  if (schema instanceof z.ZodArray) {
    const { element } = schema
    return { type: 'array', item: kindOf(element), hasCommas: hasFixedForm(bare(element)) }
  }
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord) return { type: 'object' }
  return { type: 'string', ...(takesCountry(schema) ? { isCountry: true } : {}) }
}

/** Returns a value of a schema with each country in it converted, also in lists and objects. */
export function mapCountries(
  schema: z.core.$ZodType,
  value: unknown,
  convert: (country: string) => string,
): unknown {
  const inner = bare(schema)
  if (typeof value === 'string') return takesCountry(inner) ? convert(value) : value
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => mapCountries(inner.element, item, convert))
  if (!(inner instanceof z.ZodObject) || !isObject(value)) return value
  const shape: Readonly<Record<string, z.core.$ZodType>> = inner.shape
  const entries = Object.entries(value).map(([name, field]): [string, unknown] => {
    const type = Object.hasOwn(shape, name) ? shape[name] : undefined
    return [name, type ? mapCountries(type, field, convert) : field]
  })
  return Object.fromEntries(entries)
}

/** Converts text to the kind of a field; other text stays, to be refused, as several texts for one value do. */
export function coerceField(schema: z.core.$ZodType, given: Text): unknown {
  const inner = bare(schema)
  const texts = typeof given === 'string' ? [given] : given
  if (inner instanceof z.ZodArray) return texts.flatMap((text) => items(inner.element, text))
  if (inner instanceof z.ZodObject || inner instanceof z.ZodRecord) return object(texts) ?? given
  const [text, ...others] = texts
  return text === undefined || others.length > 0 ? given : scalar(inner, text)
}

/** Converts the texts among the fields of a request; typed values and unknown fields stay as they are. */
export function coerceInput(schema: z.ZodObject, fields: Readonly<Record<string, unknown>>) {
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape
  const read = ([name, value]: [string, unknown]): [string, unknown] => {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined
    return [name, field && isText(value) ? coerceField(field, value) : value]
  }
  return Object.fromEntries(Object.entries(fields).map(read))
}

/**
 * Returns a value with the texts of JSON in it read where a schema takes no text, as agents write arrays, numbers and booleans;
 * what cannot be read stays, to be refused.
 */
export function parseTexts(schema: z.core.$ZodType, value: unknown): unknown {
  const inner = bare(schema)
  if (typeof value === 'string') {
    if (inner instanceof z.ZodObject || inner instanceof z.ZodRecord || inner instanceof z.ZodArray) {
      const json = jsonIn(value)
      return json === undefined ? coerceField(inner, value) : parseTexts(inner, json)
    }
    return scalar(inner, value)
  }
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => parseTexts(inner.element, item))
  if (!isObject(value)) return value
  const shape: Readonly<Record<string, z.core.$ZodType>> = inner instanceof z.ZodObject ? inner.shape : {}
  const read = ([name, field]: [string, unknown]): [string, unknown] => {
    const type = Object.hasOwn(shape, name) ? shape[name] : undefined
    return [name, type ? parseTexts(type, field) : field]
  }
  return Object.fromEntries(Object.entries(value).map(read))
}

const isText = (value: unknown): value is Text =>
  typeof value === 'string' || (Array.isArray(value) && value.every((one) => typeof one === 'string'))

function scalar(schema: z.core.$ZodType, text: string): unknown {
  if (schema instanceof z.ZodBoolean) return booleans.get(text.trim().toLowerCase()) ?? text
  if (schema instanceof z.ZodNumber) return numberIn(text) ?? text
  return text
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/** Returns a number as JSON writes it; a whole one only when it can be kept exactly. */
function numberIn(text: string): number | undefined {
  if (!/^\s*-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\s*$/.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))
    ? number
    : undefined
}

/**
 * Returns the items of a list in one text, split at commas when no item can contain one, such as ids, codes and
 * words, between web domains, and before each web address.
 */
function items(item: z.core.$ZodType, text: string): unknown[] {
  if (item instanceof z.ZodObject || item instanceof z.ZodRecord) {
    const json = jsonIn(text)
    return Array.isArray(json) ? json : [json ?? object([text]) ?? text]
  }
  const addresses = text
    .split(/,\s*(?=https?:\/\/)/i)
    .flatMap((part) => (part.split(/,\s*/).every(isDomain) ? part.split(/,\s*/) : [part]))
  if (addresses.length > 1 && addresses.every((part) => /^https?:/i.test(part) || isDomain(part)))
    return addresses.flatMap((part) => items(item, part))
  if (!hasFixedForm(item) || z.safeParse(item, text).success) return [coerceField(item, text)]
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '').map((part) => coerceField(item, part))
}

const isDomain = (text: string): boolean => /^(?:[\w-]+\.)+[a-z]{2,}$/i.test(text)

/** Returns whether an item can be told from a list of items; free text never can. */
const hasFixedForm = (item: z.core.$ZodType): boolean =>
  item instanceof z.ZodEnum ||
  (item instanceof z.ZodString &&
    (item.def.checks ?? []).some(({ _zod }) => _zod.def.check === 'string_format'))

const jsonIn = (text: string): unknown =>
  resultOr(undefined, () => (/^\s*[[{]/.test(text) ? parseExact(text) : undefined))

/** Returns an object from JSON and `key=value` texts; `undefined` when one of them is neither. */
function object(texts: readonly string[]): Record<string, unknown> | undefined {
  const entries: [string, unknown][] = []
  for (const text of texts) {
    const json = jsonIn(text)
    const equals = text.indexOf('=')
    if (typeof json === 'object' && json !== null && !Array.isArray(json))
      entries.push(...Object.entries(json))
    else if (equals > 0) entries.push([text.slice(0, equals).trim(), literal(text.slice(equals + 1))])
    else return undefined
  }
  return Object.fromEntries(entries)
}

const literal = (text: string): unknown => booleans.get(text) ?? numberIn(text) ?? text
