import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { errors } from '../../src/api/calls/errors.js'
import { hasBody } from '../../src/api/operations/facts.js'
import { areaOf, operation, operations } from '../../src/api/operations/table.js'
import { eventNames } from '../../src/api/webhooks/events.js'
import { openapi } from '../../src/reference/openapi.js'

interface Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters?: readonly {
    name?: string
    in?: string
    required?: boolean
    $ref?: string
    example?: unknown
  }[]
  readonly requestBody?: { content: { 'application/json': { schema: { $ref: string } } } }
  readonly responses: Readonly<
    Record<string, { $ref?: string; headers?: object; content?: Record<string, { schema: unknown }> }>
  >
  readonly 'x-price'?: object
}
interface Document {
  readonly openapi: string
  readonly info: { version: string }
  readonly servers: readonly { url: string }[]
  readonly security: readonly object[]
  readonly tags: readonly { name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Delivered }>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>
}
interface Delivered {
  readonly security: readonly object[]
  readonly tags: readonly string[]
  readonly description: string
  readonly parameters: readonly { $ref: string }[]
  readonly requestBody: { content: { 'application/json': { schema: { $ref: string } } } }
}

let document: Document
beforeAll(async () => {
  document = (await openapi({ version: '0.0.1', serverUrl: 'http://127.0.0.1:4010/api/v2' })) as Document
})

const all = () => Object.values(document.paths).flatMap((path) => Object.values(path))
const described = (id: string) => all().find((one) => one.operationId === id)
const statusesOf = (id: string) => Object.keys(described(id)?.responses ?? {}).map(Number)
const idsWith = (status: number) =>
  all()
    .filter(({ responses }) => status in responses)
    .map(({ operationId }) => operationId)
    .sort()

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => (key === '$ref' ? [String(one)] : references(one)))
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1 by an independent validator', async () => {
    const validator = new Validator()
    const result = await validator.validate(JSON.parse(JSON.stringify(document)))
    expect(result).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  it('is rejected by that validator when it is invalid', async () => {
    const broken = { ...document, paths: { '/x': { get: { responses: { ok: {} } } } } }
    expect((await new Validator().validate(JSON.parse(JSON.stringify(broken)))).valid).toBe(false)
  })

  it('refers only to what it contains, and contains only what it refers to', () => {
    const found = new Set(references(document))
    const held = ['schemas', 'responses', 'headers', 'parameters'].flatMap((kind) =>
      Object.keys(document.components[kind] ?? {}).map((name) => `#/components/${kind}/${name}`),
    )
    expect([...found].filter((reference) => !held.includes(reference))).toEqual([])
    expect(held.filter((name) => !found.has(name) && !name.startsWith('#/components/responses/'))).toEqual([])
  })

  it('has the version of the interface and the address of the server', () => {
    expect(document.info.version).toBe('1.0.0')
    expect(document.servers).toEqual([{ url: 'http://127.0.0.1:4010/api/v2' }])
  })

  it('requires the key in X-API-KEY everywhere', () => {
    expect(document.security).toEqual([{ apiKey: [] }])
    expect(document.components.securitySchemes?.apiKey).toMatchObject({ in: 'header', name: 'X-API-KEY' })
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

  it('is the same each time', async () => {
    const again = await openapi({ version: '0.0.1', serverUrl: 'http://127.0.0.1:4010/api/v2' })
    expect(JSON.stringify(again)).toBe(JSON.stringify(document))
  })
})

describe('operations of the OpenAPI document', () => {
  it('are complete, with method, path, status, tag and price', () => {
    expect(all()).toHaveLength(operations().length)
    for (const row of operations()) {
      const one = document.paths[row.path]?.[row.method.toLowerCase()]
      expect(one).toMatchObject({ operationId: row.id, tags: [areaOf(row.id)], summary: row.summary })
      expect(one?.['x-price'] ?? {}).toEqual(row.price)
      expect(Object.keys(one?.responses ?? {})[0]).toBe(String(row.ok))
    }
  })

  it('have a tag that is described', () => {
    const delivered = Object.values(document.webhooks).map(({ post }) => post)
    const used = new Set([...all(), ...delivered].flatMap(({ tags }) => tags))
    expect([...used].sort()).toEqual(document.tags.map(({ name }) => name).sort())
  })

  it('accept every field, in the path, the query or the body', async () => {
    for (const row of operations()) {
      const one = described(row.id)
      const schema = one?.requestBody?.content['application/json'].schema.$ref.split('/').at(-1) ?? ''
      const body = Object.keys(
        (document.components.schemas?.[schema]?.properties as object | undefined) ?? {},
      )
      const named = (one?.parameters ?? []).flatMap(({ name }) => name ?? [])
      expect([...body, ...named].sort()).toEqual(Object.keys((await shapeOf(row.id)).input.shape).sort())
    }
  })

  it('require every path parameter', () => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const { parameters } of Object.values(methods)) {
        const names = parameters
          ?.filter((one) => one.in === 'path' && one.required)
          .map(({ name }) => `{${name}}`)
        expect(names ?? []).toEqual(path.match(/\{\w+\}/g) ?? [])
      }
  })
})

