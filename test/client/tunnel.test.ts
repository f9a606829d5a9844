import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { certify } from './certificate.js'
import { answers, closeAfterTest, listening, socksProxy } from './listeners.js'
import { remoteTo } from './serving.js'

/** A proxy that answers CONNECT with a status, and tunnels to a port of this machine where that is 200. */
async function proxy(status: number, port: number) {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    response.end()
  })
  server.on('connect', (request, socket) => {
    seen.push(request)
    socket.on('error', () => {})
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
    const there = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      there.pipe(socket).pipe(there)
    })
    there.on('error', () => socket.destroy())
  })
  const { port: own } = closeAfterTest(await listening(server))
  return { seen, at: `127.0.0.1:${own}` }
}

/** A remote to a name that only the proxy can reach. */
async function through(status: number) {
  const tls = certify('api.example')
  const keys: unknown[] = []
  const server = await answers(
    (request, response) => {
      keys.push(request.headers['x-api-key'])
      response.end('{"credits":{"enrichment":7}}')
    },
    { tls },
  )
  const { seen, at } = await proxy(status, server.port)
  const env = { https_proxy: `http://user:pass%20word@${at}` }
  const remote = closeAfterTest(remoteTo('https://api.example/api/v2', { env, ca: tls.cert }))
  return { remote, seen, keys }
}

describe('an HTTPS proxy', () => {
  it('tunnels a request so that the proxy sees neither the key nor the path', async () => {
    const { remote, seen, keys } = await through(200)
    const reply = await remote.call('credits.show', {}, { apiKey: 'pk_secret' })
    expect([reply.status, keys]).toEqual([200, ['pk_secret']])
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['CONNECT api.example:443'])
    const { 'proxy-authorization': auth = '', ...headers } = seen[0]?.headers ?? {}
    expect(Buffer.from(auth.split(' ')[1] ?? '', 'base64').toString()).toBe('user:pass word')
    expect(JSON.stringify(headers)).not.toContain('pk_secret')
  })

  it.each([407, 403, 502])(
    'does not take the refusal of a proxy for an answer of the server: %i',
    async (status) => {
      const { remote, keys } = await through(status)
      const error = await remote.call('accounts.enrich', {}, {}).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ unknown: false, message: expect.stringContaining('through the proxy') })
      expect([String(error).includes('word'), keys]).toEqual([false, []])
    },
  )
})

describe('a SOCKS proxy', () => {
  it.each(['socks5', 'socks5h', 'socks'])(
    'tunnels to a server over TLS that it checks: %s',
    async (scheme) => {
      const tls = certify('api.example')
      const server = await answers((_, response) => response.end('{"credits":{"enrichment":7}}'), { tls })
      const { port } = closeAfterTest(await socksProxy(server.port))
      const env = { https_proxy: `${scheme}://127.0.0.1:${port}` }
      const remote = (ca: string) => closeAfterTest(remoteTo('https://api.example/api/v2', { env, ca }))
      expect(await remote(tls.cert).call('credits.show', {})).toMatchObject({ status: 200 })
      const { cert } = certify('api.example')
      await expect(remote(cert).call('credits.show', {})).rejects.toThrow('certificate')
    },
  )
})
