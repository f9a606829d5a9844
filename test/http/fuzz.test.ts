import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Shape, shapeOf } from '../../src/api/areas/shapes.js'
import { hasBody } from '../../src/api/operations/facts.js'
import { areaOf, type Operation, type OperationId, operations } from '../../src/api/operations/table.js'
import type { Provider } from '../../src/api/ports/ports.js'
import { parseUrl } from '../../src/api/values/url.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { handler } from '../../src/http/handler.js'
import { openapi } from '../../src/reference/openapi.js'
import { idOf } from '../engine/fake-sender.js'
import { requests as valid } from '../spec/requests.js'
import { sample, tries } from '../support/effort.js'
import { type Bench, openBench } from '../support/engine.js'
import { damages, inputs, knownId, pathValues, type Schema } from './requests.js'

const seed = Number(process.env.PROSPECT_TEST_SEED ?? 20_260_310)
const runs = Math.ceil(6_000 / operations().length)
const origin = 'http://127.0.0.1:4010'

interface Described {
  readonly operationId: string
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[]
  readonly requestBody?: { content: { 'application/json': { schema: { $ref: string } } } }
  readonly responses: Readonly<Record<string, { $ref?: string }>>
}
interface ErrorResponse {
  readonly content: { 'application/json': { schema: { $ref: string } } }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, ErrorResponse>>
  }
}

const named = (reference: string | undefined): string => reference?.split('/').at(-1) ?? ''

/** The document that the server of these tests would serve. */
const document = (await openapi({ version: 'test' })) as Document

function describedOf(row: Operation): Described {
  const found = document.paths[row.path]?.[row.method.toLowerCase()]
  if (!found) throw new Error(`${row.id} is not in the document`)
  return found
}

/** Returns the schema of an operation's input according to the OpenAPI document. */
function schemaOf(described: Described): Schema {
  if (described.requestBody)
    return (
      document.components.schemas[named(described.requestBody.content['application/json'].schema.$ref)] ?? {}
    )
  const query = (described.parameters ?? []).filter((one) => one.in === 'query')
  return {
    properties: Object.fromEntries(query.map(({ name, schema }) => [name, schema])),
    required: query.filter(({ required }) => required).map(({ name }) => name),
  }
}

const keys = ['good', 'scoped', 'capped', 'none', 'wrong'] as const
type Key = (typeof keys)[number]

const rarely = <T>(...values: T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined, freq: 15 })

const requests = (described: Described) =>
  fc.record({
    input: inputs(schemaOf(described)),
    damage: damages,
    path: pathValues,
    key: fc.oneof({ arbitrary: fc.constant('good' as const), weight: 8 }, fc.constantFrom(...keys)),
    idempotencyKey: fc.oneof(
      { arbitrary: fc.constant(undefined), weight: 3 },
      fc.constantFrom('a', '"b"', 'c', 'a b', '', 'é', 'x'.repeat(256)),
    ),
    waitMs: fc.constantFrom(0, 500, 5_000, 61_000),
    credits: rarely(0, 1, 2, 5_000, 5_000, 5_000),
    network: rarely(true, true, false),
  })

type Sent = ReturnType<typeof requests> extends fc.Arbitrary<infer T> ? T : never

function requestOf(row: Operation, sent: Sent, id: string, apiKey: string | undefined): Request {
  const headers = new Headers({ 'content-type': 'application/json' })
  if (apiKey !== undefined) headers.set('x-api-key', apiKey)
  if (sent.idempotencyKey !== undefined) headers.set('idempotency-key', sent.idempotencyKey)
  const url = `${origin}/api/v2${row.path.replace(/\{\w+\}/, () => id)}`
  if (hasBody(row))
    return new Request(url, { method: row.method, headers, body: sent.damage(JSON.stringify(sent.input)) })
  const texts = Object.entries(sent.input).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => [name, String(textOf(one))]),
  )
  const query = new URLSearchParams(texts as [string, string][])
  return new Request(query.size > 0 ? `${url}?${query}` : url, { method: row.method, headers })
}

const textOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value

/** Internal details that no response may contain: code locations and SQL. */
const inside = /\bat \S+ \(|\.[jt]s:\d+|node_modules|node:|\/src\/|sqlite|select .* from|insert into/i

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const fieldChecks: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  Error: { error: isText },
  CodedError: { error: Number.isInteger, message: isText },
  InsufficientCredits: {
    error: isText,
    code: isText,
    top_up_url: (url) => parseUrl(String(url)) !== undefined,
  },
}

function expectError(described: Described, status: number, body: Record<string, unknown>): void {
  const response = document.components.responses[named(described.responses[status]?.$ref)]
  const shape = fieldChecks[named(response?.content['application/json'].schema.$ref)] ?? {}
  const { code, ...rest } = body
  const told = 'code' in shape ? body : rest
  expect(Object.keys(told).sort()).toEqual(Object.keys(shape).sort())
  for (const [name, holds] of Object.entries(shape)) expect(holds(body[name]), name).toBe(true)
  expect(code === undefined || isText(code)).toBe(true)
  expect(JSON.stringify(body)).not.toMatch(inside)
}

/** Credits that a success costs, computed from its body. Other operations cost nothing at once. */
const costs: Readonly<Record<string, (body: Record<string, unknown>) => number>> = {
  'accounts.enrich': () => 1,
  'accounts.bulk_enrich': ({ results }) => (results as readonly unknown[]).filter(Boolean).length,
  'accounts.hiring': ({ jobs }) => (jobs as readonly unknown[]).length,
  'accounts.stack': () => 3,
  'leads.enrich': () => 1,
  'leads.bulk_enrich': ({ results }) => (results as readonly unknown[]).filter(Boolean).length,
  'contacts.reverse_lookup': () => 1,
  'contacts.enrich_sync': ({ credits_used }) => credits_used as number,
  'messenger.validate': ({ results }) => {
    const all = results as readonly { phone_number: string; reachable: boolean }[]
    return new Set(all.filter(({ reachable }) => reachable).map(({ phone_number }) => phone_number)).size
  },
}

