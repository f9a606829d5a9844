import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { hasBody } from '../../src/api/operations/facts.js'
import { type OperationId, operations } from '../../src/api/operations/table.js'
import { handler } from '../../src/http/handler.js'
import { answering, closeAfterTest, received } from './listeners.js'
import { remoteTo } from './serving.js'

/** A server, and a handler that forwards requests to it unchanged. */
async function passing(answer: RequestListener) {
  const upstream = closeAfterTest(await answering(answer))
  const caller = closeAfterTest(remoteTo(`http://127.0.0.1:${upstream.port}/api/v2`))
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

  it.each(statuses)(
    'passes the status, bytes and headers of a response through unchanged: %i',
    async (status) => {
      for (const text of bodies) {
        const send = await passing((_, response) =>
          response
            .writeHead(status, {
              'RateLimit-Limit': '10',
              'RateLimit-Remaining': '0',
              'RateLimit-Reset': '17',
              'Retry-After': '17',
              'Idempotent-Replayed': 'true',
              Connection: 'close, X-Hop',
              'X-Hop': '1',
              'Set-Cookie': 'a=b',
              'Access-Control-Allow-Origin': '*',
            })
            .end(text),
        )
        const response = await send('POST', '/accounts/count_profiles', '{}')
        expect([response.status, await response.text()]).toEqual([status, text])
        expect(Object.fromEntries(response.headers)).toMatchObject({
          'ratelimit-limit': '10',
          'ratelimit-remaining': '0',
          'ratelimit-reset': '17',
          'retry-after': '17',
          'idempotent-replayed': 'true',
        })
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
      response.end('{}')
    })
    for (const { id, method, path } of operations()) {
      const filled = path.replace(/\{\w+\}/g, 'a%2Fb')
      const body = hasBody({ method }) ? `{"custom":{"operation":"${id}"}}` : undefined
      await send(method, filled + (body ? '' : '?page=2'), body, { 'idempotency-key': 'mine' })
      expect(seen, id).toMatchObject({
        ...{ method, key: 'pk_of_the_caller', body: body ?? '' },
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
