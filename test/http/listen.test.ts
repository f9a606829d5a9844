import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bodyLimits } from '../../src/api/operations/facts.js'
import { handler } from '../../src/http/handler.js'
import { defaultTiming, type ListenOptions, listen } from '../../src/http/listen.js'
import { casesOf } from '../support/fixtures.js'
import { until } from '../support/until.js'
import { CountingCaller } from './counting-caller.js'
import { bodyOf, exchange, headersOf, lines, statuses } from './raw.js'

const { bytes: limit } = bodyLimits

async function start(caller = new CountingCaller(), options: Partial<ListenOptions> = {}) {
  const serve = handler({ caller, version: '1', document: async () => ({}) })
  const server = await listen({ handler: serve, host: '127.0.0.1', port: 0, ...options })
  onTestFinished(() => server.close(0))
  return server
}

const hurried = { headersMs: 300, requestMs: 600, keepAliveMs: 100, unreadMs: 400, checkMs: 30 }
const path = '/api/v2/accounts/single_enrich'
const headers = (port: number, ...more: string[]) => [
  `Host: localhost:${port}`,
  'X-API-KEY: right',
  'Content-Type: application/json',
  ...more,
]
const post = (port: number, body: string, ...more: string[]) =>
  `${[`POST ${path} HTTP/1.1`, ...headers(port, `Content-Length: ${body.length}`, ...more)].join('\r\n')}\r\n\r\n${body}`

describe('the address of the server', () => {
  it('prints a base URL that answers', async () => {
    const server = await start()
    expect(server.baseUrl).toBe(`http://127.0.0.1:${server.port}/api/v2`)
    expect((await fetch(`${server.origin}/health`)).status).toBe(200)
  })

  it('listens on the IPv6 loopback address', async () => {
    const server = await start(undefined, { host: '::1' })
    expect(server.origin).toBe(`http://[::1]:${server.port}`)
    expect((await fetch(`${server.origin}/health`)).status).toBe(200)
  })

  it.each(casesOf<string>('http/listen/refuses-to-listen-on'))(
    'refuses to listen on %j without --public',
    async (host) => {
      await expect(start(undefined, { host })).rejects.toMatchObject({ code: 'listen.not_public' })
    },
  )

  it('listens on any address with --public, but still serves loopback host names only', async () => {
    const server = await start(undefined, { host: '0.0.0.0', public: true })
    expect(server.origin).toBe(`http://127.0.0.1:${server.port}`)
    expect((await fetch(`${server.origin}/health`)).status).toBe(200)
    const raw = await exchange(server.port, lines('GET /health HTTP/1.1', ['Host: evil.example']))
    expect(statuses(raw)).toEqual([403])
  })

  it('is refused with the port that is in use', async () => {
    const { port } = await start()
    await expect(start(undefined, { port })).rejects.toMatchObject({
      code: 'listen.port_used',
      details: { port },
    })
  })
})

describe('malformed HTTP', () => {
  const first = (port: number) => `POST ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nX-API-KEY: right\r\n`

  it.each(casesOf<[string, string]>('http/listen/malformed'))(
    'refuses a request with %s and closes the connection',
    async (_, rest) => {
      const caller = new CountingCaller()
      const { port } = await start(caller)
      const smuggled = `GET /api/v2/credits HTTP/1.1\r\nHost: localhost:${port}\r\nX-API-KEY: right\r\n\r\n`
      const raw = await exchange(port, `${first(port)}${rest}${smuggled}`)
      expect(statuses(raw)).toEqual([400])
      expect(headersOf(raw)).toMatchObject({ connection: 'close', 'cache-control': 'no-store' })
      expect(caller.seen.filter(({ id }) => id === 'credits.show')).toEqual([])
    },
  )

  it.each([
    'GET /health\r\n\r\n',
    'hello\r\n\r\n',
    'GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n',
    '\0\0\0\0',
    '\x16\x03\x01',
  ])('answers 400 to %j', async (text) => {
    const { port } = await start()
    const raw = await exchange(port, text)
    expect(statuses(raw)).toEqual([400])
    expect(bodyOf(raw)).toHaveProperty('error')
  })
})

