import type { Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import type { DeliveryAttempt, Sender } from '../../src/api/ports/ports.js'
import { newSecret } from '../../src/api/webhooks/signature.js'
import { createSender, type SenderOptions } from '../../src/client/sender.js'
import { until } from '../support/until.js'
import { attempt, secret } from './attempt.js'
import { certify } from './certificate.js'
import {
  accepting,
  accepts,
  answers,
  closeAfterTest,
  type Listener,
  type Received,
  received,
} from './listeners.js'

const sending = (options: Partial<SenderOptions> = {}): Sender => closeAfterTest(createSender(options))
const to = ({ port }: Listener, change: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  ...attempt(`http://127.0.0.1:${port}/hook?a=1`),
  loopback: true,
  ...change,
})

describe('sending a webhook', () => {
  it('sends the body byte for byte, signed with both secrets while a secret is rotated', async () => {
    const arrived: Received[] = []
    const hook = await answers(async (request, response) => {
      arrived.push(await received(request))
      response.end()
    })
    const sender = sending({ version: '1.2.3' })
    const older = newSecret(new Uint8Array(32))
    const body = JSON.stringify({ event: 'x', custom: { name: 'Zoë 🌱', big: 'y'.repeat(200_000) } })
    const sent = await sender.send(to(hook, { body, timestamp: Date.now(), secrets: [secret, older] }))
    expect(sent).toEqual({ status: 200, error: null, ms: expect.any(Number) })
    const [first] = arrived
    expect(first?.request).toMatchObject({ method: 'POST', url: '/hook?a=1' })
    expect(first?.request.headers).toMatchObject({
      host: `127.0.0.1:${hook.port}`,
      'content-type': 'application/json',
      'user-agent': 'prospect/1.2.3',
      'webhook-id': 'msg_1',
    })
    expect(first?.body).toBe(body)
    const headers = first?.request.headers as Record<string, string>
    for (const one of [secret, older])
      expect(new Webhook(one).verify(first?.body ?? '', headers)).toEqual(JSON.parse(body))
  })

  it('sends nothing without a valid secret, and does not repeat a malformed one', async () => {
    const hook = await accepts()
    const sender = sending()
    for (const secrets of [[], ['whsec_hunter2'], [secret, 'hunter2']]) {
      const sent = await sender.send(to(hook, { secrets }))
      expect(sent).toMatchObject({ status: null, error: 'There is no valid secret to sign with' })
    }
    expect(hook.connections()).toBe(0)
  })

  it('reuses an open connection', async () => {
    const hook = await answers((_, response) => response.end('ok'))
    const sender = sending()
    for (let count = 0; count < 20; count++) await sender.send(to(hook))
    // The second may leave just before the first connection is free again.
    expect(hook.connections()).toBeLessThan(3)
  })

  it('waits for a free connection when all of them are busy', async () => {
    let busy = 0
    let most = 0
    const hook = await answers((_, response) => {
      most = Math.max(most, ++busy)
      setTimeout(() => {
        busy--
        response.end()
      }, 5)
    })
    const sender = sending({ connections: 3 })
    const sent = await Promise.all(Array.from({ length: 20 }, () => sender.send(to(hook))))
    expect(sent.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(most).toBe(3)
  })
})

describe('P18: a workspace whose receivers hang', () => {
  it('delays no delivery of another to the same host, and none of its own is a failure of its receiver', async () => {
    const hook = await answers((request, response) => {
      if (request.url === '/hook?a=1') response.end()
    })
    const sender = sending({ connections: 2, connectionMs: 50 })
    const hanging = Array.from({ length: 9 }, (_, at) =>
      sender.send({ ...to(hook, { workspaceId: 'one' }), url: `http://127.0.0.1:${hook.port}/hangs/${at}` }),
    )
    for (let count = 0; count < 9; count++)
      expect(await sender.send(to(hook, { workspaceId: 'other' }))).toMatchObject({ status: 200 })
    const postponed = await Promise.all(hanging.slice(2))
    expect(postponed).toEqual(
      Array(7).fill({
        status: null,
        postponed: true,
        ms: expect.any(Number),
        error: 'No connection to 127.0.0.1 was free',
      }),
    )
    await sender.close()
    expect((await Promise.all(hanging.slice(0, 2))).map(({ postponed: isPostponed }) => isPostponed)).toEqual(
      Array(2).fill(undefined),
    )
  })

  it('takes fewer connections the fewer it would leave free, and all of them together no more than the maximum', async () => {
    const hook = await accepts()
    const sender = sending({ connections: 3, maxConnections: 8, connectionMs: 50 })
    const held = { a: 4, b: 4, c: 4, d: 4, e: 4 }
    const send = async (workspaceId: keyof typeof held) => {
      if ((await sender.send(to(hook, { workspaceId }))).postponed) held[workspaceId]--
    }
    for (const workspaceId of Object.keys(held) as (keyof typeof held)[])
      for (let count = 0; count < 4; count++) void send(workspaceId)
    await until(() => hook.connections() === 8 && Object.values(held).reduce((sum, each) => sum + each) === 8)
    expect(held).toEqual({ a: 3, b: 3, c: 1, d: 1, e: 0 })
  })

  it('leaves an attempt its whole time once it has a connection', async () => {
    const hook = await answers((_, response) => void setTimeout(() => response.end(), 200))
    const sender = sending({ connections: 1, totalMs: 500 })
    const sent = await Promise.all(Array.from({ length: 4 }, () => sender.send(to(hook))))
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})

describe('the response of a receiver', () => {
  const answered = async (status: number, headers: Record<string, string> = {}, now = Date.now()) => {
    const hook = await answers((_, response) => response.writeHead(status, headers).end())
    const { ms, ...rest } = await sending({ clock: { now: () => now } }).send(to(hook))
    return rest
  }

  it.each([200, 201, 202, 204, 299])('treats status %i as success', async (status) => {
    expect(await answered(status)).toEqual({ status, error: null })
  })

  it.each([304, 400, 401, 404, 410, 429, 500, 503])('treats status %i as failure', async (status) => {
    expect(await answered(status)).toEqual({ status, error: expect.stringContaining(`answered ${status}`) })
  })

  it.each([429, 503])('reads Retry-After from a %i response as seconds or as a date', async (status) => {
    const now = Date.parse('2026-03-10T12:00:00Z')
    expect(await answered(status, { 'retry-after': '120' })).toMatchObject({ retryAfterMs: 120_000 })
    const date = { 'retry-after': 'Tue, 10 Mar 2026 12:05:00 GMT' }
    expect(await answered(status, date, now)).toMatchObject({ retryAfterMs: 300_000 })
    expect(await answered(status, { 'retry-after': 'soon' })).not.toHaveProperty('retryAfterMs')
  })

  it('limits Retry-After to a day', async () => {
    for (const wait of ['1e15', '99999999999'])
      expect(await answered(503, { 'retry-after': wait })).toMatchObject({ retryAfterMs: 86_400_000 })
  })

  it.each([200, 410, 500])('ignores Retry-After in a %i response', async (status) => {
    expect(await answered(status, { 'retry-after': '120' })).not.toHaveProperty('retryAfterMs')
  })
})

describe('limits on a response', () => {
  const hurried = { totalMs: 250, bodyMs: 100 }
  const late = {
    status: null,
    error: expect.stringMatching(/^127\.0\.0\.1:\d+ did not answer within 0\.25 s$/),
  }

  const repeating = (text: () => string, ms: number) => (socket: Socket) => {
    const timer = setInterval(() => socket.write(text()), ms)
    socket.on('close', () => clearInterval(timer))
  }
  const letters = [...`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(10_000)}`].values()

  it.each<[string, (socket: Socket) => void]>([
    ['that nothing answers', () => {}],
    ['whose response headers trickle', repeating(() => letters.next().value ?? '', 10)],
    [
      'that gets informational responses only',
      repeating(() => 'HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n', 5),
    ],
  ])('fails an attempt %s within the timeout', async (_, accept) => {
    expect(await sending(hurried).send(to(await accepts(accept)))).toMatchObject(late)
  })

  it.each([
    { bodyMs: 100, totalMs: 60_000 },
    { bodyMs: 60_000, totalMs: 1_000 },
  ])('keeps the status of a response whose body trickles, and closes the connection: %j', async (limits) => {
    const closed: Promise<void>[] = []
    const hook = await answers((_, response) => {
      const timer = setInterval(() => response.write('x'), 10)
      closed.push(new Promise((resolve) => response.on('close', resolve)))
      response.on('close', () => clearInterval(timer))
    })
    const sender = sending(limits)
    expect(await sender.send(to(hook))).toMatchObject({ status: 200, error: null })
    await Promise.all(closed)
    expect(await sender.send(to(hook))).toMatchObject({ status: 200, error: null })
    expect(closed).toHaveLength(2)
  })

  it('stops reading an endless body', async () => {
    const endless = 1e9
    let written = 0
    const hook = await answers((_, response) => {
      const chunk = Buffer.alloc(64 * 1_024)
      const more = () => {
        for (let goesOn = true; goesOn && written < endless; written += chunk.length)
          goesOn = response.write(chunk)
      }
      response.on('drain', more)
      more()
    })
    expect(await sending({ bodyMs: 15_000 }).send(to(hook))).toMatchObject({ status: 200 })
    // More than was read fits into the buffers of the system, but nothing like what there was.
    expect(written).toBeLessThan(endless / 20)
  })

  it('ends at once when the content length is too large', async () => {
    const hook = await answers((_, response) => response.writeHead(500, { 'content-length': 1e9 }).write('x'))
    const sent = await sending({ bodyMs: 15_000 }).send(to(hook))
    expect(sent).toMatchObject({ status: 500, error: 'The receiver answered 500' })
  })

  it('does not decompress a response', async () => {
    const hook = await answers((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip'),
    )
    expect(await sending().send(to(hook))).toMatchObject({ status: 200, error: null })
  })

  it('fails an attempt when the name lookup hangs past the timeout', async () => {
    const sender = sending({ ...hurried, resolve: () => new Promise(() => {}) })
    expect(await sender.send(attempt('https://slow.example/'))).toMatchObject({
      status: null,
      error: 'slow.example did not answer within 0.25 s',
    })
  })

  it('delivers to one receiver while another one hangs', async () => {
    const stuck = await accepts()
    const hook = await answers((_, response) => response.end())
    const sender = sending()
    const waiting = Array.from({ length: 50 }, () => sender.send(to(stuck)))
    for (let count = 0; count < 20; count++)
      expect(await sender.send(to(hook))).toMatchObject({ status: 200 })
    await sender.close()
    expect((await Promise.all(waiting)).every(({ status }) => status === null)).toBe(true)
  })
})

describe('checking a webhook address', () => {
  it('permits a name that does not resolve at the moment', async () => {
    const sender = sending({ resolve: () => Promise.reject(new Error('no network')) })
    expect(await sender.check('https://hooks.example/', { allow: [], loopback: false })).toBeUndefined()
  })

  it('permits a name whose lookup takes too long', async () => {
    const sender = sending({ checkMs: 50, resolve: () => new Promise(() => {}) })
    expect(await sender.check('https://hooks.example/', { allow: [], loopback: false })).toBeUndefined()
  })
})

describe('error messages of a failed attempt', () => {
  const told = async (
    change: Partial<DeliveryAttempt> & { url: string },
    options: Partial<SenderOptions> = {},
  ) => {
    const sender = sending({ resolve: async () => ['127.0.0.1'], ...options })
    const sent = await sender.send({ ...attempt(change.url), loopback: true, ...change })
    expect(sent.status).toBeNull()
    expect(sent.error).not.toMatch(/token|\n|\bat \//)
    return sent.error?.replace(/:\d+/, '')
  }
  const url = ({ port }: Listener, scheme = 'http') => `${scheme}://hooks.example:${port}/token`

  it('says that the connection was refused', async () => {
    const hook = await accepting()
    await hook.close()
    expect(await told({ url: url(hook) })).toBe('hooks.example refused the connection')
    const both = { resolve: async () => ['127.0.0.1', '::1'] }
    expect(await told({ url: url(hook) }, both)).toBe('hooks.example refused the connection')
  })

  it.each<[sentence: string, what: string, answer: (socket: Socket) => unknown]>([
    ['closed the connection without an answer', 'ends', (socket) => socket.once('data', () => socket.end())],
    [
      'closed the connection without an answer',
      'resets',
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
    ],
    [
      'answered with something that is not HTTP',
      'speaks SMTP',
      (socket) => socket.end('220 mail.example ESMTP\r\n'),
    ],
    [
      'answered with too many headers',
      'sends 100 KB of them',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1_000)}\r\n`.repeat(100)}`),
    ],
  ])('says that a receiver %s: one that %s', async (sentence, _, answer) => {
    const hook = await accepts(answer)
    expect(await told({ url: url(hook) })).toBe(`hooks.example ${sentence}`)
  })

  it.each([
    ['ENOTFOUND', 'The name hooks.example was not found'],
    ['EAI_AGAIN', 'The name hooks.example could not be looked up; the name server did not answer'],
    ['EWHATEVER', 'The request to hooks.example failed (EWHATEVER)'],
  ])('explains a name lookup that failed with %s', async (code, sentence) => {
    const resolve = () => Promise.reject(Object.assign(new Error('at /internal/path'), { code }))
    expect(await told({ url: 'https://hooks.example/token' }, { resolve })).toBe(sentence)
  })

  it.each([
    ['is signed by itself', certify('hooks.example'), false],
    ['is for another name', certify('other.example'), true],
  ])('says that a certificate %s', async (sentence, tls, isTrusted) => {
    const hook = await answers((_, response) => response.end(), { tls })
    expect(await told({ url: url(hook, 'https') }, isTrusted ? { ca: tls.cert } : {})).toBe(
      `The certificate of hooks.example ${sentence}`,
    )
  })

  it('says that the receiver does not speak TLS', async () => {
    const hook = await answers((_, response) => response.end())
    expect(await told({ url: url(hook, 'https') })).toBe('hooks.example does not speak TLS as it should')
  })

  it('says that the request failed when a header value is invalid', async () => {
    const hook = await accepts()
    expect(await told({ url: url(hook), id: 'a\r\nb' })).toMatch(/^The request to hooks\.example failed/)
  })
})

describe('TLS names', () => {
  it('accepts the certificate of a name in any case, with or without a trailing dot', async () => {
    const tls = certify('hooks.example')
    const names: unknown[] = []
    const hook = await answers(
      ({ socket }, response) => {
        names.push('servername' in socket && socket.servername)
        response.end()
      },
      { tls },
    )
    const sender = sending({ ca: tls.cert, resolve: async () => ['127.0.0.1'] })
    for (const name of ['hooks.example', 'HOOKS.example', 'hooks.example.']) {
      const sent = await sender.send({ ...attempt(`https://${name}:${hook.port}/`), loopback: true })
      expect(sent).toMatchObject({ status: 200, error: null })
    }
    expect(names).toEqual(Array(3).fill('hooks.example'))
  })
})

describe('closing the sender', () => {
  it('closing ends the attempts in progress and every connection', async () => {
    const ended: Promise<void>[] = []
    const hook = await accepts((socket) => {
      ended.push(new Promise((resolve) => socket.once('close', () => resolve())))
    })
    const sender = sending({ connections: 2 })
    const waiting = [1, 2, 3].map(() => sender.send(to(hook)))
    while (hook.connections() < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    await sender.close()
    for (const sent of await Promise.all(waiting))
      expect(sent).toMatchObject({ status: null, error: 'Sending was stopped before an answer came' })
    await Promise.all(ended)
  })

  it('sends nothing after it was closed', async () => {
    const hook = await accepts()
    const sender = sending()
    await sender.close()
    await sender.close()
    expect(await sender.send(to(hook))).toMatchObject({ status: null, error: expect.any(String) })
    expect(hook.connections()).toBe(0)
  })
})
