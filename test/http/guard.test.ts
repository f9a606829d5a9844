import { describe, expect, it } from 'vitest'
import { handler } from '../../src/http/handler.js'
import { listen } from '../../src/http/listen.js'
import { perFile } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'
import { CountingCaller } from './counting-caller.js'
import { bodyOf, exchange, headersOf, lines, statuses } from './raw.js'

const caller = new CountingCaller()
const server = perFile(() =>
  listen({
    handler: handler({ caller, version: '1', document: async () => ({}) }),
    host: '127.0.0.1',
    port: 0,
    allowHosts: ['api.example', 'Proxy.example:8443'],
  }),
)

const key = 'X-API-KEY: right'

/** `PORT` in a text stands for the port of the server under test. */
const withPort = (text: string) => text.replaceAll('PORT', String(server.port))
const ask = (first: string, headers: readonly string[], body = '') =>
  exchange(server.port, lines(withPort(first), headers.map(withPort), body))

describe('the Host header', () => {
  it.each(casesOf<string>('http/guard/serves-the-host'))('serves the host %s', async (host) => {
    expect(statuses(await ask('GET /health HTTP/1.1', [`Host: ${host}`]))).toEqual([200])
  })

  it.each(casesOf<[string, number]>('http/strangers/hosts'))(
    'refuses the host %s with %i on every path',
    async (host, status) => {
      const calls = caller.calls
      for (const path of ['/health', '/api/v2/credits', '/nothing']) {
        const raw = await ask(`GET ${path} HTTP/1.1`, [`Host: ${host}`, key])
        expect(statuses(raw)).toEqual([status])
      }
      expect(caller.calls).toBe(calls)
    },
  )

  it.each<[string, string[], number]>([
    ['no Host', [], 400],
    ['two Hosts', ['Host: localhost:PORT', 'Host: evil.example'], 400],
    ['two Hosts, the wrong one first', ['Host: evil.example', 'Host: localhost:PORT'], 400],
    ['the same Host twice', ['Host: localhost:PORT', 'hOST: localhost:PORT'], 400],
    [
      'a second Host behind thousands of headers',
      ['Host: localhost:PORT', ...Array(2_500).fill('a:'), 'Host: e'],
      400,
    ],
    [
      'another name in X-Forwarded-Host only',
      ['Host: evil.example', 'X-Forwarded-Host: localhost:PORT'],
      403,
    ],
  ])('refuses a request with %s', async (_, headers, status) => {
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
        for (const served of ['localhost:PORT', 'localhost']) {
          const first = `${method} ${target.replace('localhost:PORT', served)} HTTP/1.1`
          expect(statuses(await ask(first, [`Host: ${served}`, key]))).toEqual([404])
        }
      expect(caller.calls).toBe(calls)
    },
  )

  it.each([
    '/api/v2/credits?x=/../y',
    '/api/v2/searches/a..b',
    '/api/v2/searches/...',
    '/api/v2/searches/a%2Fb',
  ])('serves the path %s, in which nothing is to be resolved', async (target) => {
    const raw = await ask(`GET ${target} HTTP/1.1`, ['Host: localhost:PORT', key])
    expect(statuses(raw)).toEqual([200])
  })

  it('does not open a tunnel for CONNECT', async () => {
    expect(await ask('CONNECT evil.example:443 HTTP/1.1', ['Host: localhost:PORT'])).toBe('')
  })
})

const host = 'Host: localhost:PORT'
const credits = 'GET /api/v2/credits HTTP/1.1'
const own = 'http://localhost:PORT'

describe('requests from browsers', () => {
  it.each(casesOf<[string, string, string[], number]>('http/guard/refuses-before-the-call'))(
    'refuses %s before the call',
    async (_, first, headers, status) => {
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
    },
  )

  it('serves a request from its own origin', async () => {
    const raw = await ask(credits, [host, key, `Origin: ${own}`, 'Sec-Fetch-Site: same-origin'])
    expect(statuses(raw)).toEqual([200])
  })

  it('explains in one sentence why a browser is refused', async () => {
    const raw = await ask(credits, [host, 'Origin: http://evil.example'])
    expect(bodyOf(raw)).toEqual({ error: 'Requests from browsers are not served here' })
  })
})
