import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { errors } from '../../src/api/calls/errors.js'
import { hasBody } from '../../src/api/operations/facts.js'
import { areaOf, type Operation, operations } from '../../src/api/operations/table.js'
import { eventNames } from '../../src/api/webhooks/events.js'
import { openapi } from '../../src/reference/openapi.js'
import type { Described, OpenApiDocument } from './schema-problems.js'

let document: OpenApiDocument
beforeAll(async () => {
  const options = { version: '0.0.1', serverUrl: 'http://127.0.0.1:4010/api/v2' }
  document = (await openapi(options)) as OpenApiDocument
})

const all = () => Object.values(document.paths).flatMap((path) => Object.values(path))
const described = (id: string) => all().find((one) => one.operationId === id)
const nameIn = (reference: unknown) => String(reference).split('/').at(-1) ?? ''
const bodyOf = ({ requestBody }: Partial<Described> = {}) =>
  document.components.schemas?.[nameIn(requestBody?.content['application/json'].schema.$ref)]

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => (key === '$ref' ? [String(one)] : references(one)))
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1 by an independent validator', async () => {
    const validator = new Validator()
    const result = await validator.validate(JSON.parse(JSON.stringify(document)))
    expect([result, validator.version]).toEqual([{ valid: true }, '3.1'])
  })

  it('refers only to what it contains, and contains only what it refers to', () => {
    const found = new Set(references(document))
    const held = ['schemas', 'responses', 'headers', 'parameters'].flatMap((kind) =>
      Object.keys(document.components[kind] ?? {}).map((name) => `#/components/${kind}/${name}`),
    )
    expect([...found].filter((reference) => !held.includes(reference))).toEqual([])
    expect(held.filter((name) => !found.has(name) && !name.startsWith('#/components/responses/'))).toEqual([])
  })

  it('has the version of the interface and the address of the server, and requires the key everywhere', () => {
    expect(document).toMatchObject({
      info: { version: '1.0.0' },
      servers: [{ url: 'http://127.0.0.1:4010/api/v2' }],
      security: [{ apiKey: [] }],
      components: { securitySchemes: { apiKey: { in: 'header', name: 'X-API-KEY' } } },
    })
  })

  it('contains records once, however often they are used', () => {
    const text = JSON.stringify(document.components.schemas)
    for (const field of ['cleaned_name', 'is_open_to_work_network', 'technology_name', 'hiring_team'])
      expect(text.split(`"${field}":{`)).toHaveLength(2)
    const schemas = Object.values(document.components.schemas ?? {}).map((schema) => JSON.stringify(schema))
    expect(new Set(schemas).size).toBe(schemas.length)
  })

  it('leaves replies open for fields of later versions', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false')
  })
})

describe('operations of the OpenAPI document', () => {
  it('are complete, with method, path, status, tag and price', () => {
    expect(all()).toHaveLength(operations().length)
    for (const row of operations()) {
      const one = document.paths[row.path]?.[row.method.toLowerCase()]
      expect(one).toMatchObject({ operationId: row.id, tags: [areaOf(row.id)], summary: row.summary })
      expect({ 'x-price': {}, ...one }).toMatchObject({ 'x-price': row.price })
      expect(Object.keys(one?.responses ?? {})[0]).toBe(String(row.ok))
    }
  })

  it('have a tag that is described', () => {
    const delivered = Object.values(document.webhooks).map(({ post }) => post)
    const used = new Set([...all(), ...delivered].flatMap(({ tags }) => tags))
    expect([...used].sort()).toEqual(document.tags.map(({ name }) => name).sort())
  })

  it('accept every field, in the path, the query or the body', async () => {
    for (const { id } of operations()) {
      const body = Object.keys((bodyOf(described(id))?.properties as object | undefined) ?? {})
      const named = (described(id)?.parameters ?? []).flatMap(({ name }) => name ?? [])
      expect([...body, ...named].sort()).toEqual(Object.keys((await shapeOf(id)).input.shape).sort())
    }
  })

  it('do not promise names for ids that requests must have', () => {
    const text = JSON.stringify(document)
    expect(text).toContain('"Functions, by id"')
    expect(text).not.toMatch(/"(?:Functions|Seniority levels), by id or name/)
  })

  it('require every path parameter, and have an example of each', () => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const { parameters = [] } of Object.values(methods)) {
        const inPath = parameters.filter((one) => one.in === 'path' && one.required)
        expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
        for (const { example } of inPath) expect(example).toMatch(/^[0-9a-f-]{36}$/)
      }
  })
})

