import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { validate } from '../../src/api/invalid.js'
import { shapeOf } from '../../src/api/shapes.js'
import { areaOf, type Operation, operations } from '../../src/api/table.js'
import { handler } from '../../src/http/handler.js'
import { jsonSchema } from '../../src/reference/schemas.js'
import { type Bench, openBench } from '../helpers/engine.js'
import { plain, type Schema } from './requests.js'

const base = 'http://127.0.0.1:4010/api/v2'
const unknownId = '7f6f2d0e-5d0c-4d8e-9b0a-2f6f3f0f1a11'
const rows = operations().map((row) => [row.id, row] as const)
const areas = [...new Set(operations().map(({ id }) => areaOf(id)))]

let bench: Bench
let serve: (request: Request) => Promise<Response>
const inputs = new Map<string, Record<string, unknown>>()
/** Keys by what is the matter with them; those of areas by the name of the area. */
const keys = new Map<string, string | undefined>([
  ['missing', undefined],
  ['empty', ''],
  ['malformed', 'pk_x'],
  ['unknown', `pk_${'0'.repeat(38)}`],
])

/** A request of an operation that every check of its fields lets through, found by trying. */
async function validInput({ id }: Operation): Promise<Record<string, unknown>> {
  const shape = await shapeOf(id)
  const schema = jsonSchema(shape.input) as Schema
  const tried = fc.sample(plain({ ...schema, required: Object.keys(schema.properties ?? {}) }), {
    seed: 1,
    numRuns: 500,
  }) as Record<string, unknown>[]
  const sparse = fc.sample(plain(schema), { seed: 1, numRuns: 2_000 }) as Record<string, unknown>[]
  const isValid = (given: Record<string, unknown>) => {
    try {
      return Boolean(validate(id, shape, given))
    } catch {
      return false
    }
  }
  const found = [...tried, ...sparse]
    // A cursor that was never given out is refused for what it is.
    .map(({ cursor: _, ...given }) => ({ ...given, ...pathFields(id) }))
    .find(isValid)
  if (!found) throw new Error(`no valid request of ${id} was found`)
  return found
}

const pathFields = (id: string): Record<string, string> => {
  const name = /\{(\w+)\}/.exec(operations().find((row) => row.id === id)?.path ?? '')?.[1]
  return name === undefined ? {} : { [name]: unknownId }
}

interface Seen {
  readonly status: number
  readonly body: string
  readonly headers: Record<string, string>
}

async function ask(row: Operation, key: string | undefined, id = unknownId): Promise<Seen> {
  const { method } = row
  const headers = new Headers({ 'content-type': 'application/json' })
  if (key !== undefined) headers.set('x-api-key', key)
  const input = inputs.get(row.id) ?? {}
  const url = base + row.path.replace(/\{\w+\}/, id)
  const query = new URLSearchParams(
    Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const request =
    method === 'POST'
      ? new Request(url, { method, headers, body: JSON.stringify(input) })
      : new Request(`${url}?${query}`, { method, headers })
  const response = await serve(request)
  return {
    status: response.status,
    body: await response.text(),
    headers: Object.fromEntries(response.headers),
  }
}

beforeAll(async () => {
  bench = await openBench()
  const { admin } = bench
  serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}) })
  for (const row of operations()) inputs.set(row.id, await validInput(row))
  const make = async (name: string, more: { scopes?: string[]; expiresAt?: number } = {}) => {
    const { id, key } = await admin.createKey({ member: 'me@localhost', ...more })
    keys.set(name, key)
    return id
  }
  await admin.revokeKey(await make('revoked'))
  await make('expired', { expiresAt: bench.clock.now() })
  for (const area of areas) await make(area, { scopes: [area] })
  keys.set('all', bench.key)
  await admin.createWorkspace('Other')
  await admin.useWorkspace('Other')
  await admin.addMember({ email: 'them@other.example' })
  keys.set('theirs', (await admin.createKey({ member: 'them@other.example' })).key)
})
afterAll(() => bench.caller.close())
// Every window is over before the next request.
beforeEach(() => bench.clock.advance(120_000))

