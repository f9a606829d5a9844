import type { IncomingMessage, RequestListener } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ConnectionLost, type Reply } from '../../src/api/calls/caller.js'
import { operations } from '../../src/api/operations/table.js'
import { toJson } from '../../src/api/values/json.js'
import type { Remote, RemoteOptions } from '../../src/client/remote.js'
import { examples } from '../../src/reference/openapi.js'
import { certify } from './certificate.js'
import { accepts, answering, answers, closeAfterTest, type Listener } from './listeners.js'
import { remoteTo, sleeper } from './serving.js'

const canary = 'pk_Canary0Canary0Canary0Canary0Canary0Ca'

const remote = ({ baseUrl }: Listener, options: Partial<RemoteOptions> = {}): Remote =>
  closeAfterTest(remoteTo(baseUrl, options))

/** A server that answers every request the same, and a remote to it. */
async function against(answer: RequestListener, options: Partial<RemoteOptions> = {}): Promise<Remote> {
  return remote(await answers(answer), options)
}

const says =
  (status: number, body: string | Buffer, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)

const balance = '{"credits":{"enrichment":1}}'
const credits = (caller: Remote): Promise<Reply> => caller.call('credits.show', {}, { apiKey: canary })
const enrich = (caller: Remote): Promise<Reply> =>
  caller.call('accounts.enrich', { domain: 'x.example' }, { apiKey: canary })

const thrown = (error: unknown) => error

const upstream = (reason: string) => ({ status: 502, body: { error: `Upstream answered ${reason}` } })

