import fc from 'fast-check'
import { anyCodePoint } from '../support/any-text.js'
import { casesOf } from '../support/fixtures.js'

/** The part of a JSON Schema that the generators read. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** Stands for the id of a thing that there is. */
export const knownId = 'known'

/** Texts as people send them. The schema of a field decides which ones it accepts. */
const plausible = casesOf<string>('http/requests/plausible')

const isA: Readonly<Record<string, RegExp>> = {
  uri: /^https?:/,
  'iri-reference': /^https?:/,
  email: /^\S+@\S+$/,
  date: /^\d{4}-/,
}

/** Returns a generator of values that match a schema. */
export function plain(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.properties) return fields(schema, plain)
  const { minimum = -50, maximum = minimum + 150, items = {}, minItems = 0 } = schema
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer') return fc.integer({ min: minimum, max: maximum })
  if (schema.type === 'number') return fc.double({ min: minimum, max: maximum, noNaN: true })
  if (schema.type === 'array') return fc.array(plain(items), { minLength: minItems, maxLength: minItems + 2 })
  if (schema.type === 'object') return fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
  const pattern = new RegExp(schema.pattern ?? '', 'u')
  return fc.constantFrom(
    ...plausible.filter((text) => pattern.test(text) && (isA[schema.format ?? '']?.test(text) ?? true)),
  )
}

const nested = (levels: number): unknown => {
  let value: unknown = 'deep'
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value }
  return value
}

/** Values that no field should accept unless it accepts anything. */
export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...casesOf<unknown>('http/requests/hostile'),
    'x'.repeat(501),
    'é'.repeat(6_000),
    2 ** 53,
    nested(19),
    nested(21),
    nested(60),
    Array(1_001).fill('x'),
    '1'.repeat(400),
  ),
  fc.string({ unit: anyCodePoint, maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Returns a generator of objects whose fields are mostly valid and mostly complete. */
function fields(schema: Schema, of: (schema: Schema) => fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  const { properties = {}, required = [] } = schema
  const optional = Object.keys(properties).length - required.length
  // Real requests have few of thirty filters, and many random ones rarely make a valid request.
  const nothing = { arbitrary: fc.constant(undefined), weight: Math.max(2, Math.ceil(optional / 3)) }
  const perhaps = ([name, field]: [string, Schema]) =>
    required.includes(name) ? of(field) : fc.oneof({ arbitrary: of(field), weight: 2 }, nothing)
  const all = Object.entries(properties).map((entry) => [entry[0], perhaps(entry)])
  return fc.record(Object.fromEntries(all), { noNullPrototype: true }).map(withoutUndefined)
}

const withoutUndefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const mostlyPlain = (schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: plain(schema), weight: 30 }, { arbitrary: hostile, weight: 1 })
const hardlyPlain = (schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: plain(schema), weight: 3 }, { arbitrary: hostile, weight: 1 })

/** Fields that only a server may set, misspelled names, and names that every object has. */
const extras = fc.dictionary(
  fc.constantFrom(...casesOf<string>('http/requests/extra-fields')),
  fc.oneof(hostile, fc.constantFrom('known.example', 'https://network.example/in/ada')),
  { maxKeys: 3, noNullPrototype: true },
)

/** Field values for an operation: valid, nearly so, and hostile ones. */
export const inputs = (schema: Schema): fc.Arbitrary<Record<string, unknown>> =>
  fc.oneof(
    { arbitrary: fields(schema, plain), weight: 3 },
    { arbitrary: fields({ ...schema, required: schema.required ?? [] }, mostlyPlain), weight: 3 },
    { arbitrary: fields({ ...schema, required: [] }, hardlyPlain), weight: 2 },
    {
      arbitrary: fc.tuple(fields(schema, plain), extras).map(([own, more]) => ({ ...more, ...own })),
      weight: 2,
    },
  ) as fc.Arbitrary<Record<string, unknown>>

/** Damage to a body in transit: mostly none. */
export const damages: fc.Arbitrary<(body: string) => string> = fc.oneof(
  { arbitrary: fc.constant((body: string) => body), weight: 30 },
  {
    arbitrary: fc.constantFrom<(body: string) => string>(
      (body) => body.slice(0, -1),
      (body) => `[${body}]`,
      (body) => `{"__proto__":{"polluted":true},${body.slice(1)}`,
      (body) => `{"custom":{"__proto__":{"polluted":true}},${body.slice(1)}`,
      (body) => body.replace(/}$/, ',"limit":1e400}'),
      (body) => body.replace(/}$/, `,"custom":${'['.repeat(100_000)}`),
      (body) => `${body}${body}`,
      (body) => `\ufeff${body}`,
      () => '',
      () => 'null',
    ),
    weight: 1,
  },
)

/** A path parameter as it stands in a path, encoded. */
export const pathValues: fc.Arbitrary<string> = fc.oneof(
  // Half of the ids exist.
  fc.uuid().map((id) => (id < '8' ? knownId : id)),
  fc.constantFrom(...casesOf<string>('http/requests/path-values'), 'x'.repeat(3_000)),
)
