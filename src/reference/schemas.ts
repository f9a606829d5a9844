import * as z from 'zod'
import * as record from '../api/schemas/records.js'

export type JsonSchema = { readonly [key: string]: unknown }

interface ObjectSchema extends JsonSchema {
  readonly properties?: JsonSchema
  readonly required?: readonly string[]
}

/** Schemas that are collected once and referred to. */
export type NamedSchemas = ReturnType<typeof createNamedSchemas>

const records = {
  Account: record.accountRecord,
  Person: record.personRecord,
  Lead: record.leadRecord,
  LeadAndCompany: record.leadAndCompany,
  AccountPreview: record.accountPreview,
  LeadPreview: record.leadPreview,
  Job: record.jobRecord,
  ContactResult: record.contactResult,
  TechnologiesFound: record.technologiesFound,
  Similarity: record.similarity,
  List: record.listRecord,
  Pagination: record.pagination,
} as const

/** Creates a collection that knows the records of the API by name. */
export function createNamedSchemas() {
  const named: Record<string, JsonSchema> = {}
  const names = new Map<string, string>()
  /** Returns the schema for a document: named schemas become references. */
  const place = (schema: JsonSchema): JsonSchema => {
    const placed = extendRecord(mapSchemas(schema, place), named)
    const name = names.get(signatureOf(placed))
    return name === undefined ? placed : referTo(name, placed.description)
  }
  /** The same, with a name for the whole unless it has one. Returns the reference. */
  const name = (wanted: string, schema: JsonSchema): JsonSchema => {
    const placed = place(schema)
    if ('$ref' in placed) return { $ref: placed.$ref }
    names.set(signatureOf(placed), wanted)
    named[wanted] = placed
    return referTo(wanted)
  }
  for (const [known, make] of Object.entries(records)) name(known, toJsonSchema(make()))
  return {
    place,
    name,
    /** Returns all named schemas, for `components.schemas`. */
    all: (): Readonly<Record<string, JsonSchema>> =>
      Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Returns the JSON Schema of a zod schema's input. Replies stay open, since later versions may add fields. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' })
  return tidy(json)
}

const referTo = (name: string, description?: unknown): JsonSchema => ({
  $ref: `#/components/schemas/${name}`,
  ...(description === undefined ? {} : { description }),
})

/** Returns an object that has all fields of a record as that record and its additions. */
function extendRecord(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { description, properties, required, ...rest } = schema as ObjectSchema
  for (const name of Object.keys(records)) {
    const base = named[name] as ObjectSchema | undefined
    const isIn = ([field, held]: [string, unknown]) =>
      JSON.stringify(properties?.[field]) === JSON.stringify(held)
    if (!base || !properties || !Object.entries(base.properties ?? {}).every(isIn)) continue
    const added = Object.entries(properties).filter(([field]) => !Object.hasOwn(base.properties ?? {}, field))
    const needed = required?.filter((field) => !base.required?.includes(field))
    if (added.length === 0 || !base.required?.every((field) => required?.includes(field))) continue
    const own = { ...rest, properties: Object.fromEntries(added), required: needed }
    return { description, allOf: [referTo(name), own] }
  }
  return schema
}

/** Schemas that differ only in their descriptions are the same. */
const signatureOf = ({ description: _, ...schema }: JsonSchema): string => JSON.stringify(schema)

/** Removes redundant keywords, and writes `anyOf` with null as a second type, as OpenAPI 3.1 can. */
function tidy(schema: JsonSchema): JsonSchema {
  const { minimum, maximum, propertyNames: _, additionalProperties, ...rest } = mapSchemas(schema, tidy)
  return mergeNull({
    ...rest,
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: isAnything(additionalProperties) || additionalProperties }),
  })
}

const isAnything = (value: unknown): boolean => isSchema(value) && Object.keys(value).length === 0

function mergeNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || (anyOf[1] as JsonSchema).type !== 'null') return schema
  const { description, ...inner } = anyOf[0] as JsonSchema
  const describe = { ...(description === undefined ? {} : { description }), ...rest }
  if (typeof inner.type !== 'string' || inner.type === 'object')
    return { ...describe, anyOf: [inner, anyOf[1]] }
  const words = Array.isArray(inner.enum) ? { enum: [...inner.enum, null] } : {}
  return { ...inner, ...words, type: [inner.type, 'null'], ...describe }
}

/** Maps the schemas directly below a schema. */
function mapSchemas(schema: JsonSchema, change: (schema: JsonSchema) => JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'properties' && isSchema(value)) {
        const properties = Object.entries(value).map(([name, held]) => [name, change(held as JsonSchema)])
        return [key, Object.fromEntries(properties)]
      }
      if (key === 'items' || key === 'additionalProperties')
        return [key, isSchema(value) ? change(value) : value]
      if ((key === 'anyOf' || key === 'allOf') && Array.isArray(value)) return [key, value.map(change)]
      return [key, value]
    }),
  )
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null
