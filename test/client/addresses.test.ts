import { describe, expect, it } from 'vitest'
import { ConnectionLost, type Reply } from '../../src/api/calls/caller.js'
import type { RemoteOptions } from '../../src/client/remote.js'
import { until } from '../support/until.js'
import { certify } from './certificate.js'
import { accepting, answering, answers, closeAfterTest, freePort, type Listener } from './listeners.js'
import { remoteTo, sleeper } from './serving.js'

/** A request that a server got: its idempotency key, and the API key that came with it. */
interface Asked {
  readonly path: string
  readonly key: unknown
  readonly apiKey: unknown
}

type Answer = (
  at: number,
) => readonly [status: number, body: object, headers?: Record<string, string>] | 'cut' | 'hang'

const company: ReturnType<Answer> = [200, { id: 'c', name: 'Acme', domain: 'acme.example' }]

/** Opens a server that answers so; `/health` says that it knows idempotency keys. */
async function server(answer: Answer = () => company, port = 0) {
  const asked: Asked[] = []
  const listener = await answering(
    (request, response) => {
      const json = { 'content-type': 'application/json' }
      if (request.url === '/health')
        return response.writeHead(200, json).end('{"idempotency":"Idempotency-Key"}')
      const { 'idempotency-key': key, 'x-api-key': apiKey } = request.headers
      asked.push({ path: request.url ?? '', key, apiKey })
      const answered = answer(asked.length)
      if (answered === 'hang') return
      if (answered === 'cut') return request.socket.resetAndDestroy()
      const [status, body, headers] = answered
      response.writeHead(status, { ...json, ...headers }).end(JSON.stringify(body))
    },
    { port },
  )
  return Object.assign(closeAfterTest(listener), { asked })
}

/** A remote over several addresses, with the pauses that it made. */
function over(
  addresses: readonly (Pick<Listener, 'baseUrl'> | string)[],
  options: Partial<RemoteOptions> = {},
) {
  const [baseUrl = '', ...otherUrls] = addresses.map((one) => (typeof one === 'string' ? one : one.baseUrl))
  const { slept, sleep } = sleeper()
  const remote = closeAfterTest(remoteTo(baseUrl, { otherUrls, sleep, ...options }))
  const call = (id: 'accounts.enrich' | 'credits.show' | 'personas.delete' = 'accounts.enrich', more = {}) =>
    remote
      .call(id, { domain: 'acme.example', uuid: 'p' }, { apiKey: 'pk_key', ...more })
      .catch((error: unknown) => {
        if (error instanceof ConnectionLost) return error
        throw error
      })
  return { call, slept }
}

const statusOf = (ended: Reply | ConnectionLost) => (ended instanceof ConnectionLost ? 'lost' : ended.status)

const nowhere = async () => `http://127.0.0.1:${await freePort()}/api/v2`