describe('size limits', () => {
  const [get, to] = ['GET /health HTTP/1.1', `POST ${path} HTTP/1.1`]
  const tooLong = `Content-Length: ${limit + 1}`
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`

  it.each<[string, number, first: string, more: string[], ...parts: string[]]>([
    ['headers below 16 KiB', 200, get, [`X-A: ${'a'.repeat(15_000)}`]],
    ['headers over 16 KiB', 431, get, [`X-A: ${'a'.repeat(16_384)}`]],
    ['a request target over 16 KiB', 431, `GET /${'a'.repeat(17_000)} HTTP/1.1`, []],
    ['a declared length over the limit, before the body is sent', 413, to, [tooLong]],
    ['a declared length over the limit that waits to be asked', 413, to, [tooLong, 'Expect: 100-continue']],
    ['chunks over the limit', 413, to, ['Transfer-Encoding: chunked'], chunk.repeat(17), '0\r\n\r\n'],
  ])('answers %s with %i', async (_, status, first, more, ...parts) => {
    const { port } = await start()
    const raw = await exchange(port, lines(first, headers(port, ...more)), ...parts)
    expect(statuses(raw).at(-1)).toBe(status)
    if (status === 431) expect(bodyOf(raw)).toEqual({ error: 'The request headers are too large' })
  })

  it('reads chunks below the limit', async () => {
    const caller = new CountingCaller()
    const { port } = await start(caller)
    const head = lines(`POST ${path} HTTP/1.1`, headers(port, 'Transfer-Encoding: chunked'))
    const raw = await exchange(port, head, '6\r\n{"doma\r\n', 'd\r\nin":"a.test"}\r\n0\r\n\r\n')
    expect(statuses(raw)).toEqual([200])
    expect(caller.seen[0]?.input).toEqual({ domain: 'a.test' })
  })

  it('asks a client that sends Expect: 100-continue for the body', async () => {
    const { port } = await start()
    const raw = await exchange(port, post(port, '{}', 'Expect: 100-continue', 'Connection: close'))
    expect(statuses(raw)).toEqual([100, 200])
  })

  it('does not ask for the body of a request to another host', async () => {
    const { port } = await start()
    const request = post(port, '{}', 'Expect: 100-continue').replace(`localhost:${port}`, 'evil.example')
    expect(statuses(await exchange(port, request))).toEqual([403])
  })
})

describe('connections', () => {
  it('serves several requests on one connection', async () => {
    const { port } = await start()
    const raw = await exchange(
      port,
      post(port, '{}'),
      post(port, '{}'),
      post(port, '{}', 'Connection: close'),
    )
    expect(statuses(raw)).toEqual([200, 200, 200])
  })

  it('answers pipelined requests in order, however long each takes', async () => {
    const caller = new CountingCaller()
    const { port } = await start(caller)
    caller.work = async () => {
      // Long enough for the other one, if it did not wait for this.
      if (caller.calls === 1) await pause(30)
    }
    const requests = [
      post(port, '{}'),
      `GET /health HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`,
    ]
    const raw = await exchange(port, requests.join(''))
    expect(raw.indexOf('accounts.enrich')).toBeGreaterThan(0)
    expect(raw.indexOf('"status":"ok"')).toBeGreaterThan(raw.indexOf('accounts.enrich'))
  })

  it('begins with a pipelined request when the one before is answered, so that replies nobody reads take no memory', async () => {
    const caller = new CountingCaller()
    let [running, most] = [0, 0]
    caller.work = async () => {
      most = Math.max(most, ++running)
      // Long enough for the next one to begin, if it did.
      await pause(5)
      running--
    }
    const { port } = await start(caller)
    const raw = await exchange(port, post(port, '{}').repeat(20), post(port, '{}', 'Connection: close'))
    expect([statuses(raw).length, caller.calls, most]).toEqual([21, 21, 1])
  })

  it('keeps a connection open after an invalid body', async () => {
    const { port } = await start()
    const raw = await exchange(port, post(port, '{'), post(port, '{}', 'Connection: close'))
    expect(statuses(raw)).toEqual([400, 200])
  })

  it('aborts the call when the client disconnects', async () => {
    const caller = new CountingCaller()
    const { port } = await start(caller)
    const gone = new Promise<void>((resolve) => {
      caller.work = ({ signal }) =>
        new Promise((done) => {
          socket.destroy()
          signal?.addEventListener('abort', () => resolve(done()))
        })
    })
    const socket = connect(port, '127.0.0.1')
    socket.write(post(port, '{}'))
    await gone
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
  })

  it('makes no call when the connection ends within the body', async () => {
    const caller = new CountingCaller()
    const { port } = await start(caller)
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST ${path} HTTP/1.1\r\n${headers(port, 'Content-Length: 100').join('\r\n')}\r\n\r\n{"a":`)
    await until(() => caller.calls > 0)
    socket.destroy()
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
    expect(caller.seen).toEqual([])
  })

  it('refuses connections over the maximum number', async () => {
    const { port } = await start(undefined, { maxConnections: 1 })
    const held = connect(port, '127.0.0.1')
    await new Promise((resolve) => held.once('connect', resolve))
    expect(await exchange(port, lines('GET /health HTTP/1.1', headers(port)))).toBe('')
    held.destroy()
  })
})

