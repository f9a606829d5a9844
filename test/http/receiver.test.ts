import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { ApiError } from '../../src/api/calls/errors.js'
import { type Inbox, type ReceivedDelivery, receiverPath } from '../../src/api/webhooks/events.js'
import { newSecret, sign } from '../../src/api/webhooks/signature.js'
import { type Listening, listen } from '../../src/http/listen.js'
import { deliveryLimit, newToken, receiver } from '../../src/http/receiver.js'
import { perFile } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'
import { bodyOf, exchange, headersOf, lines, statuses } from './raw.js'

const token = newToken(randomBytes(16))
const path = receiverPath(token)
const secrets = [newSecret(randomBytes(32)), newSecret(randomBytes(24))]
const now = Date.parse('2026-03-10T12:00:00Z')

/** An inbox in memory. A delivery with a known id is a duplicate. */
class Memory implements Inbox {
  readonly kept = new Map<string, ReceivedDelivery>()
  failure: unknown

  async keep(delivery: ReceivedDelivery): Promise<boolean> {
    if (this.failure) throw this.failure
    if (this.kept.has(delivery.id)) return false
    this.kept.set(delivery.id, delivery)
    return true
  }
}

let inbox = new Memory()
let reported: unknown[] = []
/** Starts a receiver on a free port, with the inbox of the current test. */
const receiving = (known: readonly string[]): Promise<Listening> =>
  listen({
    host: '127.0.0.1',
    port: 0,
    allowHosts: ['api.example', 'Proxy.example:8443'],
    handler: receiver({
      inbox: { keep: (delivery) => inbox.keep(delivery) },
      token,
      prefix: '/behind/a/proxy',
      secrets: known,
      clock: { now: () => now },
      report: (error) => reported.push(error),
    }),
  })

const open = perFile(() => receiving([]))
const guarded = perFile(() => receiving(secrets))
beforeEach(() => {
  inbox = new Memory()
  reported = []
})

const post = (
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  to = path,
  server = open,
) =>
  fetch(server.origin + to, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })

const taken = (): ReceivedDelivery[] => [...inbox.kept.values()]

