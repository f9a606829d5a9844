import { beforeEach, describe, expect, it } from 'vitest'
import { hasBody } from '../../src/api/operations/facts.js'
import { operations } from '../../src/api/operations/table.js'
import { handler } from '../../src/http/handler.js'
import { CountingCaller } from './counting-caller.js'

const origin = 'http://localhost:4010'
const base = `${origin}/api/v2`
const auth = { 'x-api-key': 'right' }
const json = { ...auth, 'content-type': 'application/json' }

let caller: CountingCaller
let serve: (request: Request) => Promise<Response>
let reported: unknown[]

beforeEach(() => {
  caller = new CountingCaller()
  reported = []
  serve = handler({
    caller,
    version: '9.9.9',
    document: async () => ({ openapi: '3.1.0' }),
    report: (error) => reported.push(error),
  })
})

const get = (path: string, headers: Record<string, string> = auth) =>
  serve(new Request(base + path, { headers }))
const post = (path: string, body: NonNullable<RequestInit['body']>, headers: Record<string, string> = json) =>
  serve(new Request(base + path, { method: 'POST', headers, body }))

describe('routes', () => {
  it.each(operations().map((row) => [row.id, row] as const))('routes a request to %s', async (id, row) => {
    const path = row.path.replace(/\{\w+\}/, '0b0e7a2e-4b5f-4f3a-9a33-000000000001')
    const body = hasBody(row) ? { body: '{}', headers: json } : { headers: auth }
    const response = await serve(new Request(base + path, { method: row.method, ...body }))
    expect(await response.json()).toEqual({ id })
  })

  it('routes the accounts import with and without its trailing slash', async () => {
    await post('/accounts', '{}')
    await post('/accounts/', '{}')
    expect(caller.seen.map(({ id }) => id)).toEqual(['accounts.extract', 'accounts.extract'])
  })

  it.each(['/nothing', '/credits/', '/contacts/a/b', '/accounts/single_enrich/', '//credits', '/__proto__'])(
    'answers 404 without a key for %s',
    async (path) => {
      const response = await get(path, {})
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ error: 'Not found' })
      expect(caller.calls).toBe(0)
    },
  )

  it('serves /health without a key', async () => {
    const response = await serve(new Request(`${origin}/health`))
    expect(await response.json()).toEqual({ status: 'ok', version: '9.9.9', idempotency: 'Idempotency-Key' })
  })

  it('serves /openapi.json without a key', async () => {
    const response = await serve(new Request(`${origin}/openapi.json`))
    expect(await response.json()).toEqual({ openapi: '3.1.0' })
  })

  it('writes /openapi.json once, however often it is asked for, at once or later', async () => {
    let written = 0
    const document = { toJSON: () => ({ number: ++written }) }
    const own = handler({ caller, version: '1', document: async () => document })
    const ask = async () => await (await own(new Request(`${origin}/openapi.json`))).json()
    expect([...(await Promise.all([ask(), ask()])), await ask()]).toEqual(Array(3).fill({ number: 1 }))
  })
})

describe('the input of a call', () => {
  it('reads the fields of a POST from its body and ignores its query', async () => {
    await post('/accounts/single_enrich?live=false', '{"domain":"acme.example"}')
    expect(caller.seen[0]?.input).toEqual({ domain: 'acme.example' })
  })

  it('reads the fields of a GET from its query, with repeated names as an array', async () => {
    await get('/searches?per_page=5&status=a&status=b&status=c&q=a+b%20c')
    expect(caller.seen[0]?.input).toEqual({ per_page: '5', status: ['a', 'b', 'c'], q: 'a b c' })
  })

  it('reads path parameters, which win over the query', async () => {
    await get('/searches/a%2Fb?id=other&page=2')
    expect(caller.seen[0]?.input).toEqual({ id: 'a/b', page: '2' })
  })

  it('takes the last value of a key given twice', async () => {
    await post('/accounts/single_enrich', '{"domain":"a.example","domain":"b.example"}')
    expect(caller.seen[0]?.input).toEqual({ domain: 'b.example' })
  })

  it('accepts a body with a byte order mark', async () => {
    await post('/accounts/single_enrich', '\ufeff{"domain":"a.example"}')
    expect(caller.seen[0]?.input).toEqual({ domain: 'a.example' })
  })

  it.each(['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"'])(
    'accepts a body of type %s',
    async (type) => {
      const response = await post('/accounts/single_enrich', '{}', { ...auth, 'content-type': type })
      expect(response.status).toBe(200)
    },
  )
})

describe('the options of a call', () => {
  it('accepts an API key in the header only', async () => {
    const response = await get('/credits?x-api-key=right&api_key=right&X-API-KEY=right', {})
    expect(response.status).toBe(401)
  })

  it('passes the idempotency key on as sent, with the origin and the API key', async () => {
    await post('/accounts/single_enrich', '{}', { ...json, 'idempotency-key': '"a b"' })
    expect(caller.seen[0]?.options).toMatchObject({ idempotencyKey: '"a b"', origin, apiKey: 'right' })
  })

  it('aborts the signal of a call when the client disconnects', async () => {
    const client = new AbortController()
    caller.work = async (options) => {
      client.abort()
      expect(options.signal?.aborted).toBe(true)
    }
    await serve(new Request(`${base}/credits`, { headers: auth, signal: client.signal }))
    expect(caller.seen).toHaveLength(1)
  })
})

describe('responses', () => {
  it('returns the status, body and headers of the reply', async () => {
    caller.reply = {
      status: 429,
      body: { error: 'x' },
      headers: { 'retry-after': '3', 'ratelimit-limit': '1' },
    }
    const response = await get('/credits')
    expect([response.status, await response.json()]).toEqual([429, { error: 'x' }])
    expect(response.headers.get('retry-after')).toBe('3')
    expect(response.headers.get('ratelimit-limit')).toBe('1')
  })

  it.each(['/api/v2/credits', '/health', '/openapi.json', '/nothing', '/api/v2/lists/x'])(
    'never lets a response be cached, sniffed, framed or read by pages: %s',
    async (path) => {
      caller.reply = { headers: { 'access-control-allow-origin': '*', 'cache-control': 'public' } }
      const { headers } = await serve(new Request(origin + path, { headers: auth }))
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toBe("frame-ancestors 'none'")
      expect(headers.get('content-type')).toBe('application/json')
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    },
  )

  it('answers an internal error with a plain 500, and reports the error', async () => {
    const mistake = new Error('SELECT secret FROM keys')
    caller.work = () => Promise.reject(mistake)
    const response = await get('/credits')
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ error: 'Internal server error' })
    expect(reported).toEqual([mistake])
  })

  it('builds the OpenAPI document again after a failure', async () => {
    let attempts = 0
    const flaky = handler({
      caller,
      version: '1',
      document: async () => {
        if (attempts++ === 0) throw new Error('once')
        return { openapi: '3.1.0' }
      },
    })
    const ask = async () => (await flaky(new Request(`${origin}/openapi.json`))).status
    expect([await ask(), await ask(), await ask(), attempts]).toEqual([500, 200, 200, 2])
  })
})
