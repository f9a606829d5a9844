import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { prospect, serving } from '../../../support/processes.js'
import { loadSample } from '../../../support/sample.js'
import { ask, enrich } from '../../call/serving.js'

const here = perTest(machine)

/** Returns a connection to a port of this machine, on which nothing is sent. */
const connected = (port: number) =>
  new Promise<Socket>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.resume().on('error', () => {})
  })

/** Starts a server on a free port in this process. */
const serve = (...options: string[]) => here.start(['serve', '--port', '0', ...options])

describe('serve', () => {
  it.each(['SIGINT', 'SIGTERM'])('prints its base URL first and exits 0 on %s', async (signal) => {
    const { line, stop } = await serve()
    expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v2$/)
    expect((await fetch(new URL('/health', line))).status).toBe(200)
    const { code, stdout } = await stop(signal)
    expect([code, stdout]).toEqual([0, `${line}\n`])
  })

  it.each([['--log-requests'], ['--verbose']])(
    'logs each request on stderr with %s, without secrets',
    async (option) => {
      await loadSample(here.home)
      const key = await here.newKey()
      const { line, stop } = await serve('--json', option)
      const { base_url: baseUrl } = JSON.parse(line) as { base_url: string }
      await enrich({ baseUrl, key }, 'acme-robotics.example', { 'x-request-id': 'my-id' })
      await ask({ baseUrl, key: 'sk-of-another-service' }, '/credits?email=ada@private.example')
      const { stderr } = await stop()
      const [first, second] = stderr
        .split('\n')
        .filter((text) => text.includes('"path"'))
        .map((text) => JSON.parse(text))
      expect(first).toEqual({
        time: expect.stringMatching(/^\d{4}-/),
        method: 'POST',
        path: '/api/v2/accounts/single_enrich',
        status: 200,
        ms: expect.any(Number),
        credits: 1,
        key: key.slice(0, 7),
        request_id: 'my-id',
      })
      expect(second).toMatchObject({ path: '/api/v2/credits?email', status: 401, credits: 0, key: '(other)' })
      for (const secret of [key, 'private.example', 'another-service', 'acme-robotics'])
        expect(stderr).not.toContain(secret)
    },
  )

  it('logs a request as one line with escaped control characters', async () => {
    const { line, stop } = await serve('--log-requests')
    await fetch(new URL('/a%1b[2J', line), { headers: { 'x-request-id': 'x\u0085y' } })
    const { stderr } = await stop()
    expect(stderr).toMatch(/^\d{4}-\S+ GET \/a%1b\[2J 404 \d+ ms 0 credits - x\\u0085y$/m)
  })

  it('serves another database with --database', async () => {
    const { stop } = await serve('--database', 'other.db')
    expect((await stop()).code).toBe(0)
    expect([here.exists('other.db'), here.exists('engine.db')]).toEqual([true, false])
  })

  it('lets calls fail as the file of --faults says, while it runs', async () => {
    const key = await here.newKey()
    here.write('faults.txt', 'credits --status 500 --nth 2 --seed 7\n')
    const { line, stop } = await serve('--faults', here.path('faults.txt'))
    const credits = () => ask({ baseUrl: line, key }, '/credits')
    expect((await credits()).headers.get('x-prospect-fault')).toBeNull()
    const refused = await credits()
    expect([refused.status, refused.headers.get('x-prospect-fault')]).toEqual([500, 'f1'])
    expect(await here.json('engine faults list')).toMatchObject([{ seed: 7, matched: 2, fired: 1 }])
    expect((await stop()).stderr).toContain('A fault is set (prospect engine faults list).')
    expect(await here.json('engine faults list')).toEqual([])
  })

  it('names its own address in the OpenAPI document', async () => {
    const { line, stop } = await serve()
    const document = await (await fetch(new URL('/openapi.json', line))).json()
    expect(document).toMatchObject({ servers: [{ url: line }] })
    await stop()
  })

  it('keeps any number of connections of a --trusted-proxy', async () => {
    const { line, stop } = await serve('--trusted-proxy', '10.0.0.0/8', '--trusted-proxy', '127.0.0.0/8')
    const sockets: Socket[] = []
    for (let at = 0; at < 257; at++) sockets.push(await connected(Number(new URL(line).port)))
    expect((await fetch(new URL('/health', line))).status).toBe(200)
    expect(sockets.filter(({ closed }) => closed)).toEqual([])
    for (const socket of sockets) socket.destroy()
    await stop()
  })
})

it('serve as a process answers, keeps its engine from being deleted, and exits 0 on SIGTERM', async () => {
  await here.fill('companies', 'name,domain\nAcme,acme.example\n')
  await here.json('init')
  const key = await here.newKey()
  const { baseUrl, pid, server, stop } = await serving(prospect, here.home)
  try {
    expect(pid).toBe(server.pid)
    const { status, json } = await enrich({ baseUrl, key }, 'acme.example')
    expect([status, json()]).toMatchObject([200, { name: 'Acme' }])
    expect((await here.run('engine reset --yes')).code).toBe(2)
    // A body that is parsed in a thread, which may not keep the process from its end.
    const body = JSON.stringify({ domain: 'nobody.example', x: 'x'.repeat(900_000) })
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    await fetch(`${baseUrl}/accounts/single_enrich`, { method: 'POST', headers, body })
    expect(await stop()).toMatchObject({ exitCode: 0 })
    expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 999 } })
  } finally {
    server.kill('SIGKILL')
  }
})