/** A provider that returns the same email address and mobile number for everyone. */
const ladder: Provider = {
  name: 'test',
  email: () => ({ email: 'ada@known.example', status: 'valid' }),
  phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }],
}

/** What makes a thing that operations of an area take by its id. */
const makes: readonly (readonly [area: string, makes: OperationId])[] = [
  ['personas', 'personas.create'],
  ['lists', 'lists.create'],
  ['searches', 'leads.search'],
  ['contacts', 'contacts.enrich'],
]

// One test after the other: each continues what those before it did.
describe(`fuzz, PROSPECT_TEST_SEED=${seed}`, { shuffle: false }, () => {
  let bench: Bench
  let serve: (request: Request) => Promise<Response>
  let apiKeys: Readonly<Record<Key, string | undefined>>
  let granted: number
  let paid: number
  let reported: unknown[]
  /** Ids of what there is, by area. */
  const known = new Map<string, string>()
  const seen = new Map<string, Set<number>>()
  let total = 0

  beforeEach(async () => {
    bench = await openBench()
    const uses = [{ name: 'React', slug: 'react', confidence: 1 }]
    Object.assign(bench.source, { openJobs: 3, matches: 30, ladder: [ladder], uses })
    await bench.admin.setPlan('Scale')
    await bench.admin.addMember({ email: 'capped@known.example', weeklyLimit: 1 })
    const keyOf = async (member: string, scopes?: string[]) =>
      (await bench.admin.createKey({ member, ...(scopes ? { scopes } : {}) })).key
    apiKeys = {
      good: bench.key,
      scoped: await keyOf('me@localhost', ['credits']),
      capped: await keyOf('capped@known.example'),
      none: undefined,
      wrong: 'pk_wrong',
    }
    for (const [area, id] of makes) known.set(area, idOf((await bench.call(id, valid[id])).body))
    granted = 1_000
    paid = 0
    reported = []
    serve = handler({
      caller: bench.caller,
      version: 'test',
      document: async () => ({}),
      report: (error) => reported.push(error),
    })
  })
  afterEach(() => bench.caller.close())

  async function prepare({ waitMs, credits, network }: Sent): Promise<void> {
    bench.clock.advance(waitMs)
    if (credits !== undefined) {
      granted += credits - (await bench.balance())
      await bench.admin.setCredits(credits)
    }
    if (network !== undefined) await bench.admin.setSession({ network })
  }

  async function send(row: Operation, shape: Shape, sent: Sent): Promise<void> {
    await prepare(sent)
    const id = (sent.path === knownId && known.get(areaOf(row.id))) || sent.path
    const response = await serve(requestOf(row, sent, id, apiKeys[sent.key]))
    const body = (await response.json()) as Record<string, unknown>
    const { status, headers } = response
    total++
    seen.set(row.id, (seen.get(row.id) ?? new Set()).add(status))
    expect(reported).toEqual([])
    const described = describedOf(row)
    expect(Object.keys(described.responses).map(Number), 'a documented status').toContain(status)
    expect(status).toBeLessThan(500)
    expect(headers.get('content-type')).toBe('application/json')
    if (status !== row.ok) return expectError(described, status, body)
    expect(shape.output.parse(body)).toEqual(body)
    if (headers.get('idempotent-replayed') === null) paid += costs[row.id]?.(body) ?? 0
  }

  it.each(sample(operations(), 2).map((row) => [row.id, row] as const))(
    'answers random requests to %s with documented statuses and exact charges',
    async (id, row) => {
      const shape = await shapeOf(id)
      const property = fc.asyncProperty(requests(describedOf(row)), (sent) => send(row, shape, sent))
      await fc.assert(property, { seed, numRuns: runs })
      // No worker runs here, so the credits of accepted work stay held.
      const { credits, held } = await bench.store.read((tx) => readBalances(tx, bench.workspaceId))
      expect(credits + held).toBe(granted - paid)
      expect(await bench.admin.verify()).toMatchObject({ ok: true, problems: [] })
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      const statuses = [...(seen.get(id) ?? [])]
      expect(statuses, 'some request gets through').toContain(row.ok)
      expect(statuses, 'some request has no key').toContain(401)
    },
  )

  it.each(Object.entries(document.paths))(
    'answers 405 with the allowed methods to any other method on %s',
    async (path, own) => {
      const allowed = Object.keys(own).map((method) => method.toUpperCase())
      const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']
      for (const method of others.filter((one) => !allowed.includes(one))) {
        const url = `${origin}/api/v2${path.replace(/\{\w+\}/, 'x')}`
        const response = await serve(new Request(url, { method }))
        expect([response.status, response.headers.get('content-type')]).toEqual([405, 'application/json'])
        expect(response.headers.get('allow')?.split(', ').sort()).toEqual([...allowed].sort())
      }
    },
  )

  it('sent thousands of requests and got every kind of answer', () => {
    expect(total).toBeGreaterThan(tries(2_500, 5_000))
    const statuses = new Set([...seen.values()].flatMap((one) => [...one]))
    expect([...statuses].sort()).toEqual([200, 201, 202, 400, 401, 402, 403, 404, 409, 422, 429])
  })
})
