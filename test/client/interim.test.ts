import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { createSender } from '../../src/client/sender.js'
import { attempt } from './attempt.js'
import { certify } from './certificate.js'
import { accepts, closeAfterTest, listening, socksProxy } from './listeners.js'
import { remoteTo } from './serving.js'

const body = '{"credits":{"enrichment":7}}'
const final = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
const go = 'HTTP/1.1 100 Continue\r\n\r\n'
const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n'
const processing = 'HTTP/1.1 102 Processing\r\n\r\n'

/** Writes a text in portions, each of which arrives on its own. */
async function writeIn(socket: Socket, portions: readonly string[]): Promise<void> {
  socket.setNoDelay(true)
  for (const portion of portions) {
    socket.write(portion)
    await pause(1)
  }
}

/** Answers each request with portions of a text. */
const says = (portions: readonly string[]) => (socket: Socket) => {
  socket.on('error', () => {})
  socket.on('data', () => void writeIn(socket, portions))
}

const divisions: Readonly<Record<string, readonly string[]>> = {
  'one 100 Continue in one portion with the answer': [go + final],
  'one 100 Continue, byte by byte': [...(go + final.slice(0, 20)), final.slice(20)],
  'one 100 Continue that ends within its blank line': [go.slice(0, -1), go.slice(-1) + final],
  'several interim answers, in one portion': [hints + go + go + processing + final],
  'several interim answers, byte by byte': [...(hints + go + processing + go + final)],
  'one of HTTP/1.0, in two portions': ['HTTP/1.0 100 Continue\r\n', '\r\n', final],
}

/** How a server may be reached, given what it does with a connection. */
const ways: Readonly<
  Record<
    string,
    (accept: (socket: Socket) => void) => Promise<readonly [string, Record<string, string>, string?]>
  >
> = {
  directly: async (accept) => [(await accepts(accept)).baseUrl, {}],
  'through a proxy': async (accept) => {
    const { port } = await accepts(accept)
    return ['http://api.example/api/v2', { http_proxy: `http://127.0.0.1:${port}` }]
  },
  'over TLS': async (accept) => {
    const tls = certify('localhost')
    const { port } = closeAfterTest(await listening(createTlsServer(tls, accept)))
    return [`https://localhost:${port}/api/v2`, {}, tls.cert]
  },
  'through the tunnel of a proxy, over TLS': async (accept) => {
    const tls = certify('api.example')
    const server = closeAfterTest(await listening(createTlsServer(tls, accept)))
    const proxy = createServer().on('connect', (_, socket) => {
      const there = connect(server.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        there.pipe(socket).pipe(there)
      })
      for (const end of [there, socket]) end.on('error', () => {})
    })
    const { port } = closeAfterTest(await listening(proxy))
    return ['https://api.example/api/v2', { https_proxy: `http://127.0.0.1:${port}` }, tls.cert]
  },
  'through a SOCKS proxy, over TLS': async (accept) => {
    const tls = certify('api.example')
    const server = closeAfterTest(await listening(createTlsServer(tls, accept)))
    const { port } = closeAfterTest(await socksProxy(server.port))
    return ['https://api.example/api/v2', { https_proxy: `socks5://127.0.0.1:${port}` }, tls.cert]
  },
}

describe.each(Object.keys(ways))('an answer behind interim ones, %s', (way) => {
  it.each(Object.keys(divisions))('is read after %s, again and again on one connection', async (division) => {
    const [baseUrl, env, ca] = (await ways[way]?.(says(divisions[division] ?? []))) ?? ['', {}]
    const remote = closeAfterTest(remoteTo(baseUrl, { env, ca, connections: 1 }))
    for (let count = 0; count < 3; count++)
      expect(await remote.call('credits.show', {})).toMatchObject({ status: 200, body: JSON.parse(body) })
  })
})

describe('an interim answer', () => {
  it('within a body is a part of it, wherever the portions end', async () => {
    const text = JSON.stringify({ credits: { enrichment: 7 }, note: 'HTTP/1.1 100 Continue' })
    const [before = '', after = ''] = text.split(/(?=HTTP\/1\.1)/)
    const rest = `${' '.repeat(20)}\r\n\r\n`
    // The portion in the middle begins as an interim answer does, and has a blank line.
    const length = before.length + after.length + rest.length
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
    const listener = await accepts(says([head + before, after + rest]))
    const remote = closeAfterTest(remoteTo(listener.baseUrl))
    const reply = await remote.call('credits.show', {})
    expect([reply.status, reply.body]).toEqual([200, JSON.parse(text)])
  })

  it('that never ends is given up, as is an endless row of them', async () => {
    const endless = await accepts((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(`HTTP/1.1 100 ${'a'.repeat(40_000)}`))
    })
    const row = await accepts((socket) => {
      socket.on('error', () => {})
      socket.once('data', async () => {
        while (!socket.destroyed) {
          socket.write(go.repeat(100))
          await pause(1)
        }
      })
    })
    for (const { baseUrl } of [endless, row]) {
      const remote = closeAfterTest(remoteTo(baseUrl, { timeoutMs: 300 }))
      await expect(remote.call('accounts.enrich', { domain: 'a.example' })).rejects.toMatchObject({
        unknown: true,
      })
    }
  })

  it('of the receiver of a webhook is no answer either', async () => {
    const listener = await accepts(says([...go, 'HTTP/1.1 204 No Content\r\n\r\n']))
    const sender = closeAfterTest(createSender())
    const sent = await sender.send({ ...attempt(`http://127.0.0.1:${listener.port}/`), loopback: true })
    expect(sent).toMatchObject({ status: 204, error: null })
  })
})
