import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseUrl } from '../../src/api/values/url.js'

/** A JSON Schema of the document. */
export type Schema = Readonly<Record<string, unknown>>

/** A body that the document describes. */
export interface Content {
  readonly content: { readonly 'application/json': { readonly schema: Schema; readonly example?: unknown } }
}

/** An operation or a webhook of the document. */
export interface Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly description: string
  readonly security?: readonly object[]
  readonly parameters?: readonly {
    readonly name?: string
    readonly in?: string
    readonly required?: boolean
    readonly $ref?: string
    readonly example?: unknown
  }[]
  readonly requestBody?: Content
  readonly responses: Readonly<
    Record<string, Content & { readonly $ref?: string; readonly headers?: object }>
  >
}

/** The OpenAPI document, as far as tests read it. */
export interface OpenApiDocument {
  readonly info: { readonly version: string }
  readonly servers: readonly object[]
  readonly security: readonly object[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Described }>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>
}

/** What a value has that its schema does not allow, one sentence each. Throws for a keyword or a format that is not known. */
export type Check = (schema: Schema, value: unknown) => string[]

const formats = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  uri: (text: string) => /^[!-~]+$/.test(text) && parseUrl(text) !== undefined,
  iri: (text: string) => parseUrl(text) !== undefined,
  'iri-reference': (text: string) => parseUrl(/^https?:/.test(text) ? text : `https://${text}`) !== undefined,
  email: /^\S+@\S+$/,
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null

/** Returns a schema in which an object has no other fields than those of its parts, unless it says so. */
function closed(schema: unknown, isPart = false): unknown {
  if (Array.isArray(schema)) return schema.map((one) => closed(one, isPart))
  if (!isSchema(schema)) return schema
  const { properties, ...rest } = schema
  const inner = Object.entries(rest).map(([key, value]) => [
    key,
    key === '$ref' ? `document${value}` : closed(value, key === 'allOf'),
  ])
  const fields = isSchema(properties)
    ? Object.entries(properties).map(([name, one]) => [name, closed(one)])
    : []
  return {
    ...Object.fromEntries(inner),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(fields) }),
    ...(isPart || !('properties' in schema || 'allOf' in schema || '$ref' in schema)
      ? {}
      : { unevaluatedProperties: false }),
  }
}

/** Checks that are stricter than JSON Schema: a field that no schema of the document names is a problem. */
export function schemaProblems(schemas: Readonly<Record<string, Schema>>): Check {
  // With and without the flag for Unicode, since tools differ in that.
  const checkers = [true, false].map((unicodeRegExp) => {
    const options = { allErrors: true, strictTypes: false, strictRequired: false, unicodeRegExp, formats }
    const named = Object.entries(schemas).map(([name, schema]) => [name, closed(schema, true)])
    return new Ajv2020(options)
      .addKeyword('components')
      .addSchema({ $id: 'document', components: { schemas: Object.fromEntries(named) } })
  })
  return (schema, value) =>
    checkers.flatMap((ajv) => {
      const validate = ajv.compile(closed(schema) as Schema)
      validate(value)
      return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
    })
}
