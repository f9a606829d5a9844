import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { WantedFault } from '../../../../src/engine/admin/faults.js'
import { answering, closeAfterTest, received } from '../../../client/listeners.js'
import { served } from '../../../client/serving.js'
import { ends, type Machine } from '../../../support/command.js'
import { ask, enrich, proxyOf, servingMachine } from '../../call/serving.js'

const engine = async () => {
  const { bench, server } = closeAfterTest(await served())
  return { bench, at: { baseUrl: server.baseUrl, key: bench.key } }
}

/** Nothing is answered. */
const silent: WantedFault = { where: 'all', rules: { timeout: true } }

describe('a governed proxy', () => {
  it('gives up a server that does not answer within --timeout', async () => {
    const { bench, at } = await engine()
    await bench.admin.addFault(silent)
    expect((await enrich(await proxyOf(at, '--timeout 0.2'), 'known.example')).status).toBe(502)
  })

  it('gives up all attempts at a server that does not answer after 150 s without --timeout', async () => {
    const timeout = AbortSignal.timeout
    const limits = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => timeout.call(AbortSignal, ms === 150_000 ? 100 : ms))
    onTestFinished(() => limits.mockRestore())
    const { bench, at } = await engine()
    await bench.admin.addFault(silent)
    expect((await ask(await proxyOf(at), '/credits')).status).toBe(502)
  })

  it('records a charge once, and not again for a replay', async () => {
    const { at } = await engine()
    const proxy = await proxyOf(at)
    const once = () => enrich(proxy, 'known.example', { 'idempotency-key': 'once' })
    const [first, { status, text, headers }] = [await once(), await once()]
    expect([status, text, headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true'])
    expect(await proxy.machine.json('ledger')).toMatchObject([{ credits: 1, operation: 'accounts.enrich' }])
  })

  it('records a charge that it was killed over, once its key brings the reply again', async () => {
    const { at, bench } = await engine()
    const proxy = await proxyOf(at)
    const given = { 'idempotency-key': 'killed' }
    const call = { apiKey: at.key, idempotencyKey: 'killed' }
    await bench.caller.call('accounts.enrich', { domain: 'known.example' }, call)
    for (const _ of [1, 2])
      expect((await enrich(proxy, 'known.example', given)).headers.get('idempotent-replayed')).toBe('true')
    expect(await proxy.machine.json('ledger')).toMatchObject([{ credits: 1, calls: 1 }])
  })

  it('names the server behind it in /health', async () => {
    const { at } = await engine()
    const { baseUrl } = await proxyOf(at)
    const { json } = await ask({ baseUrl: new URL(baseUrl).origin }, '/health')
    expect(json()).toMatchObject({
      status: 'ok',
      target: 'governed',
      upstream: new URL(at.baseUrl).origin,
      idempotency: 'Idempotency-Key',
    })
  })

  it('does not start without a key for the server', async () => {
    const { at } = await engine()
    const { machine } = closeAfterTest(await servingMachine(async () => {}))
    await ends(machine.run(`serve --port 0 --upstream ${at.baseUrl}`), 3, 'no API key')
  })
})

it("a direct proxy passes the client's key on, never its own, and refuses a request without a key first", async () => {
  const seen: unknown[] = []
  const upstream = closeAfterTest(
    await answering(async (request, response) => {
      await received(request)
      if (request.url !== '/health') seen.push(request.headers['x-api-key'])
      response.end('{}')
    }),
  )
  const { baseUrl } = await proxyOf(
    { baseUrl: `${upstream.origin}/api/v2`, key: 'ours-and-nobody-elses' },
    '--direct',
  )
  await enrich({ baseUrl, key: 'theirs-alone' }, 'x.example')
  const nobodys = await fetch(`${baseUrl}/accounts/single_enrich`, { method: 'POST', body: 'no JSON' })
  expect([nobodys.status, await nobodys.json()]).toEqual([401, { error: 'Invalid API key' }])
  expect(seen).toEqual(['theirs-alone'])
})

describe('a governed proxy with the setting max_age', () => {
  const words = '--network-name linkedin --premium-name sales_navigator'
  const remember = (here: Machine): unknown => here.run('config set max_age 90d')
  /** A server with its own words for fields, and a proxy in front of it. */
  async function both(prepare = remember) {
    const server = closeAfterTest(
      await servingMachine(async (one) => void (await one.run('data sample')), ...words.split(' ')),
    )
    const { baseUrl, key, machine } = await proxyOf(server, words, prepare)
    const before = await server.machine.balance()
    const [company] = (await server.machine.run('data export companies --format ndjson')).stdout.split('\n')
    const { domain } = JSON.parse(company ?? '') as { domain: string }
    const spent = async () => before - (await server.machine.balance())
    const lookUp = (as = key) => enrich({ baseUrl, key: as }, domain)
    return { server, machine, domain, spent, lookUp }
  }

  it('pays once for equal lookups of all its users, and for those of commands and batches', async () => {
    const { server, machine, domain, spent, lookUp } = await both()
    const [first, second] = await Promise.all([lookUp(), lookUp()])
    const stored = [first, second].find(({ headers }) => headers.has('age'))
    expect(stored?.headers.get('cache-status')).toBe('prospect; hit')
    expect(second.json()).toEqual(first.json())
    expect(first.text).toContain('linkedin_url')
    expect((await lookUp('pk_of_nobody')).status).toBe(401)
    const single = await machine.run(`accounts enrich --domain ${domain} ${words}`, { env: server.env })
    expect(single.json).toMatchObject({
      domain,
      network_url: first.json<{ linkedin_url: string }>().linkedin_url,
    })
    const batch = `accounts enrich --csv - --json ${words}`
    const given = { env: server.env, stdin: `domain\n${domain}\n` }
    expect((await machine.run(batch, given)).json).toMatchObject([{ domain, _source: 'reused' }])
    expect(await spent()).toBe(1)
    expect(await machine.json('ledger')).toMatchObject([{ credits: 1, calls: 1 }])
  })

  it('pays each time without it', async () => {
    const { spent, lookUp } = await both(() => {})
    await lookUp()
    expect((await lookUp()).headers.has('cache-status')).toBe(false)
    expect(await spent()).toBe(2)
  })
})