describe('receiving a delivery', () => {
  it('stores a delivery unchanged before it answers 200', async () => {
    const body = '{ "event": "lead_search.completed",  "id":"s-1", "leads": [] }'
    const answer = await post(body, { 'webhook-id': 'msg_1', 'webhook-timestamp': '12' })
    expect([answer.status, await answer.json()]).toEqual([200, { received: true, duplicate: false }])
    expect(taken()).toEqual([
      {
        id: 'msg_1',
        path: token,
        receivedAt: now,
        event: 'lead_search.completed',
        search: 's-1',
        verified: false,
        headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1', 'webhook-timestamp': '12' },
        body,
      },
    ])
  })

  it('answers 200 to a duplicate and marks it as one', async () => {
    await post('{}', { 'webhook-id': 'msg_1' })
    const answer = await post('{"other":1}', { 'webhook-id': 'msg_1' })
    expect([answer.status, await answer.json()]).toEqual([200, { received: true, duplicate: true }])
    expect(taken()).toHaveLength(1)
  })

  it('identifies a delivery without an id by its body', async () => {
    for (const body of ['{"a":1}', '{"a":1}', '{"a":2}']) await post(body)
    expect(taken().map(({ id }) => id)).toEqual([
      expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    ])
  })

  it.each(casesOf<[string, string, string | null]>('http/receiver/derives-the-event-and'))(
    'derives the event and search of %s',
    async (body, event, search) => {
      expect((await post(body)).status).toBe(200)
      expect(taken()).toMatchObject([{ event, search, body }])
    },
  )

  it.each([
    'application/json; charset=utf-8',
    'text/plain',
    'application/octet-stream',
    'application/cloudevents+json',
  ])('accepts JSON under the content type %s', async (type) => {
    expect((await post('{"a":"é"}', { 'content-type': type })).status).toBe(200)
    expect(taken()).toMatchObject([{ body: '{"a":"é"}' }])
  })

  it('accepts its path behind the prefix of a proxy', async () => {
    expect((await post('{}', {}, `/behind/a/proxy${path}`)).status).toBe(200)
  })

  it('accepts a body up to the size limit and refuses one byte more with 413', async () => {
    const padded = (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`
    expect((await post(padded(deliveryLimit))).status).toBe(200)
    expect((await post(padded(deliveryLimit + 1))).status).toBe(413)
    expect(taken()).toHaveLength(1)
  })

  it('creates receiver paths that cannot be guessed', () => {
    const made = Array.from({ length: 1_000 }, () => newToken(randomBytes(16)))
    expect(new Set(made).size).toBe(1_000)
    for (const each of made) expect(each).toMatch(/^[\w-]{22}$/)
  })
})

describe('deliveries that are refused', () => {
  it.each([
    '/hooks/',
    `/hooks/${token.slice(0, -1)}`,
    `/hooks/${token}x`,
    `/hooks/${token}/`,
    `/HOOKS/${token}`,
    `/behind${path}`,
    '/api/v2/credits',
  ])('refuses the path %s with 404', async (to) => {
    expect([(await post('{}', {}, to)).status, taken()]).toEqual([404, []])
  })

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('refuses the method %s with 405', async (method) => {
    const answer = await fetch(open.origin + path, { method })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it.each([
    ['nothing', '', 'application/json', 400],
    ['half an object', '{"a":', 'application/json', 400],
    ['null', 'null', 'application/json', 400],
    ['a number', '1', 'text/plain', 400],
    ['100,000 arrays', '['.repeat(100_000), 'application/json', 400],
    ['a form', 'a=1&b=2', 'application/x-www-form-urlencoded', 415],
    ['words', 'hello', 'text/plain', 415],
    ['no type and no JSON', '<xml/>', '', 415],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff]), 'application/json', 400],
  ])('refuses a body of %s', async (_, body, type, status) => {
    expect((await post(Uint8Array.from(Buffer.from(body)), { 'content-type': type })).status).toBe(status)
    expect(taken()).toEqual([])
  })

  it('refuses a compressed body with 415', async () => {
    expect((await post('{}', { 'content-encoding': 'gzip' })).status).toBe(415)
  })

  it.each(['storage_failed', 'busy'] as const)(
    'answers 503 to %s, so that the sender retries',
    async (code) => {
      inbox.failure = new ApiError(code, { reason: 'the disk is full' })
      expect((await post('{}')).status).toBe(503)
      expect(reported).toEqual([inbox.failure])
    },
  )

  it('answers 500 without the reason when storing fails unexpectedly', async () => {
    inbox.failure = new Error('secret path /home/ann')
    const answer = await post('{}')
    expect([answer.status, await answer.json()]).toEqual([500, { error: 'Internal server error' }])
  })
})

describe('signed deliveries', () => {
  const body = '{"event":"list_import.completed","id":"l"}'
  const send = (headers: Readonly<Record<string, string>>, sent = body) => post(sent, headers, path, guarded)

  it.each([0, 1])('stores a delivery signed with secret %i as verified', async (at) => {
    const answer = await send({ ...sign('msg_1', now, body, secrets.slice(at, at + 1)) })
    expect(answer.status).toBe(200)
    expect(taken()).toMatchObject([{ id: 'msg_1', verified: true }])
  })

  it.each<[string, Record<string, string>]>([
    ['what is not signed', {}],
    ['what another secret signed', { ...sign('msg_1', now, body, [newSecret(randomBytes(32))]) }],
    ['an old signature', { ...sign('msg_1', now - 301_000, body, secrets) }],
  ])('answers 401 to %s and stores nothing', async (_, headers) => {
    const answer = await send(headers)
    expect([answer.status, Object.keys((await answer.json()) as object)]).toEqual([401, ['error']])
    expect(taken()).toEqual([])
  })

  it('verifies the bytes that arrived, not the parsed body', async () => {
    const signed = { ...sign('msg_1', now, body, secrets) }
    expect((await send(signed, JSON.stringify(JSON.parse(body), null, 1))).status).toBe(401)
  })

  it('verifies the signature before it parses the body', async () => {
    expect((await send({}, 'no JSON')).status).toBe(401)
  })
})

describe('requests of strangers', () => {
  const raw = (first: string, headers: readonly string[], body = '') => {
    const here = (text: string) => text.replaceAll('PORT', String(open.port))
    return exchange(open.port, lines(first, headers.map(here), body))
  }
  const target = `POST ${path} HTTP/1.1`
  const own = ['Content-Type: application/json', 'Content-Length: 2']

  // What the guard refuses is told of the server; here, that it guards the receiver too.
  it.each<[string[], number]>([
    [['Host: evil.example'], 403],
    [['Host: localhost:PORT', 'Host: evil.example'], 400],
    [['Host: localhost:PORT', 'Origin: http://evil.example'], 403],
    [['Host: localhost:PORT', 'Access-Control-Request-Method: POST'], 403],
  ])('refuses a delivery with %j: %i', async (headers, status) => {
    const reply = await raw(target, [...headers, ...own], '{}')
    expect([statuses(reply), taken()]).toEqual([[status], []])
    expect(reply).not.toMatch(/access-control/i)
  })

  it('sends security headers with every answer', async () => {
    const reply = await raw('GET /x HTTP/1.1', ['Host: localhost:PORT'])
    expect(bodyOf(reply)).toEqual({ error: 'Not found' })
    expect(headersOf(reply)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "frame-ancestors 'none'",
    })
  })
})
