import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { bodyLimits, maxLevels as deepest } from '../../src/api/operations/facts.js'
import { handler } from '../../src/http/handler.js'
import { tries } from '../support/effort.js'
import { casesOf } from '../support/fixtures.js'
import { CountingCaller } from './counting-caller.js'

const { bytes: usualBodyLimit } = bodyLimits
const url = 'http://localhost:4010/api/v2/accounts/single_enrich'
const json = { 'x-api-key': 'right', 'content-type': 'application/json' }

let caller: CountingCaller
let serve: (request: Request) => Promise<Response>

beforeEach(() => {
  caller = new CountingCaller()
  serve = handler({ caller, version: '1', document: async () => ({}) })
})

const post = (body: NonNullable<RequestInit['body']>, headers: Record<string, string> = json, to = url) =>
  serve(new Request(to, { method: 'POST', headers, body }))

const nested = (depth: number, open = '[', close = ']') =>
  `{"a":${open.repeat(depth)}1${close.repeat(depth)}}`

describe('hostile request bodies', () => {
  it.each([
    ...casesOf<[string, string]>('http/body/malformed'),
    ['100,000 arrays', nested(100_000)],
    ['100,000 objects', nested(100_000, '{"a":', '}')],
    ['100,000 arrays never closed', '['.repeat(100_000)],
    ['arrays up to the size limit', '['.repeat(usualBodyLimit)],
  ])('refuses a body with %s before the call', async (_, body) => {
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(Object.keys((await response.json()) as object)).toEqual(['error'])
    expect(caller.seen).toEqual([])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('refuses a body that is not UTF-8', async () => {
    const response = await post(Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]))
    expect(response.status).toBe(400)
  })

  it('passes constructor and prototype on as ordinary fields', async () => {
    await post('{"constructor":{"prototype":{"polluted":true}}}')
    expect(caller.seen[0]?.input).toEqual({ constructor: { prototype: { polluted: true } } })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('leaves NUL and lone surrogates to the checks of the fields', async () => {
    await post('{"name":"a\\u0000b","domain":"\\ud800"}')
    expect(caller.seen[0]?.input).toEqual({ name: 'a\0b', domain: '\ud800' })
  })

  it('accepts nesting up to the limit and refuses one level more', async () => {
    expect((await post(nested(deepest - 1))).status).toBe(200)
    expect((await post(nested(deepest))).status).toBe(400)
  })

  it('does not count brackets in strings as nesting', async () => {
    expect((await post(JSON.stringify({ a: '[{"\\"['.repeat(100) }))).status).toBe(200)
  })

  it('passes every other JSON object on unchanged', async () => {
    const plain = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__' && !key.includes('\0')),
      fc.jsonValue(),
    )
    await fc.assert(
      fc.asyncProperty(plain, async (fields) => {
        const body = JSON.stringify(fields)
        fc.pre(!body.includes('__proto__'))
        caller.seen.length = 0
        await post(body)
        expect(caller.seen[0]?.input).toEqual(JSON.parse(body))
      }),
      { numRuns: tries(50, 200) },
    )
  })
})

describe('content types', () => {
  it.each([
    ['no type', {}],
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['multipart', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['a type that only begins like JSON', { 'content-type': 'application/jsonp' }],
    ['JSON lines', { 'content-type': 'application/json-seq' }],
    ['another charset', { 'content-type': 'application/json; charset=latin1' }],
    ['two types', { 'content-type': 'text/plain, application/json' }],
  ])('refuses %s with 415', async (_, headers) => {
    const sent = { 'x-api-key': 'right', ...headers } as Record<string, string>
    expect((await post(Buffer.from('{}'), sent)).status).toBe(415)
    expect(caller.seen).toEqual([])
  })

  it('refuses a compressed body with 415 without decompressing it', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000, 0x20))
    expect((await post(bomb, { ...json, 'content-encoding': 'gzip' })).status).toBe(415)
  })

  it('accepts a body with Content-Encoding: identity', async () => {
    expect((await post('{}', { ...json, 'content-encoding': 'identity' })).status).toBe(200)
  })
})

describe('the size of a body', () => {
  const padded = (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`

  it('accepts a body at the size limit and refuses one byte more with 413', async () => {
    expect((await post(padded(usualBodyLimit))).status).toBe(200)
    expect((await post(padded(usualBodyLimit + 1))).status).toBe(413)
  })

  it('refuses a declared length over the limit with 413 before it checks the key', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': String(usualBodyLimit + 1) }
    const response = await post('{}', headers)
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({ error: 'The request body is larger than 1048576 bytes' })
    expect(caller.calls).toBe(0)
  })

  it('counts the body that arrives beyond its declared length', async () => {
    const response = await post(padded(usualBodyLimit + 1), { ...json, 'content-length': '10' })
    expect(response.status).toBe(413)
  })

  const streamed = (body: ReadableStream<Uint8Array>) =>
    serve(new Request(url, { method: 'POST', headers: json, body, duplex: 'half' } as RequestInit))

  it('stops reading a body without a declared length at the limit', async () => {
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536
        controller.enqueue(new Uint8Array(65_536))
      },
    })
    expect((await streamed(body)).status).toBe(413)
    expect(sent).toBeLessThan(2 * usualBodyLimit)
  })

  it.each([1, 7, 4_095, 4_096, 4_097, 100_000])(
    'reads a body that comes in portions of %i bytes',
    async (size) => {
      const text = JSON.stringify({ a: Array.from({ length: 4_000 }, (_, at) => `é${at}`) })
      const bytes = Buffer.from(text)
      const portions = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      )
      expect((await streamed(ReadableStream.from(portions))).status).toBe(200)
      expect(caller.seen[0]?.input).toEqual(JSON.parse(text))
    },
  )

  it('is at most so many values, with those inside of others', async () => {
    const { values } = bodyLimits
    // The object, its field and the list count, too.
    const list = (count: number) => post(`{"a":[${Array(count).fill(1).join()}]}`)
    expect((await list(values - 2)).status).toBe(200)
    const refused = await list(values - 1)
    expect([refused.status, await refused.json()]).toEqual([
      413,
      { error: `The request body has more than ${values} values` },
    ])
  })
})

describe('the order of the checks', () => {
  it.each([
    ['an unknown path before everything else', '/nothing', {}, 404],
    ['the declared size before the key', '/accounts/single_enrich', { 'content-length': '99999999' }, 413],
    ['the key before the type', '/accounts/single_enrich', { 'content-type': 'text/plain' }, 401],
    ['the key before the syntax', '/accounts/single_enrich', { 'content-type': 'application/json' }, 401],
  ])('checks %s', async (_, path, headers, status) => {
    const response = await post('{', headers as Record<string, string>, `http://localhost:4010/api/v2${path}`)
    expect(response.status).toBe(status)
  })

  it('does not read the body of a request without a valid key', async () => {
    const headers = { 'content-type': 'application/json' }
    const request = new Request(url, { method: 'POST', headers, body: '{}' })
    expect((await serve(request)).status).toBe(401)
    expect(request.bodyUsed).toBe(false)
  })

  it('reports an invalid body in the error shape of the operation', async () => {
    const response = await post('{', json, 'http://localhost:4010/api/v2/leads')
    expect(await response.json()).toEqual({ error: 400, message: 'The request body is not valid JSON' })
  })

  it('refuses __proto__ in a query', async () => {
    const searches = 'http://localhost:4010/api/v2/searches?__proto__=1'
    expect((await serve(new Request(searches, { headers: { 'x-api-key': 'right' } }))).status).toBe(400)
  })
})
