import * as z from 'zod'
import * as record from '../api/schemas/records.js'
import { similarity, technologiesFound } from '../api/schemas/records.js'

/** A JSON Schema, or a reference to one. */
export type Schema = { readonly [key: string]: unknown }

/** Schemas that are collected once and referred to. */
export interface Schemas {
  /** Returns the schema for a document: named schemas become references. */
  place(schema: Schema): Schema
  /** The same, with a name for the whole unless it has one. Returns the reference. */
  name(name: string, schema: Schema): Schema
  /** Returns all named schemas, for `components.schemas`. */
  all(): Readonly<Record<string, Schema>>
}

const records = {
  Account: record.accountRecord,
  Person: record.personRecord,
  Lead: record.leadRecord,
  LeadAndCompany: record.leadAndCompany,
  AccountPreview: record.accountPreview,
  LeadPreview: record.leadPreview,
  Job: record.jobRecord,
  ContactResult: record.contactResult,
  TechnologiesFound: technologiesFound,
  Similarity: similarity,
  List: record.listRecord,
  Pagination: record.pagination,
} as const

/** Creates a collection that knows the records of the API by name. */
export function schemas(): Schemas {
  const named: Record<string, Schema> = {}
  const names = new Map<string, string>()
  const place = (schema: Schema): Schema => {
    const placed = extending(mapSchemas(schema, place), named)
    const name = names.get(signature(placed))
    return name === undefined ? placed : reference(name, placed.description)
  }
  const name = (wanted: string, schema: Schema): Schema => {
    const placed = place(schema)
    if ('$ref' in placed) return { $ref: placed.$ref }
    names.set(signature(placed), wanted)
    named[wanted] = placed
    return reference(wanted)
  }
  for (const [known, make] of Object.entries(records)) name(known, jsonSchema(make()))
  return {
    place,
    name,
    all: () => Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Returns the JSON Schema of a zod schema's input. Replies stay open, since later versions may add fields. */
export function jsonSchema(schema: z.ZodType): Schema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' })
  return tidy(json)
}

const reference = (name: string, description?: unknown): Schema => ({
  $ref: `#/components/schemas/${name}`,
  ...(description === undefined ? {} : { description }),
})

/** Returns an object that has all fields of a record as that record and its additions. */
function extending(schema: Schema, named: Readonly<Record<string, Schema>>): Schema {
  const record = Object.keys(records).find((name) => extendsIt(schema, named[name] ?? {}))
  if (record === undefined) return schema
  const { description, properties, required, ...rest } = schema
  const [fields, base] = [properties, named[record]?.properties] as [Schema, Schema]
  const added = Object.entries(fields).filter(([name]) => !(name in base))
  const needed = ((required ?? []) as string[]).filter((name) => !(name in base))
  const own = {
    ...rest,
    properties: Object.fromEntries(added),
    ...(needed.length > 0 ? { required: needed } : {}),
  }
  return { ...(description === undefined ? {} : { description }), allOf: [reference(record), own] }
}

function extendsIt({ properties, required }: Schema, record: Schema): boolean {
  if (!isSchema(properties) || !isSchema(record.properties)) return false
  const names = Object.keys(record.properties)
  const needed = (fields: unknown) =>
    names.filter((name) => ((fields ?? []) as string[]).includes(name)).join()
  return (
    names.length < Object.keys(properties).length &&
    names.every((name) => name in properties) &&
    needed(required) === needed(record.required) &&
    names.every(
      (name) => JSON.stringify(properties[name]) === JSON.stringify((record.properties as Schema)[name]),
    )
  )
}

/** Schemas that differ only in their descriptions are the same. */
const signature = ({ description: _, ...schema }: Schema): string => JSON.stringify(schema)

const lowest = Number.MIN_SAFE_INTEGER
const highest = Number.MAX_SAFE_INTEGER

/** Removes redundant keywords, and writes `anyOf` with null as a second type, as OpenAPI 3.1 can. */
function tidy(schema: Schema): Schema {
  const { minimum, maximum, propertyNames: _, additionalProperties, ...rest } = mapSchemas(schema, tidy)
  return nullable({
    ...rest,
    ...(minimum === undefined || minimum === lowest ? {} : { minimum }),
    ...(maximum === undefined || maximum === highest ? {} : { maximum }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: isOpen(additionalProperties) || additionalProperties }),
  })
}

const isOpen = (value: unknown): boolean => isSchema(value) && Object.keys(value).length === 0

function nullable(schema: Schema): Schema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || (anyOf[1] as Schema).type !== 'null') return schema
  const { description, ...inner } = anyOf[0] as Schema
  const describe = { ...(description === undefined ? {} : { description }), ...rest }
  if (typeof inner.type !== 'string' || inner.type === 'object')
    return { ...describe, anyOf: [inner, anyOf[1]] }
  const words = Array.isArray(inner.enum) ? { enum: [...inner.enum, null] } : {}
  return { ...inner, ...words, type: [inner.type, 'null'], ...describe }
}

/** Maps the schemas directly below a schema. */
function mapSchemas(schema: Schema, change: (schema: Schema) => Schema): Schema {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'properties' && isSchema(value)) return [key, mapValues(value, change)]
      if (key === 'items' || key === 'additionalProperties')
        return [key, isSchema(value) ? change(value) : value]
      if ((key === 'anyOf' || key === 'allOf') && Array.isArray(value)) return [key, value.map(change)]
      return [key, value]
    }),
  )
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null

const mapValues = (properties: Schema, change: (schema: Schema) => Schema): Schema =>
  Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, change(value as Schema)]))
