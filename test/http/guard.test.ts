import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { handler } from '../../src/http/handler.js'
import { type Listening, listen } from '../../src/http/listen.js'
import { casesOf } from '../support/fixtures.js'
import { CountingCaller } from './counting-caller.js'
import { bodyOf, exchange, headersOf, lines, statuses } from './raw.js'
import { refusedHeads, refusedHosts } from './strangers.js'

const caller = new CountingCaller()
let server: Listening
let port: number

beforeAll(async () => {
  server = await listen({
    handler: handler({ caller, version: '1', document: async () => ({}) }),
    host: '127.0.0.1',
    port: 0,
    allowHosts: ['api.example', 'Proxy.example:8443'],
  })
  port = server.port
})
afterAll(() => server.close())

/** `PORT` in a text stands for the port of the server under test. */
const withPort = (text: string) => text.replaceAll('PORT', String(port))
const ask = (first: string, headers: readonly string[], body = '') =>
  exchange(port, lines(withPort(first), headers.map(withPort), body))

describe('the Host header', () => {
  it.each(casesOf<string>('http/guard/serves-the-host'))('serves the host %s', async (host) => {
    expect(statuses(await ask('GET /health HTTP/1.1', [`Host: ${host}`]))).toEqual([200])
  })

  it.each(refusedHosts)('refuses the host %s with %i on every path', async (host, status) => {
    const calls = caller.calls
    for (const path of ['/health', '/api/v2/credits', '/nothing']) {
      const raw = await ask(`GET ${path} HTTP/1.1`, [`Host: ${host}`, 'X-API-KEY: right'])
      expect(statuses(raw)).toEqual([status])
    }
    expect(caller.calls).toBe(calls)
  })

  it.each(refusedHeads)('refuses a request with %s', async (_, headers, status) => {
    expect(statuses(await ask('GET /health HTTP/1.1', headers))).toEqual([status])
  })

  it('refuses HTTP/1.0 without a Host header', async () => {
    expect(statuses(await ask('GET /health HTTP/1.0', []))).toEqual([400])
  })

  it.each(casesOf<[string, number]>('http/guard/answers-the-request-target'))(
    'answers the request target %s with %i',
    async (target, status) => {
      expect(statuses(await ask(`GET ${target} HTTP/1.1`, ['Host: localhost:PORT']))).toEqual([status])
    },
  )

  it.each(casesOf<string>('http/guard/answers-the-path-which'))(
    'answers the path %s, which only leads to a route once it is resolved, with 404',
    async (target) => {
      const calls = caller.calls
      for (const method of ['GET', 'POST'])
        for (const served of ['localhost:PORT', 'localhost'])
          expect(
            statuses(
              await ask(`${method} ${target.replace('localhost:PORT', served)} HTTP/1.1`, [
                `Host: ${served}`,
                'X-API-KEY: right',
              ]),
            ),
          ).toEqual([404])
      expect(caller.calls).toBe(calls)
    },
  )

  it.each([
    '/api/v2/credits?x=/../y',
    '/api/v2/searches/a..b',
    '/api/v2/searches/...',
    '/api/v2/searches/a%2Fb',
  ])('serves the path %s, in which nothing is to be resolved', async (target) => {
    const raw = await ask(`GET ${target} HTTP/1.1`, ['Host: localhost:PORT', 'X-API-KEY: right'])
    expect(statuses(raw)).toEqual([200])
  })

  it('does not open a tunnel for CONNECT', async () => {
    expect(await ask('CONNECT evil.example:443 HTTP/1.1', ['Host: localhost:PORT'])).toBe('')
  })
})

const key = 'X-API-KEY: right'
const host = 'Host: localhost:PORT'
const jsonType = 'Content-Type: application/json'
const enrich = 'POST /api/v2/accounts/single_enrich HTTP/1.1'
const credits = 'GET /api/v2/credits HTTP/1.1'
const own = 'http://localhost:PORT'