describe('a response that cannot be used', () => {
  it.each([
    ['<html>', 'with something that is not JSON'],
    ['', 'with something that is not JSON'],
    [Buffer.from([0x22, 0xff, 0x22]), 'with something that is not JSON'],
    ['{"credits":{"enrichment":1}', 'with something that is not JSON'],
    ['['.repeat(65) + ']'.repeat(65), 'with JSON nested deeper than 64 levels'],
    ['[]', 'with a list in place of an object'],
    ['7', 'with a single value in place of an object'],
    ['null', 'with nothing in place of an object'],
    ['{"credits":"many"}', 'without credits.enrichment'],
    ['{"limits":[]}', 'without credits.enrichment'],
  ])('reports a body of the wrong shape as a 502 that says what is wrong: %j', async (body, reason) => {
    expect(await credits(await against(says(200, body)))).toMatchObject(upstream(reason))
  })

  it('reports a body over the size limit as a 502, with or without a content length', async () => {
    const huge = Buffer.alloc(1_048_577, 0x20)
    const chunked: RequestListener = (_, response) => {
      response.write(huge)
      response.end('{}')
    }
    for (const answer of [says(200, huge), chunked])
      expect(await credits(await against(answer, { bodyBytes: 1_048_576 }))).toMatchObject(
        upstream('with more than 1 MiB'),
      )
  })

  it('reports a body that was cut off or comes too slowly as a 502', async () => {
    const cut: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"credits"', () => response.destroy())
    }
    expect(await credits(await against(cut))).toMatchObject(upstream('with only a part of its body'))
    const slow: RequestListener = (_, response) => void response.writeHead(200).write('{')
    expect(await credits(await against(slow, { timeoutMs: 50 }))).toMatchObject(upstream('too slowly'))
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ] as const)('asks for no compression, and reads a body in %s all the same', async (encoding, pack) => {
    const answer: RequestListener = (request, response) => {
      expect(request.headers['accept-encoding']).toBe('identity')
      says(200, pack(balance), { 'content-encoding': encoding })(request, response)
    }
    expect(await credits(await against(answer))).toMatchObject({ status: 200 })
  })

  it.each(['100 Continue', '102 Processing', '103 Early Hints'])(
    'reads the answer behind a %s',
    async (status) => {
      const listener = await accepts((socket) =>
        socket.on('data', () => {
          socket.write(`HTTP/1.1 ${status}\r\n\r\n`)
          setTimeout(
            () => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${balance.length}\r\n\r\n${balance}`),
            5,
          )
        }),
      )
      expect(await credits(remote(listener))).toMatchObject({ status: 200 })
    },
  )

  it.each([
    ['gzip', gzipSync(Buffer.alloc(2_097_152)), 'with more than 1 MiB'],
    ['gzip', Buffer.concat(Array(64).fill(gzipSync(Buffer.alloc(1_048_576)))), 'with more than 1 MiB'],
    ['br', brotliCompressSync(Buffer.alloc(67_108_864)), 'with more than 1 MiB'],
    ['deflate', deflateSync(Buffer.alloc(67_108_864)), 'with more than 1 MiB'],
    ['gzip, gzip', gzipSync(gzipSync(balance)), 'with a body in gzip, gzip, which was not asked for'],
    ['gzip', Buffer.from(balance), 'with a compressed body that is damaged'],
    ['compress', Buffer.from(balance), 'with a body in compress, which was not asked for'],
  ])('reports a body in %s that cannot be unpacked as a 502', async (encoding, body, reason) => {
    const caller = await against(says(200, body, { 'content-encoding': encoding }), { bodyBytes: 1_048_576 })
    expect(await credits(caller)).toMatchObject(upstream(reason))
  })

  it('marks the outcome of paid work as unknown after an unreadable response, and of a read not', async () => {
    const caller = await against(says(200, 'garbage'))
    expect(await enrich(caller)).toMatchObject({ status: 502, unknown: true })
    expect((await credits(caller)).unknown).toBeUndefined()
  })
})

describe('a refusal with an unreadable body', () => {
  it.each([401, 403, 413, 429, 503])(
    'keeps the status and Retry-After of a refusal whose body cannot be read: %i',
    async (status) => {
      const caller = await against(says(status, '<html>no</html>', { 'retry-after': '60' }))
      expect(await credits(caller)).toMatchObject({
        status,
        body: { error: `Upstream answered ${status} without saying why` },
        headers: { 'retry-after': '60' },
      })
    },
  )
})

describe('an answer that is none of this API', () => {
  const lookup = async (...said: Parameters<typeof says>) => {
    const caller = await against(says(...said))
    return caller.call('accounts.enrich', { domain: 'acme.example' })
  }

  it.each([
    [404, '<html>no such page</html>', 'with 404, and not as this API does'],
    [404, '{"detail":"Not Found"}', 'with 404, and not as this API does'],
    [
      404,
      '{"timestamp":"2026-11-29T10:00:00Z","status":404,"error":"Not Found","path":"/x"}',
      'with 404, and not as this API does',
    ],
    [
      404,
      '{"statusCode":404,"message":"Cannot POST /x","error":"Not Found"}',
      'with 404, and not as this API does',
    ],
    [200, '{"results":[]}', 'with something else than a record'],
    [200, '{"results":[],"total":null}', 'with something else than a record'],
    [202, '{"status":"accepted"}', 'with 202 (accepted) and no result'],
    [200, '{"data":{"id":"1","name":"Acme"}}', 'with its result inside "data"'],
    [200, '{"status":"ok"}', 'with something else than a record'],
    [200, '{"error":"Try later"}', 'with an error in a success: Try later'],
    [
      200,
      '{"success":false,"error":{"code":"internal","message":"boom"}}',
      'with an error in a success: {"code":"internal"',
    ],
  ])('is not taken for a lookup that found nothing: %i %s', async (status, body, reason) => {
    const reply = await lookup(status, body)
    expect(reply).toMatchObject({ status: 502, unusable: body })
    expect((reply.body as { error: string }).error).toContain(reason)
  })

  it('says how long to wait, as a page does that is no answer', async () => {
    const caller = await against(says(200, '{"status":"ok"}', { 'retry-after': '60' }))
    const reply = await caller.call('accounts.enrich', { domain: 'acme.example' })
    expect(reply).toMatchObject({ status: 502, headers: { 'retry-after': '60' } })
  })

  it.each(['{"results":[]}', '{"ok":true}'])(
    'is not taken for contact data that was not found: %s',
    async (body) => {
      const caller = await against(says(200, body))
      const contact = { firstname: 'Jo', lastname: 'Doe', domain: 'acme.example', enrichment_type: ['email'] }
      expect(await caller.call('contacts.enrich_sync', contact)).toMatchObject({ status: 502, unknown: true })
    },
  )

  it.each(operations().filter(({ method }) => method !== 'DELETE'))(
    'is not taken for a result where it has the result inside something else: $id',
    async ({ id, ok, method, path }) => {
      const { request, reply } = examples[id]
      for (const wrapper of ['data', 'response']) {
        const caller = await against(says(ok, JSON.stringify({ [wrapper]: reply })))
        const { status, body } = await caller.call(id, request, { apiKey: canary })
        expect(status, `${method} ${path}: ${JSON.stringify(body)}`).toBe(502)
      }
      const caller = await against(says(ok, JSON.stringify(reply)))
      expect((await caller.call(id, request, { apiKey: canary })).status).toBe(ok)
    },
  )

  it.each(['{"data":{"any":1}}', '{"id":1,"name":"Acme"}'])(
    'is not taken for what was read for nothing where it has fields of others only: %s',
    async (body) => {
      const caller = await against(says(200, body))
      expect(await caller.call('titles.suggest', { filters: { search: 'sales' } })).toMatchObject({
        status: 502,
        unusable: body,
      })
    },
  )

  it('is not seen in an empty list of its own', async () => {
    const caller = await against(says(200, '{"suggestions":[]}'))
    const reply = await caller.call('titles.suggest', { job_titles: ['Head of Sales'] })
    expect(reply).toMatchObject({ status: 200, body: { suggestions: [] } })
  })

  it('is not passed on as a refusal of this API, which says that nothing was found: a page with 404', async () => {
    const caller = await against(says(404, '<html>no such page</html>'), { passesOn: true })
    const reply = await caller.call('accounts.enrich', { domain: 'acme.example' })
    expect(reply).toMatchObject({ status: 502, unusable: '<html>no such page</html>' })
  })

  it.each([
    [402, '{"error":"Insufficient credits","code":"insufficient_credits"}'],
    [403, '{"error":"Too much this week","code":"workspace_limit_exceeded"}'],
    [401, '{"error":"Invalid API key"}'],
    [429, '{"error":429,"message":"Slow down"}'],
    [404, '{"error":"No company found"}'],
    [402, '{"error":"insufficient_credits","message":"None left"}'],
    [429, '{"error":{"code":"rate_limited","message":"Slow down"}}'],
    [403, '{"error":{"status":403,"message":"No"}}'],
  ])('is the refusal %i that it says with the status of a success: %s', async (status, body) => {
    expect(await lookup(200, body)).toMatchObject({ status, body: JSON.parse(body) })
  })

  it.each(['{}', '{"id":null,"name":null}', '{"message":"No data found"}'])(
    'may still be an empty result in its own shape: %s',
    async (body) => {
      expect(await lookup(200, body)).toMatchObject({ status: 200, body: JSON.parse(body) })
    },
  )
})

describe('redirects of a server', () => {
  it.each([301, 302, 303, 307, 308])(
    'does not follow a redirect, and sends no key to its target: %i',
    async (status) => {
      const other = await answers(says(200, '{}'))
      const where = [`http://127.0.0.1:${other.port}/`, `//localhost:${other.port}/`, '/elsewhere']
      for (const location of where) {
        const caller = await against(says(status, '{}', { location }))
        expect(await credits(caller)).toMatchObject(
          upstream(`with a redirect (${status}), which is not followed`),
        )
      }
      expect(other.connections()).toBe(0)
    },
  )
})

describe('certificates of a server', () => {
  const name = 'localhost'
  it.each([
    ['signed by itself', certify(name), undefined, /is signed by itself/],
    ['of another name', certify('other.example'), 'own', /is for another name/],
    ['that has expired', certify(name, '2020-01-01', '2021-01-01'), 'own', /has expired/],
  ] as const)(
    'refuses a certificate %s without a retry, even with NODE_TLS_REJECT_UNAUTHORIZED=0',
    async (_, tls, trusted, told) => {
      const { slept, sleep } = sleeper()
      const server = await answers(says(200, '{}'), { tls })
      const ca = trusted === 'own' ? tls.cert : undefined
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
      onTestFinished(() => void vi.unstubAllEnvs())
      const caller = closeAfterTest(remoteTo(`https://localhost:${server.port}/api/v2`, { ca, sleep }))
      const error = await enrich(caller).catch(thrown)
      expect(error).toBeInstanceOf(ConnectionLost)
      expect(error).toMatchObject({ message: expect.stringMatching(told), unknown: false })
      expect(slept).toEqual([])
    },
  )

  it('accepts a valid certificate of a given authority', async () => {
    const tls = certify(name)
    const server = await answers(says(200, balance), { tls })
    const caller = closeAfterTest(remoteTo(`https://localhost:${server.port}/api/v2`, { ca: tls.cert }))
    expect((await credits(caller)).status).toBe(200)
  })
})

describe('a server that cannot be reached', () => {
  it('distinguishes a refused connection from a request that was sent and not answered', async () => {
    const gone = await answering(says(200, '{}'))
    await gone.close()
    const refused = await enrich(remote(gone)).catch(thrown)
    const message = expect.stringContaining('refused the connection')
    expect(refused).toMatchObject({ message, unknown: false })
    const silent = await accepts((socket) => socket.once('data', () => socket.destroy()))
    const cut = await enrich(remote(silent)).catch(thrown)
    expect(cut).toMatchObject({ message: expect.stringContaining('without an answer'), unknown: true })
    const asked = await credits(remote(silent)).catch(thrown)
    expect(asked).toMatchObject({ unknown: false })
  })

  it('gives up after the timeout, with the outcome unknown', async () => {
    const stalling = await accepts()
    const late = await enrich(remote(stalling, { timeoutMs: 50 })).catch(thrown)
    expect(late).toMatchObject({ message: expect.stringContaining('within 0.05 s'), unknown: true })
  })

  it('ends a call when its signal aborts, with the outcome unknown only if it was sent', async () => {
    const ending = new AbortController()
    const caller = await against(() => ending.abort())
    const { signal } = ending
    const given = await caller.call('accounts.enrich', {}, { signal }).catch(thrown)
    expect(given).toBeInstanceOf(ConnectionLost)
    expect(given).toMatchObject({ unknown: true })
    const before = await caller.call('accounts.enrich', {}, { signal: AbortSignal.abort() }).catch(thrown)
    expect(before).toMatchObject({ unknown: false })
  })
})

describe('headers', () => {
  it('passes on the headers of a response except cookies and those of the connection', async () => {
    const passed = { 'ratelimit-limit': '10', 'idempotent-replayed': 'true', 'x-request-id': 'r1' }
    const hops = { connection: 'keep-alive, X-Hop', 'X-Hop': 'one', 'Proxy-Authenticate': 'Basic' }
    const caller = await against(says(200, balance, { ...passed, ...hops, 'Set-Cookie': 'session=secret' }))
    expect((await credits(caller)).headers).toEqual(passed)
  })

  it('sends the API key with each request, and an idempotency key with paid ones only', async () => {
    const seen: IncomingMessage['headers'][] = []
    const answer: RequestListener = (request, response) => {
      seen.push(request.headers)
      response.end(request.method === 'GET' ? balance : '{"id":"1"}')
    }
    const caller = await against(answer, { version: '1.2.3' })
    await credits(caller)
    await enrich(caller)
    await caller.call('accounts.enrich', {}, { apiKey: canary, idempotencyKey: 'mine' })
    expect(seen[0]).toMatchObject({ 'x-api-key': canary, 'user-agent': 'prospect/1.2.3' })
    expect(seen.map((headers) => headers['idempotency-key'])).toEqual([
      undefined,
      expect.stringMatching(/^[\w-]{36}$/),
      'mine',
    ])
  })

  it('refuses an invalid idempotency key with 400 and an invalid API key with 401', async () => {
    const caller = await against(says(200, '{}'))
    const key = await caller.call('accounts.enrich', {}, { idempotencyKey: 'é' })
    const auth = await caller.call('accounts.enrich', {}, { apiKey: 'a\nb' })
    expect([key.status, auth.status]).toEqual([400, 401])
  })
})

describe('bodies of a response', () => {
  it('keeps unknown fields, big integers and the exact text of a body', async () => {
    const text = '{ "status":"completed", "network_list_id": 9007199254740993,\n "new": {"é": 1.50} }'
    const reply = await (await against(says(200, text))).call('lists.get', { id: 'l' })
    const network_list_id = 9007199254740993n
    expect(reply.body).toEqual({ status: 'completed', network_list_id, new: { é: 1.5 } })
    expect(reply.text).toBe(text)
  })

  it('keeps a number that is too large for a number of JavaScript', async () => {
    const text = '{"status":"failed","large":1e400,"larger":[-1E+999,9007199254740993]}'
    const reply = await (await against(says(200, text))).call('lists.get', { id: 'l' })
    expect(toJson(reply.body)).toBe(text)
  })

  it('reports a body with too many values as a 502, and does not parse it', async () => {
    const text = `{"id":"l","x":[${'{},'.repeat(400_000)}{}]}`
    const reply = await (await against(says(200, text))).call('lists.get', { id: 'l' })
    expect(reply).toMatchObject(upstream('with more than 400,000 values'))
  })

  it('accepts bodies in an older shape', async () => {
    const phone = await against(says(200, '{"email":null,"phone":"+33639980001"}'))
    expect((await phone.call('contacts.enrich_sync', {})).status).toBe(200)
    const record = await against(says(200, '{"name":"X","technologies":"none","current_position":"CEO"}'))
    expect((await record.call('leads.enrich', {})).status).toBe(200)
  })

  it('accepts an empty response to a deletion', async () => {
    const caller = await against((_, response) => response.writeHead(204).end())
    expect(await caller.call('personas.delete', { uuid: 'p' })).toMatchObject({
      status: 200,
      body: {},
      credits: 0,
    })
  })
})