describe('webhooks of the OpenAPI document', () => {
  it('are the events, each with its own body', () => {
    expect(Object.keys(document.webhooks)).toEqual(eventNames())
    for (const [name, { post }] of Object.entries(document.webhooks)) {
      const reference = post.requestBody.content['application/json'].schema.$ref.split('/').at(-1) ?? ''
      const body = JSON.stringify(document.components.schemas?.[reference])
      expect(body).toContain(`"properties":{"event":{"type":"string","const":"${name}"`)
    }
  })

  it('carry the headers of Standard Webhooks, and no key', () => {
    for (const { post } of Object.values(document.webhooks)) {
      expect(post.security).toEqual([])
      const names = post.parameters.map(({ $ref }) => $ref.split('/').at(-1) ?? '')
      const headers = names.map((name) => document.components.parameters?.[name])
      expect(headers.map((header) => [header?.in, header?.required, header?.name])).toEqual([
        ['header', true, 'webhook-id'],
        ['header', true, 'webhook-timestamp'],
        ['header', true, 'webhook-signature'],
      ])
    }
  })

  it('name every endpoint that starts them', () => {
    for (const { id, method, path, starts } of operations()) {
      const from = Object.values(document.webhooks).filter(({ post }) =>
        post.description.includes(`\`${method} ${path}\``),
      )
      expect([id, from.length > 0]).toEqual([id, starts !== undefined])
    }
  })
})

describe('examples of the OpenAPI document', () => {
  it('exist for every path parameter', () => {
    const inPath = all().flatMap(({ parameters = [] }) => parameters.filter((one) => one.in === 'path'))
    expect(inPath.length).toBeGreaterThan(5)
    for (const { example } of inPath) expect(example).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('errors of the OpenAPI document', () => {
  it('that every operation can return are on every one', () => {
    for (const status of [400, 401, 403, 408, 413, 431, 500, 503])
      expect(idsWith(status)).toHaveLength(operations().length)
  })

  it('of credits are on priced operations, and never on a preview', () => {
    expect(idsWith(402)).toEqual([
      'accounts.bulk_enrich',
      'accounts.enrich',
      'accounts.hiring',
      'accounts.stack',
      'contacts.bulk_enrich',
      'contacts.enrich',
      'contacts.enrich_sync',
      'contacts.reverse_lookup',
      'intents.hiring',
      'intents.stack',
      'leads.bulk_enrich',
      'leads.enrich',
      'messenger.validate',
    ])
  })

  it('of idempotency are on operations that accept a key', () => {
    const takesKey = all().filter(({ parameters }) =>
      parameters?.some(({ $ref }) => $ref?.endsWith('IdempotencyKey')),
    )
    expect(idsWith(409)).toEqual(takesKey.map(({ operationId }) => operationId).sort())
    expect(idsWith(409)).toEqual(
      operations()
        .filter((row) => row.idempotent)
        .map(({ id }) => id)
        .sort(),
    )
  })

  it('of a body are on operations with a body', () => {
    expect(idsWith(415)).toEqual(
      operations()
        .filter(hasBody)
        .map(({ id }) => id)
        .sort(),
    )
  })

  it('of fields are not on operations without fields', () => {
    for (const id of ['credits.show', 'account.show']) expect(statusesOf(id)).not.toContain(422)
    expect(statusesOf('credits.consumption')).toContain(422)
  })

  it('of rates are not on operations without limits', () => {
    for (const id of ['credits.show', 'lists.get', 'contacts.enrich', 'account.show'])
      expect(statusesOf(id)).not.toContain(429)
    for (const id of ['accounts.hiring', 'leads.search', 'lists.list']) expect(statusesOf(id)).toContain(429)
  })

  it('of lookups are on operations that look up one record', () => {
    for (const id of 'lists.get personas.delete accounts.enrich leads.search accounts.headcount'.split(' '))
      expect(statusesOf(id)).toContain(404)
    for (const id of ['lists.list', 'credits.show', 'titles.suggest', 'lists.create'])
      expect(statusesOf(id)).not.toContain(404)
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
    expect(Object.keys((document.components.responses?.TooManyRequests?.headers ?? {}) as object)).toEqual([
      ...limited,
      'Retry-After',
    ])
    expect(Object.keys(described('lists.create')?.responses[201]?.headers ?? {})).toEqual([
      ...limited,
      'Idempotent-Replayed',
    ])
    expect(described('account.show')?.responses[200]?.headers).toBeUndefined()
    expect(operation('account.show').rate).toEqual({ plan: false })
  })
})