describe('webhooks of the OpenAPI document', () => {
  it('are the events, each with its own body', () => {
    expect(Object.keys(document.webhooks)).toEqual(eventNames())
    for (const [name, { post }] of Object.entries(document.webhooks))
      expect(JSON.stringify(bodyOf(post))).toContain(
        `"properties":{"event":{"type":"string","const":"${name}"`,
      )
  })

  it('carry the headers of Standard Webhooks, and no key', () => {
    for (const { post } of Object.values(document.webhooks)) {
      expect(post.security).toEqual([])
      const headers = post.parameters?.map(({ $ref }) => document.components.parameters?.[nameIn($ref)])
      expect(headers).toMatchObject(
        ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
          in: 'header',
          required: true,
          name,
        })),
      )
    }
  })

  it('name every endpoint that starts them', () => {
    const texts = Object.values(document.webhooks).map(({ post }) => post.description)
    for (const { id, method, path, starts } of operations())
      expect([id, texts.some((text) => text.includes(`\`${method} ${path}\``))]).toEqual([
        id,
        starts !== undefined,
      ])
  })
})

describe('errors of the OpenAPI document', () => {
  const some = (...ids: string[]) => ids.join(' ').split(' ')
  const idsWith = (status: number) =>
    all()
      .filter(({ responses }) => status in responses)
      .map(({ operationId }) => operationId)
      .sort()
  const those = (isOne: (row: Operation) => unknown) =>
    operations()
      .filter(isOne)
      .map(({ id }) => id)
      .sort()

  it('that every operation can return are on every one, others on those that can', () => {
    for (const status of [400, 401, 403, 408, 413, 431, 500, 503])
      expect(idsWith(status)).toEqual(those(() => true))
    const takesKey = all().filter(({ parameters }) =>
      parameters?.some(({ $ref }) => $ref?.endsWith('IdempotencyKey')),
    )
    expect(idsWith(409)).toEqual(takesKey.map(({ operationId }) => operationId).sort())
    expect(idsWith(409)).toEqual(those(({ idempotent }) => idempotent))
    expect(idsWith(415)).toEqual(those(hasBody))
    expect(idsWith(402)).toEqual(
      some(
        'accounts.bulk_enrich accounts.enrich accounts.hiring accounts.stack contacts.bulk_enrich contacts.enrich',
        'contacts.enrich_sync contacts.reverse_lookup intents.hiring intents.stack leads.bulk_enrich leads.enrich',
        'messenger.validate',
      ),
    )
  })

  it.each([
    [
      404,
      'lists.get personas.delete accounts.enrich leads.search accounts.headcount',
      'lists.list lists.create',
    ],
    [422, 'credits.consumption', 'credits.show account.show'],
    [429, 'accounts.hiring leads.search lists.list', 'credits.show lists.get contacts.enrich account.show'],
  ])('with status %i are on %s, and not on %s', (status, having, others) => {
    expect(idsWith(status)).toEqual(expect.arrayContaining(some(having)))
    expect(idsWith(status).filter((id) => some(others).includes(id))).toEqual([])
  })

  it('have the body shape of their operation', () => {
    expect(described('leads.extract')?.responses[400]?.$ref).toBe('#/components/responses/BadRequestCoded')
    expect(described('lists.create')?.responses[400]?.$ref).toBe('#/components/responses/BadRequest')
    for (const { responses } of all())
      expect(responses[401]?.$ref).toBe('#/components/responses/Unauthorized')
  })

  it('show the exact body of each error that a request can get', () => {
    const text = JSON.stringify(document.components.responses)
    const early: number[] = [405, 408, 431]
    for (const [code, row] of Object.entries(errors))
      if (!early.includes(row.status)) expect(text).toContain(`"${code}":{"value":`)
  })

  it('carry the rate-limit headers, as successes of limited operations do', () => {
    const limited = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'X-RateLimit-Reset-After']
    const headersOf = ({ headers }: { readonly headers?: unknown } = {}) => Object.keys(headers ?? {})
    expect(headersOf(document.components.responses?.TooManyRequests)).toEqual([...limited, 'Retry-After'])
    expect(headersOf(described('lists.create')?.responses[201])).toEqual([...limited, 'Idempotent-Replayed'])
    expect(described('account.show')?.responses[200]?.headers).toBeUndefined()
  })
})