describe('timeouts', () => {
  it('has the documented time limits', () => {
    expect(defaultTiming.headersMs).toBe(10_000)
    expect(defaultTiming.requestMs).toBe(15_000)
    expect(defaultTiming.unreadMs).toBe(30_000)
    expect(defaultTiming.checkMs).toBeLessThanOrEqual(5_000)
  })

  const trickle = (port: number, start: string, each: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let raw = ''
      const timer = setInterval(() => socket.writable && socket.write(each), 10)
      socket.on('data', (data) => {
        raw += data
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(timer)
        resolve(raw)
      })
      if (start) socket.write(start)
    })

  it.each([
    ['headers that trickle', 'GET /health HTTP/1.1\r\n', 'a', [408]],
    ['a connection that says nothing', '', '', [408]],
    ['a connection idle after its answer', 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n', '', [200]],
    [
      'a body that trickles',
      `POST ${path} HTTP/1.1\r\n${headers(0, 'Content-Length: 9999').join('\r\n')}\r\n\r\n{`,
      ' ',
      [408],
    ],
    [
      'chunks that trickle',
      `POST ${path} HTTP/1.1\r\n${headers(0, 'Transfer-Encoding: chunked').join('\r\n')}\r\n\r\n`,
      '1\r\n \r\n',
      [408],
    ],
  ])('closes %s after the time limit', async (_, start_, each, expected) => {
    const { port } = await start(undefined, { timing: hurried })
    expect(statuses(await trickle(port, start_.replace('localhost:0', `localhost:${port}`), each))).toEqual(
      expected,
    )
  })

  it('serves others while 50 slow connections time out', async () => {
    const { port, origin } = await start(undefined, { timing: hurried })
    const slow = Array.from({ length: 50 }, () => trickle(port, 'GET /health HTTP/1.1\r\n', 'a'))
    for (let n = 0; n < 10; n++) expect((await fetch(`${origin}/health`)).status).toBe(200)
    expect((await Promise.all(slow)).map(statuses)).toEqual(Array(50).fill([408]))
  })

  it('does not time out a call that runs long after its body arrived', async () => {
    const caller = new CountingCaller()
    // Longer than a request may take to arrive.
    caller.work = () => pause(hurried.requestMs + 300)
    const { port } = await start(caller, { timing: hurried })
    expect(statuses(await exchange(port, post(port, '{}', 'Connection: close')))).toEqual([200])
  })

  it('closes a connection whose client reads nothing of a long answer, which takes the place of others', async () => {
    const caller = new CountingCaller()
    caller.reply = { body: { text: 'x'.repeat(33_554_432) } }
    const { port, origin } = await start(caller, { timing: hurried, maxConnections: 1 })
    const stuck = connect(port, '127.0.0.1').pause()
    const closed = new Promise((resolve) => stuck.on('error', () => {}).on('close', resolve))
    stuck.write(post(port, '{}'))
    await until(() => caller.calls > 0)
    const answers = async () => (await fetch(`${origin}/health`).catch(() => undefined))?.status
    await until(async () => (await answers()) === 200)
    stuck.resume()
    await closed
  })
})

describe('closing the server', () => {
  it('finishes requests in flight when it closes, and accepts no more', async () => {
    const caller = new CountingCaller()
    const server = await start(caller)
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
    caller.work = () => finished
    const answer = exchange(server.port, post(server.port, '{}'))
    await until(() => caller.seen.length > 0)
    const closed = server.close()
    await expect(fetch(`${server.origin}/health`)).rejects.toThrow()
    finish()
    expect(statuses(await answer)).toEqual([200])
    await closed
  })

  it('does not wait for idle connections when it closes', async () => {
    const server = await start()
    const response = await fetch(`${server.origin}/health`)
    expect(response.headers.get('connection')).toBe('keep-alive')
    await response.text()
    await server.close(60_000)
    await expect(fetch(`${server.origin}/health`)).rejects.toThrow()
  })

  it('cuts requests off after the grace period of the first of two closes', async () => {
    const caller = new CountingCaller()
    const server = await start(caller)
    caller.work = ({ signal }) => new Promise((done) => signal?.addEventListener('abort', () => done()))
    const answer = exchange(server.port, post(server.port, '{}'))
    await until(() => caller.seen.length > 0)
    await Promise.all([server.close(10), server.close(60_000)])
    expect(await answer).toBe('')
  })
})

describe('connections that send no request', () => {
  /** Connections that say nothing, opened one after the other. */
  async function silent(port: number, count: number) {
    const all: Socket[] = []
    for (let at = 0; at < count; at++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      onTestFinished(() => void socket.destroy())
      await once(socket.resume(), 'connect')
      all.push(socket)
    }
    return all
  }

  it('do not take the place of others: the oldest of an address is closed', async () => {
    const { port } = await start(undefined, { maxConnections: 20, maxSilent: 5 })
    const all = await silent(port, 30)
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
    await expect.poll(() => all.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(25)
    expect(all.slice(0, 25).every(({ closed }) => closed)).toBe(true)
  })

  it('of a trusted proxy are not counted', async () => {
    const isProxy = (address: string) => address === '127.0.0.1'
    const { port } = await start(undefined, { maxConnections: 20, maxSilent: 1, isProxy })
    const all = await silent(port, 10)
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
    expect(all.some(({ closed }) => closed)).toBe(false)
  })

  it('are not those that wait between two requests', async () => {
    const { port } = await start(undefined, { maxSilent: 1 })
    const kept = connect(port, '127.0.0.1')
    let answers = ''
    kept.on('data', (data) => {
      answers += data.toString()
    })
    const ask = () => kept.write(`GET /health HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
    ask()
    await expect.poll(() => statuses(answers)).toEqual([200])
    await silent(port, 3)
    ask()
    await expect.poll(() => statuses(answers)).toEqual([200, 200])
    kept.destroy()
  })
})
