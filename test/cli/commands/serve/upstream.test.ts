import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { WantedFault } from '../../../../src/engine/admin/faults.js'
import { answering, closeAfterTest, received } from '../../../client/listeners.js'
import { served } from '../../../client/serving.js'
import { ends, type Machine } from '../../../support/command.js'
import { tries } from '../../../support/effort.js'
import { proxyOf, servingMachine } from '../../call/serving.js'

const engine = async () => {
  const { bench, server } = closeAfterTest(await served())
  return { bench, at: { baseUrl: server.baseUrl, key: bench.key } }
}

/** Nothing is answered. */
const silent: WantedFault = { where: 'all', rules: { timeout: true } }

async function ask(
  baseUrl: string,
  path: string,
  body: object | undefined,
  headers: Record<string, string>,
): Promise<{ status: number; text: string; headers: Headers }> {
  const given = { 'content-type': 'application/json', ...headers }
  const method = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(baseUrl + path, { ...method, headers: given })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

const enrich = (baseUrl: string, domain: string, headers: Record<string, string>) =>
  ask(baseUrl, '/accounts/single_enrich', { domain }, headers)

describe('a governed proxy', () => {
  it('accepts keys of its workspace only, and calls the server with its own key', async () => {
    const { bench, at } = await engine()
    const { baseUrl, key } = await proxyOf(at)
    const asked = [
      await enrich(baseUrl, 'known.example', {}),
      await enrich(baseUrl, 'known.example', { 'x-api-key': bench.key }),
      await enrich(baseUrl, 'known.example', { 'x-api-key': key }),
    ]
    expect(asked.map(({ status }) => status)).toEqual([401, 401, 200])
    expect(JSON.parse(asked[2]?.text ?? '')).toMatchObject({ domain: 'known.example' })
    expect(await bench.balance()).toBe(999)
  })

  it('gives up a server that does not answer within --timeout', async () => {
    const { bench, at } = await engine()
    await bench.admin.addFault(silent)
    const { baseUrl, key } = await proxyOf(at, '--timeout 0.2')
    expect((await enrich(baseUrl, 'known.example', { 'x-api-key': key })).status).toBe(502)
  })

  it('gives up all attempts at a server that does not answer after 150 s without --timeout', async () => {
    const timeout = AbortSignal.timeout
    const limits = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => timeout.call(AbortSignal, ms === 150_000 ? 100 : ms))
    onTestFinished(() => limits.mockRestore())
    const { bench, at } = await engine()
    await bench.admin.addFault(silent)
    const { baseUrl, key } = await proxyOf(at)
    expect((await ask(baseUrl, '/credits', undefined, { 'x-api-key': key })).status).toBe(502)
  })

  it('limits a key to its scopes', async () => {
    const { bench, at } = await engine()
    const { baseUrl, machine } = await proxyOf(at)
    const { key } = await machine.json<{ key: string }>(
      'engine keys create --member me@localhost --scope credits',
    )
    expect((await ask(baseUrl, '/credits', undefined, { 'x-api-key': key })).status).toBe(200)
    const refused = await enrich(baseUrl, 'known.example', { 'x-api-key': key })
    expect([refused.status, JSON.parse(refused.text).code]).toEqual([403, undefined])
    expect(await bench.balance()).toBe(1_000)
  })

  it('records a charge once, and not again for a replay', async () => {
    const { at } = await engine()
    const { baseUrl, key, machine } = await proxyOf(at)
    const headers = { 'x-api-key': key, 'idempotency-key': 'once' }
    const [first, again] = [
      await enrich(baseUrl, 'known.example', headers),
      await enrich(baseUrl, 'known.example', headers),
    ]
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
      200,
      first.text,
      'true',
    ])
    expect(await machine.json('ledger')).toMatchObject([{ credits: 1, operation: 'accounts.enrich' }])
  })

  it('keeps to the rate windows of the server without calling it', async () => {
    const { bench, at } = await engine()
    await bench.admin.setPlan('Free')
    const { baseUrl, key } = await proxyOf(at)
    const asked = [1, 2, 3].map(() => ask(baseUrl, '/personas', undefined, { 'x-api-key': key }))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 429, 429])
  })

  it('names the server behind it in /health', async () => {
    const { at } = await engine()
    const { baseUrl } = await proxyOf(at)
    const { text } = await ask(new URL(baseUrl).origin, '/health', undefined, {})
    expect(JSON.parse(text)).toMatchObject({
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

describe('a direct proxy', () => {
  it("passes the client's key on, and never its own", async () => {
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
    await enrich(baseUrl, 'x.example', { 'x-api-key': 'theirs-alone' })
    await enrich(baseUrl, 'x.example', {})
    expect(seen).toEqual(['theirs-alone', undefined])
  })

  it.each([
    [tries(5, 20), 200],
    [33, 502],
  ])('answers a reply of %i MiB with %i', async (mebibytes, status) => {
    const text = `{"name":"${'x'.repeat(mebibytes * 1_048_576)}","domain":"x.example"}`
    const upstream = closeAfterTest(await answering((_request, response) => response.end(text)))
    const { baseUrl } = await proxyOf({ baseUrl: `${upstream.origin}/api/v2`, key: 'unused-key' }, '--direct')
    const answer = await enrich(baseUrl, 'x.example', { 'x-api-key': 'theirs-alone' })
    expect([answer.status, answer.text === text]).toEqual([status, status === 200])
  })

  it('answers like the engine behind a second proxy', async () => {
    const { bench, at } = await engine()
    const inner = await proxyOf(at)
    const { baseUrl } = await proxyOf({ ...inner, key: 'unused-key' }, '--direct')
    const asked = await enrich(baseUrl, 'nobody.example', { 'x-api-key': inner.key })
    const itself = await enrich(at.baseUrl, 'nobody.example', { 'x-api-key': bench.key })
    expect([asked.status, asked.text]).toEqual([itself.status, itself.text])
  })

  it('uses the field names of a server on both sides', async () => {
    const words = '--network-name linkedin --premium-name sales_navigator'
    const inner = closeAfterTest(await servingMachine(async () => {}, ...words.split(' ')))
    const { baseUrl } = await proxyOf({ ...inner, key: 'unused-key' }, `--direct ${words}`)
    const { text } = await ask(baseUrl, '/account', undefined, { 'x-api-key': inner.key })
    expect(JSON.parse(text).integrations).toEqual({
      linkedin_session_valid: true,
      sales_navigator_session_valid: true,
    })
    const missing = await ask(baseUrl, '/accounts/count_profiles', {}, { 'x-api-key': inner.key })
    expect([missing.status, missing.text]).toEqual([400, expect.stringContaining('company_linkedin_id')])
    expect(missing.text + text).not.toContain('network')
  })
})

describe('a governed proxy with the setting max_age', () => {
  const words = '--network-name linkedin --premium-name sales_navigator'
  const remember = (here: Machine): unknown => here.run('config set max_age 90d')
  /** A server with its own words for fields, and a proxy in front of it. */
  async function both(prepare = remember) {
    const server = closeAfterTest(
      await servingMachine(
        async (one) => void (await one.run('data sample --companies 20 --people 20')),
        ...words.split(' '),
      ),
    )
    const { baseUrl, key, machine } = await proxyOf(server, words, prepare)
    const before = await server.machine.balance()
    const [company] = (await server.machine.run('data export companies --format ndjson')).stdout.split('\n')
    const { domain } = JSON.parse(company ?? '') as { domain: string }
    const spent = async () => before - (await server.machine.balance())
    const lookUp = (as = key) => enrich(baseUrl, domain, { 'x-api-key': as })
    return { server, machine, domain, spent, lookUp }
  }

  it('pays once for equal lookups of all its users, and for those of commands and batches', async () => {
    const { server, machine, domain, spent, lookUp } = await both()
    const [first, second] = await Promise.all([lookUp(), lookUp()])
    const stored = [first, second].find(({ headers }) => headers.has('age'))
    expect(stored?.headers.get('cache-status')).toBe('prospect; hit')
    expect(JSON.parse(second.text)).toEqual(JSON.parse(first.text))
    expect(first.text).toContain('linkedin_url')
    expect((await lookUp('pk_of_nobody')).status).toBe(401)
    const given = { env: { PROSPECT_API_KEY: server.key, PROSPECT_BASE_URL: server.baseUrl } }
    const single = await machine.run(`accounts enrich --domain ${domain} ${words}`, given)
    expect(single.json).toMatchObject({ domain, network_url: JSON.parse(first.text).linkedin_url })
    const batch = `accounts enrich --csv - --json ${words}`
    expect((await machine.run(batch, { ...given, stdin: `domain\n${domain}\n` })).json).toMatchObject([
      { domain, _source: 'reused' },
    ])
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
