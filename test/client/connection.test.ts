import { once } from 'node:events'
import { connect as dial, type Socket } from 'node:net'
import { type buildConnector, Pool } from 'undici'
import { describe, expect, it } from 'vitest'
import { ConnectionAllowance } from '../../src/client/connection.js'
import { accepts, closeAfterTest } from './listeners.js'
import { remoteTo, sleeper } from './serving.js'

const body = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'
const afterData = (act: (socket: Socket) => void) => (socket: Socket) =>
  void socket.once('data', () => act(socket))

/** What a server or a proxy may do with a connection instead of answering. */
const misbehaviours: Readonly<Record<string, (socket: Socket) => void>> = {
  'closes at once': (socket) => socket.end(),
  'resets at once': (socket) => socket.resetAndDestroy(),
  'greets in another protocol': (socket) => socket.write('220 mail.example ESMTP\r\n'),
  'answers before it is asked, twice': (socket) => socket.write(body + body),
  'answers every request with a body, and more': (socket) =>
    void socket.on('data', () => socket.write(`${body}more`)),
  'answers garbage': afterData((socket) => socket.write('garbage\r\n\r\n')),
  'closes after the request': afterData((socket) => socket.end()),
  'resets after the request': afterData((socket) => socket.resetAndDestroy()),
  'accepts a tunnel and closes it': afterData((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')),
  'accepts a tunnel and resets it': afterData((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.resetAndDestroy()
  }),
  'never answers': () => {},
}

/** Targets and proxies, given the address of the peer. */
const ways: Readonly<
  Record<string, (at: string) => readonly [baseUrl: string, env: Record<string, string>]>
> = {
  'a server over http': (at) => [`http://${at}/api/v2`, {}],
  'a server over https': (at) => [`https://${at}/api/v2`, {}],
  'a proxy to http': (at) => ['http://api.example/api/v2', { http_proxy: `http://${at}` }],
  'a proxy to https': (at) => ['https://api.example/api/v2', { https_proxy: `http://${at}` }],
  'a proxy over TLS': (at) => ['https://api.example/api/v2', { https_proxy: `https://${at}` }],
  'a SOCKS proxy': (at) => ['https://api.example/api/v2', { https_proxy: `socks5://${at}` }],
}

describe.each(Object.keys(ways))('%s that', (way) => {
  it.each(Object.keys(misbehaviours))('%s is connected to four times at most, with pauses', async (how) => {
    const listener = await accepts(misbehaviours[how] ?? (() => {}))
    const [baseUrl, env] = ways[way]?.(`127.0.0.1:${listener.port}`) ?? ['', {}]
    const { sleep, slept } = sleeper()
    const remote = closeAfterTest(remoteTo(baseUrl, { env, sleep, connectMs: 100, timeoutMs: 100 }))
    const outcome = await remote.call('credits.show', {}).then(
      ({ status }) => status,
      (error: Error) => error.message,
    )
    if (typeof outcome === 'string') expect(outcome).not.toContain('UND_ERR')
    expect(listener.connections()).toBeLessThanOrEqual(slept.length + 1)
    expect(slept.length).toBeLessThan(4)
    expect(slept.every((ms) => ms >= 150)).toBe(true)
  })
})

describe('a connection whose bytes come before the request', () => {
  const greeted: buildConnector.connector = ({ hostname, port }, callback) => {
    const socket = dial(Number(port), hostname)
    void once(socket, 'readable').then(() => callback(null, socket))
  }

  it('is opened once for each request', async () => {
    const listener = await accepts((socket) => socket.write(body))
    const allowance = new ConnectionAllowance()
    const pool = new Pool(`http://127.0.0.1:${listener.port}`, { connect: allowance.limit(greeted) })
    const request = () => allowance.during(() => pool.request({ path: '/', method: 'GET' }))
    const outcomes = await Promise.allSettled([request(), request(), request()])
    await Promise.allSettled([request()])
    await pool.destroy()
    expect(outcomes.map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
    expect(listener.connections()).toBeLessThanOrEqual(4)
  })
})
