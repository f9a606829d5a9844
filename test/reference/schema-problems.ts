import { parseUrl } from '../../src/api/values/url.js'

/** A JSON Schema of the document. */
export type Schema = Readonly<Record<string, unknown>>

/** What a value has that its schema does not allow, one sentence each. A keyword it does not know is a problem too. */
export type Check = (schema: Schema, value: unknown) => string[]

type Keyword = (given: never, value: unknown, at: string, schema: Schema) => string[]

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

const isOf = (type: string, value: unknown): boolean =>
  type === 'integer' ? Number.isInteger(value) : typeOf(value) === type

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text),
  'date-time': (text) => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(text),
  uri: (text) => /^[!-~]+$/.test(text) && parseUrl(text) !== undefined,
  iri: (text) => parseUrl(text) !== undefined,
  'iri-reference': (text) => parseUrl(/^https?:/.test(text) ? text : `https://${text}`) !== undefined,
  email: (text) => /^\S+@\S+$/.test(text),
}

const isObject = (value: unknown): value is Schema => typeOf(value) === 'object'
const unless = (holds: boolean, problem: string): string[] => (holds ? [] : [problem])

/** Checks that are stricter than JSON Schema: a field that no schema of the document names is a problem. */
export function schemaProblems(schemas: Readonly<Record<string, Schema>>): Check {
  const resolved = (schema: Schema): Schema => {
    if (typeof schema.$ref !== 'string') return schema
    const found = schemas[schema.$ref.replace('#/components/schemas/', '')]
    if (!found) throw new Error(`${schema.$ref} is not there`)
    return resolved(found)
  }

  /** The fields an object may have, of all parts it is made of. */
  const fieldsOf = (given: Schema): string[] => {
    const { properties = {}, allOf = [] } = resolved(given) as { properties?: object; allOf?: Schema[] }
    return [...Object.keys(properties), ...allOf.flatMap(fieldsOf)]
  }
  const isOpen = (given: Schema): boolean => {
    const { additionalProperties, allOf = [] } = resolved(given) as Schema & { allOf?: Schema[] }
    return additionalProperties !== undefined || allOf.some(isOpen)
  }

  const keywords: Readonly<Record<string, Keyword>> = {
    type: (type: string | string[], value, at) =>
      unless(
        [type].flat().some((one) => isOf(one, value)),
        `${at} is ${typeOf(value)}, not ${type}`,
      ),
    enum: (values: unknown[], value, at) => unless(values.includes(value), `${at} is none of ${values}`),
    const: (wanted: unknown, value, at) => unless(value === wanted, `${at} is not ${wanted}`),
    format: (format: string, value, at) =>
      unless(typeof value !== 'string' || formats[format]?.(value) === true, `${at} is no ${format}`),
    pattern: (pattern: string, value, at) =>
      // With and without the flag for Unicode, since tools differ in that.
      ['', 'u'].flatMap((flags) =>
        unless(typeof value !== 'string' || new RegExp(pattern, flags).test(value), `${at}: ${pattern}`),
      ),
    minLength: (min: number, value, at) =>
      unless(typeof value !== 'string' || value.length >= min, `${at} < ${min}`),
    maxLength: (max: number, value, at) =>
      unless(typeof value !== 'string' || value.length <= max, `${at} > ${max}`),
    minimum: (min: number, value, at) => unless(typeof value !== 'number' || value >= min, `${at} < ${min}`),
    maximum: (max: number, value, at) => unless(typeof value !== 'number' || value <= max, `${at} > ${max}`),
    minItems: (min: number, value, at) =>
      unless(!Array.isArray(value) || value.length >= min, `${at} < ${min}`),
    maxItems: (max: number, value, at) =>
      unless(!Array.isArray(value) || value.length <= max, `${at} > ${max}`),
    required: (names: string[], value, at) =>
      isObject(value) ? names.filter((name) => !(name in value)).map((name) => `${at} lacks ${name}`) : [],
    properties: (properties: Record<string, Schema>, value, at) =>
      isObject(value)
        ? Object.entries(properties).flatMap(([name, schema]) =>
            name in value ? check(schema, value[name], `${at}.${name}`) : [],
          )
        : [],
    additionalProperties: (rest: Schema | true, value, at, { properties = {} }) =>
      isObject(value) && rest !== true
        ? Object.entries(value)
            .filter(([name]) => !(name in (properties as object)))
            .flatMap(([name, one]) => check(rest, one, `${at}.${name}`))
        : [],
    items: (items: Schema, value, at) =>
      Array.isArray(value) ? value.flatMap((one, index) => check(items, one, `${at}[${index}]`)) : [],
    anyOf: (schemas: Schema[], value, at) => {
      const all = schemas.map((schema) => check(schema, value, at))
      return all.some((problems) => problems.length === 0) ? [] : all.flat()
    },
    allOf: (schemas: Schema[], value, at) => schemas.flatMap((schema) => check(schema, value, at, true)),
    description: () => [],
    default: () => [],
  }

  const check = (given: Schema, value: unknown, at = '$', isPart = false): string[] => {
    const schema = resolved(given)
    const problems = Object.entries(schema).flatMap(([keyword, said]) =>
      keywords[keyword]
        ? keywords[keyword](said as never, value, at, schema)
        : [`${at}: the keyword ${keyword} is not known`],
    )
    if (isPart || !isObject(value) || isOpen(schema) || schema.anyOf) return problems
    const known = new Set(fieldsOf(schema))
    const undeclared = Object.keys(value).filter((name) => !known.has(name))
    return [...problems, ...undeclared.map((name) => `${at}.${name} is in no schema`)]
  }
  return (schema, value) => check(schema, value)
}