describe.each(rows)('%s', (id, row) => {
  it.each(['missing', 'empty', 'malformed', 'unknown', 'revoked', 'expired'])(
    'refuses a key that is %s',
    async (name) => {
      const first = await ask(row, keys.get('missing'))
      const seen = await ask(row, keys.get(name))
      expect(seen.status).toBe(401)
      expect(seen.body).toBe('{"error":"Invalid API key"}')
      expect(seen).toEqual(first)
    },
  )

  it('refuses a key of every other area, without a code', async () => {
    for (const area of areas.filter((one) => one !== areaOf(id))) {
      bench.clock.advance(120_000)
      const { status, body } = await ask(row, keys.get(area))
      expect([area, status, Object.keys(JSON.parse(body))]).toEqual([area, 403, ['error']])
    }
  })

  it.each(['all', 'theirs', 'its area'])('lets in a key of %s', async (name) => {
    const { status } = await ask(row, keys.get(name === 'its area' ? areaOf(id) : name))
    expect([row.ok, 404]).toContain(status)
  })
})

describe.each(rows.filter(([, { path }]) => path.includes('{')))('%s', (_, row) => {
  it('answers whoever asks for an unknown id alike', async () => {
    const mine = await ask(row, keys.get('all'))
    const theirs = await ask(row, keys.get('theirs'))
    const another = await ask(row, keys.get('all'), '00000000-0000-4000-8000-000000000000')
    expect(mine.status).toBeGreaterThanOrEqual(400)
    expect([theirs.status, theirs.body]).toEqual([mine.status, mine.body])
    expect([another.status, another.body]).toEqual([mine.status, mine.body])
  })
})

describe('two workspaces', () => {
  const enrich = (key: string | undefined, domain: string, more = {}, idempotencyKey?: string) => {
    const headers = new Headers({ 'content-type': 'application/json', 'x-api-key': key ?? '' })
    if (idempotencyKey) headers.set('idempotency-key', idempotencyKey)
    const body = JSON.stringify({ domain, ...more })
    return serve(new Request(`${base}/accounts/single_enrich`, { method: 'POST', headers, body }))
  }
  const read = async (key: string | undefined, path: string) =>
    await (await serve(new Request(base + path, { headers: { 'x-api-key': key ?? '' } }))).json()
  const balance = async (key: string | undefined) =>
    ((await read(key, '/credits')) as { credits: { enrichment: number } }).credits.enrichment

  it('pay for themselves and see only themselves', async () => {
    const [mine, theirs] = [keys.get('all'), keys.get('theirs')]
    const before = [await balance(mine), await balance(theirs)]
    await enrich(mine, 'known.example')
    expect([await balance(mine), await balance(theirs)]).toEqual([(before[0] ?? 0) - 1, before[1]])
    expect(await read(theirs, '/account')).toMatchObject({
      account: { email: 'them@other.example' },
      workspace: { name: 'Other' },
    })
    const spent = await read(theirs, '/credits_consumption?start_date=2026-01-01&end_date=2027-01-01')
    expect(spent).toMatchObject({ credits_consumed: 1000 - (before[1] ?? 0) })
  })

  it('never answer each other’s idempotency keys', async () => {
    await enrich(keys.get('all'), 'known.example', {}, 'shared')
    const theirs = await enrich(keys.get('theirs'), 'known-b.example', {}, 'shared')
    expect([theirs.status, theirs.headers.get('idempotent-replayed')]).toEqual([200, null])
    expect(await theirs.json()).toMatchObject({ domain: 'known-b.example' })
  })

  it('cannot be chosen, nor anything else of the server’s, by a field', async () => {
    const [mine, theirs] = [keys.get('all'), keys.get('theirs')]
    const before = [await balance(mine), await balance(theirs)]
    const owned = { workspace: 'Other', workspace_id: bench.workspaceId, member: 'me@localhost' }
    const plainly = await (await enrich(theirs, 'known.example')).json()
    const hopefully = await enrich(theirs, 'known.example', {
      ...owned,
      id: 1,
      status: 402,
      price: 0,
      credits: 9,
    })
    expect(await hopefully.json()).toEqual(plainly)
    expect([await balance(mine), await balance(theirs)]).toEqual([before[0], (before[1] ?? 0) - 2])
  })
})