describe('several addresses', () => {
  it('are asked one at once after the other where one cannot be reached, whatever is called', async () => {
    const two = await server(() => [200, { id: 'c', message: 'ok', credits: {} }])
    const { call, slept } = over([await nowhere(), two], { idempotency: 'none' })
    expect(statusOf(await call('accounts.enrich'))).toBe(200)
    const other = over([await nowhere(), two], { idempotency: 'none' })
    expect(statusOf(await other.call('personas.delete'))).toBe(200)
    expect([slept, other.slept, two.asked.length]).toEqual([[], [], 2])
  })

  it.each([
    ['has no such name', async () => 'http://nobody.invalid/api/v2'],
    [
      'has a certificate that is not trusted',
      async () => {
        const tls = certify('api.example')
        const { port } = await answers((_, response) => response.end('{}'), { tls })
        return `https://127.0.0.1:${port}/api/v2`
      },
    ],
  ])('are asked where the first %s', async (_, first) => {
    const two = await server()
    const { call, slept } = over([await first(), two])
    expect([statusOf(await call()), slept]).toEqual([200, []])
  })

  it('are asked at once where the first ends, fails or cuts the connection and a repetition is safe', async () => {
    const failing: readonly ReturnType<Answer>[] = [
      [503, { error: 'Stopping' }, { 'retry-after': '30' }],
      [502, {}],
      [500, {}],
      'cut',
    ]
    for (const answer of failing) {
      const [one, two] = [await server(() => answer), await server()]
      const { call, slept } = over([one, two])
      expect([answer, statusOf(await call()), slept]).toEqual([answer, 200, []])
      const [first, second] = [one.asked, two.asked].map((asked) => asked.map(({ key }) => key))
      expect([first, second]).toEqual([[expect.any(String)], first])
    }
  })

  it('are not asked for what may have been done and cannot be repeated, but for what only reads', async () => {
    for (const answer of ['cut', [503, {}]] as const) {
      const [one, two] = [
        await server(() => answer),
        await server(() => [200, { credits: { enrichment: 1 } }]),
      ]
      const { call } = over([one, two], { idempotency: 'none' })
      expect(await call('accounts.enrich')).toMatchObject({ unknown: true })
      expect(two.asked).toEqual([])
      const again = over([one, two], { idempotency: 'none' })
      expect(await again.call('personas.delete')).toMatchObject({ unknown: true })
      expect(two.asked).toEqual([])
      const reading = over([one, two], { idempotency: 'none' })
      expect(statusOf(await reading.call('credits.show'))).toBe(200)
    }
  })

  it('ask the others for the support of keys where the first is gone', async () => {
    const [one, two] = [await server(() => 'cut'), await server()]
    const { call } = over([one, two])
    await one.close()
    expect(statusOf(await call())).toBe(200)
    expect(two.asked).toHaveLength(1)
  })

  it('leave one that is down until the one in use fails, and find it again when it is back', async () => {
    const port = await freePort()
    const two = await server()
    const { call } = over([`http://127.0.0.1:${port}/api/v2`, two])
    expect(statusOf(await call())).toBe(200)
    const dead = closeAfterTest(await accepting((socket) => socket.destroy(), undefined, port))
    for (let count = 0; count < 5; count++) expect(statusOf(await call())).toBe(200)
    expect([dead.connections(), two.asked.length]).toEqual([0, 6])
    await dead.close()
    const one = await server(undefined, port)
    await two.close()
    for (let count = 0; count < 5; count++) expect(statusOf(await call())).toBe(200)
    expect(one.asked.length).toBe(5)
  })

  it('find a server that is back after many calls had failed there', async () => {
    const [port, other] = [await freePort(), await freePort()]
    const all = (call: () => Promise<Reply | ConnectionLost>) => Promise.all(Array.from({ length: 40 }, call))
    const urls = [port, other].map((one) => `http://127.0.0.1:${one}/api/v2`)
    const { call } = over(urls)
    const two = await server(undefined, other)
    expect(new Set((await all(call)).map(statusOf))).toEqual(new Set([200]))
    await two.close()
    expect(new Set((await all(call)).map(statusOf))).toEqual(new Set(['lost']))
    await server(undefined, port)
    expect(new Set((await all(call)).map(statusOf))).toEqual(new Set([200]))
  })

  it('are all named where none can be reached, after pauses as for one', async () => {
    const [one, two] = [await nowhere(), await nowhere()]
    const { call, slept } = over([one, two])
    const ended = await call()
    for (const url of [one, two])
      expect(ended).toMatchObject({ unknown: false, message: expect.stringContaining(new URL(url).host) })
    expect(slept).toHaveLength(3)
  })

  it('leave what a failing server said where the other one cannot be reached', async () => {
    const one = await server(() => [503, { error: 'The database cannot be reached: timeout' }])
    const { call, slept } = over([one, await nowhere()])
    expect(await call()).toMatchObject({ status: 503, body: { error: expect.stringContaining('database') } })
    expect([one.asked.length, slept.length]).toEqual([4, 3])
  })

  it('leave one on which a call ran out of time', async () => {
    const [one, two] = [await server(() => 'hang'), await server()]
    const { call } = over([one, two])
    expect(statusOf(await call('accounts.enrich', { signal: AbortSignal.timeout(300) }))).toBe('lost')
    expect([statusOf(await call()), one.asked.length, two.asked.length]).toEqual([200, 1, 1])
  })

  it('do not leave one because a caller gave a call up', async () => {
    const [one, two] = [await server((at) => (at === 1 ? 'hang' : company)), await server()]
    const { call } = over([one, two])
    const giving = new AbortController()
    const given = call('accounts.enrich', { signal: giving.signal })
    await until(() => one.asked.length === 1)
    giving.abort()
    expect(statusOf(await given)).toBe('lost')
    expect([statusOf(await call()), two.asked.length]).toEqual([200, 0])
  })

  it('get the key of the call and no others do: a redirect is not followed', async () => {
    const elsewhere = await server()
    const one = await server(() => [307, {}, { location: `${elsewhere.baseUrl}/accounts/single_enrich` }])
    const two = await server()
    const { call } = over([one, two])
    expect(statusOf(await call())).toBe(200)
    expect([one.asked, two.asked].map((asked) => asked[0]?.apiKey)).toEqual(['pk_key', 'pk_key'])
    expect(elsewhere.asked).toEqual([])
  })
})

describe('a call that was sent and lost', () => {
  const inProgress: ReturnType<Answer> = [
    409,
    { error: 'In progress', code: 'idempotency_in_progress' },
    { 'retry-after': '1' },
  ]

  it('waits while the server that was killed has its key, as long as for an answer', async () => {
    const [one, two] = [await server(() => 'cut'), await server((at) => (at < 12 ? inProgress : company))]
    const { call, slept } = over([one, two])
    expect([statusOf(await call()), slept]).toEqual([200, Array(11).fill(1_000)])
    expect(new Set([...one.asked, ...two.asked].map(({ key }) => key)).size).toBe(1)
  })

  it('is left with an unknown outcome where its key stays in use', async () => {
    const [one, two] = [await server(() => 'cut'), await server(() => inProgress)]
    const { call, slept } = over([one, two], { timeoutMs: 20_000 })
    expect(await call()).toMatchObject({ status: 409, unknown: true })
    expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(30_000)
  })

  it('waits for a rate limit, which does not say whether it was done', async () => {
    const limited: ReturnType<Answer> = [429, { error: 'Rate limit exceeded.' }, { 'retry-after': '20' }]
    const [one, two] = [await server(() => 'cut'), await server((at) => (at === 1 ? limited : company))]
    const { call, slept } = over([one, two])
    expect([statusOf(await call()), slept]).toEqual([200, [20_000]])
  })
})
