import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { rowShapeOf, shapeOf } from '../../../src/api/areas/shapes.js'
import { isPriced } from '../../../src/api/operations/facts.js'
import { operation, operations } from '../../../src/api/operations/table.js'
import { type FieldKind, kindOf } from '../../../src/api/validation/coerce.js'

const shaped = async () =>
  Promise.all(operations().map(async (row) => ({ ...row, ...(await shapeOf(row.id)) })))
const rows = await shaped()

interface JsonSchema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Record<string, JsonSchema>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly maxItems?: number
}

/** Every property at any depth with its path. */
function properties(schema: JsonSchema, path = ''): [string, JsonSchema][] {
  const own = Object.entries(schema.properties ?? {})
  return [
    ...own.flatMap(([name, one]): [string, JsonSchema][] => [
      [`${path}${name}`, one],
      ...properties(one, `${path}${name}.`),
    ]),
    ...(schema.items ? properties(schema.items, `${path}*.`) : []),
    ...(schema.anyOf ?? []).flatMap((one) => properties(one, path)),
  ]
}

const kinds = (kind: FieldKind): FieldKind[] => [kind, ...(kind.item ? kinds(kind.item) : [])]

describe.each(rows)('$id', ({ id, input, output, path, method, columns, batch, ...row }) => {
  it('has an input with readable fields, each with a description', () => {
    expect(input).toBeInstanceOf(z.ZodObject)
    for (const [name, field] of Object.entries(input.shape))
      expect(`${name}: ${kindOf(field as z.ZodType).description}`).toMatch(/: ./)
  })

  it('requires the parameters of its path', () => {
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(Object.keys(input.shape)).toEqual(expect.arrayContaining(parameters))
    for (const name of parameters) expect(kindOf(input.shape[name ?? ''] as z.ZodType).required).toBe(true)
  })

  it('bounds every text and every list of a request', () => {
    const long = 'x'.repeat(40_000)
    for (const field of Object.values(input.shape) as z.ZodType[])
      for (const value of [long, [long], new Array(100_001).fill('1')])
        expect(field.safeParse(value).success).toBe(false)
  })

  it('has no nested field in a query', () => {
    const types = Object.values(input.shape).flatMap((field) =>
      kinds(kindOf(field as z.ZodType)).map(({ type }) => type),
    )
    if (method !== 'POST') expect(types).not.toContain('object')
  })

  it('returns described fields', () => {
    const answered = properties(z.toJSONSchema(output) as JsonSchema)
    const described = answered.filter(
      ([, one]) => one.description || one.anyOf?.some(({ description }) => description),
    )
    expect(described.map(([name]) => name)).toEqual(answered.map(([name]) => name))
  })

  it('has columns that its reply contains', () => {
    const names = properties(z.toJSONSchema(output) as JsonSchema).map(([name]) => name)
    for (const column of columns)
      expect(names.some((name) => name === column || name.endsWith(`*.${column}`))).toBe(true)
  })

  it('names the list that a batch finds', async () => {
    const { output: found } = await rowShapeOf(operation(id))
    const names = properties(z.toJSONSchema(found) as JsonSchema).map(([name]) => name)
    if (batch && 'found' in batch) expect(names).toContain(batch.found)
  })

  it('says what a caller must be able to pay, when it has a price', () => {
    expect('needs' in row && row.needs !== undefined).toBe(
      isPriced({ ...row, method, path, columns } as never),
    )
  })
})

it('builds the schemas of an area once', async () => {
  expect(await shapeOf('accounts.enrich')).toBe(await shapeOf('accounts.enrich'))
})