describe('requests from browsers', () => {
  it.each<[string, string, string[], number]>([
    ['a page of another site', credits, ['Origin: http://evil.example'], 403],
    ['a page of another site over https', credits, ['Origin: https://evil.example'], 403],
    ['a page without an origin', credits, ['Origin: null'], 403],
    ['an empty origin', credits, ['Origin: '], 403],
    ['another port here', credits, ['Origin: http://localhost:1'], 403],
    ['no port here', credits, ['Origin: http://localhost'], 403],
    ['another name for here', credits, ['Origin: http://127.0.0.1:PORT'], 403],
    ['a look-alike', credits, ['Origin: http://localhost:PORT.evil.example'], 403],
    ['a look-alike with user', credits, ['Origin: http://localhost:PORT@evil.example'], 403],
    ['a file', credits, ['Origin: file://'], 403],
    ['an extension', credits, ['Origin: chrome-extension://abc'], 403],
    ['two origins', credits, [`Origin: ${own}`, 'Origin: http://evil.example'], 400],
    ['two origins in one', credits, [`Origin: ${own}, http://evil.example`], 403],
    [
      'a link on a page of another site, where no page is served',
      credits,
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document'],
      403,
    ],
    ['an image on a page', credits, ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'], 403],
    ['a page on another local port', credits, ['Sec-Fetch-Site: same-site'], 403],
    ['a page of another site on /health', 'GET /health HTTP/1.1', ['Origin: http://evil.example'], 403],
    ['a page of another site on /openapi.json', 'GET /openapi.json HTTP/1.1', ['Origin: null'], 403],
    ['a page of another site anywhere', 'GET /x HTTP/1.1', ['Origin: http://evil.example'], 403],
    ['a paid post', enrich, ['Origin: http://evil.example', jsonType], 403],
    ['a delete', 'DELETE /api/v2/personas/x HTTP/1.1', ['Origin: http://evil.example'], 403],
    ['a put', 'PUT /api/v2/personas/x HTTP/1.1', ['Origin: http://evil.example'], 403],
    ['a preflight', 'OPTIONS /api/v2/credits HTTP/1.1', ['Origin: http://evil.example'], 403],
    [
      'a preflight for a post',
      `OPTIONS /api/v2/leads HTTP/1.1`,
      ['Access-Control-Request-Method: POST'],
      403,
    ],
    ['a preflight for a key', 'OPTIONS /x HTTP/1.1', ['Access-Control-Request-Headers: x-api-key'], 403],
    [
      'a preflight from here',
      'OPTIONS /x HTTP/1.1',
      [`Origin: ${own}`, 'Access-Control-Request-Method: GET'],
      403,
    ],
    ['OPTIONS without origin', 'OPTIONS /api/v2/credits HTTP/1.1', [], 405],
    ['OPTIONS on /health', 'OPTIONS /health HTTP/1.1', [], 405],
    ['a simple post of text', enrich, ['Content-Type: text/plain'], 415],
    ['a simple post of a form', enrich, ['Content-Type: application/x-www-form-urlencoded'], 415],
    ['a simple post of parts', enrich, ['Content-Type: multipart/form-data; boundary=x'], 415],
    ['a post without a type', enrich, [], 415],
    ['a type twice', enrich, ['Content-Type: text/plain', jsonType], 400],
    ['a key twice', credits, ['X-API-KEY: wrong'], 400],
    ['an idempotency key twice', enrich, [jsonType, 'Idempotency-Key: a', 'idempotency-key: b'], 400],
    ['a compressed body', enrich, [jsonType, 'Content-Encoding: br'], 415],
    ['a method in a header', 'POST /api/v2/personas/x HTTP/1.1', ['X-HTTP-Method-Override: DELETE'], 405],
    ['TRACE', 'TRACE /api/v2/credits HTTP/1.1', [], 405],
    ['HEAD', 'HEAD /api/v2/credits HTTP/1.1', [], 405],
    ['a websocket', 'GET /nothing HTTP/1.1', ['Upgrade: websocket', `Origin: http://evil.example`], 403],
    ['a web socket without origin', 'GET /nothing HTTP/1.1', ['Upgrade: websocket'], 404],
  ])('refuses %s before the call', async (_, first, headers, status) => {
    const before = caller.seen.length
    const raw = await ask(first, [host, key, ...headers, 'Content-Length: 2'], '{}')
    expect(statuses(raw)).toEqual([status])
    expect(raw).not.toMatch(/access-control/i)
    expect(headersOf(raw)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "frame-ancestors 'none'",
      'content-type': 'application/json',
    })
    expect(caller.seen.length).toBe(before)
  })

  it('serves a request from its own origin', async () => {
    expect(
      statuses(await ask(credits, [host, key, `Origin: ${own}`, 'Sec-Fetch-Site: same-origin'])),
    ).toEqual([200])
  })

  it('explains in one sentence why a browser is refused', async () => {
    const raw = await ask(credits, [host, 'Origin: http://evil.example'])
    expect(bodyOf(raw)).toEqual({ error: 'Requests from browsers are not served here' })
  })
})
