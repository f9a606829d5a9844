import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { Reply } from '../../src/api/calls/caller.js'
import { hasBody } from '../../src/api/operations/facts.js'
import { type OperationId, operations } from '../../src/api/operations/table.js'
import { createProxiedWork } from '../../src/client/proxied-work.js'
import { handler } from '../../src/http/handler.js'
import { answers, closeAfterTest, received } from './listeners.js'
import { notingLedger, remoteTo } from './serving.js'

/** A server, and a handler that forwards requests to it unchanged. */
async function passing(answer: RequestListener) {
  const upstream = await answers(answer)
  const caller = closeAfterTest(remoteTo(upstream.baseUrl, { passesOn: true }))
  const serve = handler({ caller, version: 'test', document: async () => ({}) })
  const headers = { 'content-type': 'application/json', 'x-api-key': 'pk_of_the_caller' }
  return (method: string, path: string, body?: string, more: Record<string, string> = {}) =>
    serve(
      new Request(`http://127.0.0.1/api/v2${path}`, {
        method,
        headers: { ...headers, ...more },
        ...(body === undefined ? {} : { body }),
      }),
    )
}

describe('a request passed through to another server', () => {
  const bodies = [
    '{ "a" : 1.50, "id":9007199254740993 }',
    '{"é":"\\u00e9","__proto__":{}}',
    '{"error":"x"}',
    '{"error":422,"message":"m"}',
  ]
  const statuses = [200, 201, 202, 400, 401, 402, 403, 404, 409, 422, 429, 500, 501, 503]
  const limits = {
    'ratelimit-limit': '10',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '17',
    'retry-after': '17',
    'idempotent-replayed': 'true',
  }
  const hops = { Connection: 'close, X-Hop', 'X-Hop': '1', 'Access-Control-Allow-Origin': '*' }

  it.each(statuses)(
    'passes the status, bytes and headers of a response through unchanged: %i',
    async (status) => {
      for (const text of bodies) {
        const send = await passing((_, response) =>
          response.writeHead(status, { ...limits, ...hops, 'Set-Cookie': 'a=b' }).end(text),
        )
        const response = await send('POST', '/accounts/count_profiles', '{}')
        expect([response.status, await response.text()]).toEqual([status, text])
        expect(Object.fromEntries(response.headers)).toMatchObject(limits)
        for (const name of ['x-hop', 'set-cookie', 'access-control-allow-origin', 'transfer-encoding'])
          expect(response.headers.get(name), name).toBeNull()
      }
    },
  )

  it('passes the request of every operation through with the keys of the client', async () => {
    const seen: Record<string, unknown> = {}
    const send = await passing(async (request, response) => {
      const { body } = await received(request)
      const { 'x-api-key': key, 'idempotency-key': again } = request.headers
      Object.assign(seen, { method: request.method, url: request.url, key, again, body })
      const settled = { id: 'one', enrichment_id: 'one', status: 'pending', search: { status: 'ONGOING' } }
      response.end(JSON.stringify({ ...settled, credits: { enrichment: 1 }, credits_consumed: 0 }))
    })
    for (const { id, method, path } of operations()) {
      const filled = path.replace(/\{\w+\}/g, 'a%2Fb')
      const body = hasBody({ method }) ? `{"custom":{"operation":"${id}"}}` : undefined
      await send(method, filled + (body ? '' : '?page=2'), body, { 'idempotency-key': 'mine' })
      expect(seen, id).toMatchObject({
        method,
        key: 'pk_of_the_caller',
        body: body ?? '',
        url: `/api/v2${filled}${body ? '' : '?page=2'}`,
        again: keyed(id) ? 'mine' : undefined,
      })
    }
  })

  it('answers 502 with a reason when the upstream server does not answer', async () => {
    const send = await passing((request) => void request.socket.destroy())
    const response = await send('POST', '/accounts/single_enrich', '{}')
    expect([response.status, await response.json()]).toEqual([
      502,
      { error: expect.stringMatching(/^Upstream answered nothing: 127\.0\.0\.1/) },
    ])
  })
})

const keyed = (id: OperationId): boolean => operations().find((row) => row.id === id)?.idempotent === true

describe('a large response of another server', () => {
  const pad = ' '.repeat(70_000)
  const names = { network: 'linkedin', premium: 'sales_navigator' }

  /** Returns a caller that passes the replies of a server on, and what it gave to the thread. */
  async function openForProxy(status: number, body: string | Buffer) {
    const upstream = await answers((_, response) =>
      response.writeHead(status, { 'x-more': 'pk_of_the_caller' }).end(body),
    )
    const caller = closeAfterTest(remoteTo(upstream.baseUrl, { names, passesOn: true }))
    const call = (id: OperationId, input = {}) => caller.call(id, input, { apiKey: 'pk_of_the_caller' })
    return { caller, call }
  }
  const bytesOf = ({ wire }: Reply) => Buffer.from(wire ?? '').toString()

  it.each([
    ['a refusal', 409, '{"error":"In progress","code":"idempotency_in_progress"}'],
    ['what it charged', 200, '{"jobs":[],"credits_used":7}'],
    ['a list of something else', 200, '{"jobs":[1]}'],
    ['no JSON', 200, '{"jobs":['],
    ['no JSON in a refusal', 422, '<html>'],
    ['the key of the request', 200, '{"jobs":[],"error":"pk_of_the_caller"}'],
  ])('is understood as a small one is: %s', async (_, status, text) => {
    const [small, large] = [await openForProxy(status, text), await openForProxy(status, pad + text)]
    const expected = await small.call('accounts.hiring')
    const reply = await large.call('accounts.hiring')
    expect({ ...reply, wire: bytesOf(reply).trim(), body: null, headers: null }).toEqual({
      ...expected,
      wire: bytesOf(expected),
      body: null,
      headers: null,
    })
    expect(reply.body).toEqual('jobs' in Object(expected.body) ? expect.anything() : expected.body)
    expect(bytesOf(reply)).not.toContain('pk_of_the_caller')
  })

  it('passes without a byte order mark', async () => {
    const { call } = await openForProxy(200, '\ufeff{"jobs":[]}')
    expect(bytesOf(await call('accounts.hiring'))).toBe('{"jobs":[]}')
  })

  it('with too many values is refused', async () => {
    const { call } = await openForProxy(200, `{"jobs":[${'{},'.repeat(200_000)}{}]}`)
    expect(await call('accounts.hiring')).toMatchObject({
      status: 502,
      body: { error: 'Upstream answered with more than 400,000 values' },
    })
  })

  it('is counted as a small one is', async () => {
    const contacts = Array.from({ length: 100 }, (_, at) => ({
      enrichment_id: `c${at}`,
      status: at % 2 ? 'finished' : 'pending',
      email: `a${at}@a.example`,
      email_status: at % 3 ? 'valid' : 'invalid',
      phone: at % 5 ? [] : ['+491701234567'],
      custom: { note: 'x'.repeat(10) },
    }))
    const countedFor = async (body: string) => {
      const { ledger, noted } = notingLedger('contacts.bulk_enrich')
      const { caller } = await openForProxy(200, body)
      const onError = (error: unknown) => expect(error).toBeUndefined()
      const work = createProxiedWork(ledger, onError, names)
      await work.layer(caller).call('contacts.get', { id: 'x' })
      return noted
    }
    const text = JSON.stringify({ enrichment_id: 'b', status: 'finished', contacts })
    const counted = await countedFor(text)
    expect(counted.length).toBeGreaterThan(80)
    expect(await countedFor(pad + text)).toEqual(counted)
  })
})
