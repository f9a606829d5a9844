import { describe, expect, it } from 'vitest'
import { ConnectionLost } from '../../src/api/calls/caller.js'
import type { WantedFault } from '../../src/engine/admin/faults.js'
import type { FaultRules } from '../../src/engine/tables/faults.js'
import { served } from '../client/serving.js'
import { perTest } from '../support/each.js'
import { idOf, openWorked } from './fake-sender.js'

const bench = perTest(openWorked)

const enrich = (options = {}) => bench.call('accounts.enrich', { domain: 'known.example' }, options)
const wanted = (rules: FaultRules, more: Partial<WantedFault> = {}): WantedFault => ({
  where: 'accounts.enrich',
  rules,
  ...more,
})
const counts = async () => (await bench.admin.faults()).map(({ matched, fired }) => [matched, fired])

/** Returns for each of some calls whether a fault changed it. */
async function changed(calls: number): Promise<string> {
  let found = ''
  for (let at = 0; at < calls; at++)
    found += (await enrich()).headers['x-prospect-fault'] === undefined ? '.' : 'x'
  return found
}

describe('faults on demand', () => {
  it('refuse with the status and error they name, before anything is counted or charged', async () => {
    const cases: [FaultRules, number, object][] = [
      [{ status: 400 }, 400, { error: 'Refused by the fault f1' }],
      [{ status: 401 }, 401, { error: 'Invalid API key' }],
      [{ status: 402 }, 402, { code: 'insufficient_credits', top_up_url: expect.any(String) }],
      [{ status: 403 }, 403, { error: 'This API key has no access to this endpoint' }],
      [{ status: 403, code: 'workspace_limit_exceeded' }, 403, { code: 'workspace_limit_exceeded' }],
      [{ status: 409 }, 409, { code: 'idempotency_key_reused' }],
      [{ status: 422, code: 'plan_limit_reached' }, 422, { error: expect.stringContaining('Plan limit') }],
      [{ status: 429 }, 429, { error: 'Rate limit exceeded. Please wait before retrying.' }],
      [{ status: 429, network: true }, 429, { error: expect.stringContaining('by the network') }],
      [{ status: 500 }, 500, { error: 'Internal server error' }],
      [{ status: 503 }, 503, {}],
      [{ invalidSession: true }, 422, { error: expect.stringContaining('session') }],
    ]
    for (const [rules, status, body] of cases) {
      await bench.admin.applyFaults([wanted(rules)])
      const reply = await enrich()
      expect({ status: reply.status, body: reply.body }).toEqual({
        status,
        body: expect.objectContaining(body),
      })
      expect(reply.headers['x-prospect-fault']).toBe('f1')
    }
    await bench.admin.applyFaults([wanted({ status: 429, retryAfter: 7 })])
    expect((await enrich()).headers['retry-after']).toBe('7')
    expect(await bench.balance()).toBe(1_000)
    expect(bench.source.asked).toBe(0)
  })

  it('change every nth call, a share, at most a count, and for a time of the engine', async () => {
    const refuse = (rules: FaultRules) => bench.admin.applyFaults([wanted({ status: 500, ...rules })])
    await refuse({ nth: 3 })
    expect(await changed(7)).toBe('..x..x.')
    expect(await counts()).toEqual([[7, 2]])
    await refuse({ count: 2 })
    expect(await changed(4)).toBe('xx..')
    await refuse({ for: 60_000 })
    expect(await changed(2)).toBe('xx')
    bench.clock.advance(60_000)
    expect(await changed(2)).toBe('..')
    await bench.admin.clearFaults()
    expect(await changed(2)).toBe('..')
  })

  it('P55: change the same calls with the same seed, and others with another', async () => {
    const of = async (seed: number) => {
      await bench.admin.applyFaults([wanted({ status: 500, rate: 0.3 }, { seed })])
      return changed(24)
    }
    const first = await of(7)
    expect(first.split('x').length - 1).toBeGreaterThan(2)
    expect(first.split('x').length - 1).toBeLessThan(16)
    expect(await of(7)).toBe(first)
    expect(await of(8)).not.toBe(first)
  })

  it('are counted once for each call, however many come at once', async () => {
    await bench.admin.addFault(wanted({ status: 503, nth: 4 }))
    const replies = await Promise.all(Array.from({ length: 40 }, () => enrich()))
    expect(replies.filter(({ status }) => status === 503)).toHaveLength(10)
    expect(await counts()).toEqual([[40, 10]])
    expect(await bench.balance()).toBe(970)
  })

  it('change deliveries as they say, each at its first attempt', async () => {
    const { sender, worker } = bench
    bench.source.matches = 3
    const deliver = async (rules: FaultRules) => {
      sender.attempts.length = 0
      await bench.admin.applyFaults([wanted(rules, { where: 'deliveries' })])
      const search = { webhook_url: 'https://hook.example/', keyword: 'known', live: false, streaming: true }
      const { body } = await bench.call('leads.advanced_search', search)
      await worker.finish(idOf(body))
      await worker.drain()
      const deliveries = await bench.admin.deliveries({ jobId: idOf(body) }, 10)
      bench.clock.advance(60_000)
      return {
        sent: sender.bodies().map(({ ordinal }) => ordinal ?? 'end'),
        states: deliveries.map(({ state }) => state).sort(),
      }
    }
    const states = ['delivered', 'delivered', 'delivered', 'delivered']
    expect(await deliver({ lose: true, nth: 2 })).toEqual({ sent: [1, 3], states })
    expect(await deliver({ double: true, count: 1 })).toEqual({ sent: [1, 1, 2, 3, 'end'], states })
    expect(await deliver({ reorder: true, count: 1 })).toEqual({ sent: [2, 1, 3, 'end'], states })
    expect(await counts()).toEqual([[1, 1]])
    const late = { sent: [2, 3, 'end'], states: ['delivered', 'delivered', 'delivered', 'pending'] }
    expect(await deliver({ late: 60_000, count: 1 })).toEqual(late)
    sender.attempts.length = 0
    await worker.drain()
    expect(sender.bodies().map(({ ordinal }) => ordinal)).toEqual([1])
    await deliver({ badSignature: true, count: 1 })
    const [wrong, right] = sender.attempts.map(({ secrets }) => secrets[0])
    expect(wrong).toMatch(/^whsec_A+$/)
    expect(right).not.toBe(wrong)
  })

  it('lose the answer of an engine in this process as that of a server is lost', async () => {
    const cases: [FaultRules, charged: number, object, waited: number[]][] = [
      [{ drop: 'before' }, 0, { name: 'ConnectionLost', unknown: true }, []],
      [{ drop: 'after' }, 1, { name: 'ConnectionLost', unknown: true }, []],
      [{ timeout: true }, 1, { name: 'ConnectionLost', unknown: true }, [120_000]],
      [{ truncate: true }, 1, { status: 502, unknown: true }, []],
      [{ garble: true }, 1, { status: 502, unknown: true }, []],
    ]
    for (const [rules, charged, result, waited] of cases) {
      const before = await bench.balance()
      await bench.admin.applyFaults([wanted(rules)])
      expect(await enrich().catch((error: unknown) => error)).toMatchObject(result)
      expect([before - (await bench.balance()), bench.sleeps.splice(0)]).toEqual([charged, waited])
    }
  })

  it('are told apart by operation, group and member', async () => {
    const { admin } = bench
    await admin.addMember({ email: 'ann@example.com' })
    const { key } = await admin.createKey({ member: 'ann@example.com' })
    const status = async (options = {}) => (await enrich(options)).status
    for (const where of ['accounts.enrich', 'accounts', 'all']) {
      await admin.applyFaults([wanted({ status: 500 }, { where })])
      expect(await status()).toBe(500)
    }
    for (const where of ['accounts.stack', 'leads', 'deliveries']) {
      const rules = where === 'deliveries' ? { lose: true } : { status: 500 }
      await admin.applyFaults([wanted(rules, { where })])
      expect(await status()).toBe(200)
    }
    await admin.applyFaults([wanted({ status: 500 }, { member: 'Ann@example.com' })])
    expect(await status()).toBe(200)
    expect(await status({ apiKey: key })).toBe(500)
  })

  it('need a session for one that is not valid', async () => {
    await bench.admin.addFault(wanted({ invalidSession: true }, { where: 'all' }))
    await bench.call('accounts.enrich', { domain: 'known.example', live: false })
    await bench.call('credits.show', {})
    expect(await counts()).toEqual([[0, 0]])
  })

  it('leave one change to the first, and add delays to it', async () => {
    const rules = [{ delay: 2_000 }, { status: 500, nth: 2 }, { status: 503 }, { delay: 500 }]
    await bench.admin.applyFaults(rules.map((each) => wanted(each)))
    expect(await enrich()).toMatchObject({ status: 503, headers: { 'x-prospect-fault': 'f1, f3, f4' } })
    expect(await enrich()).toMatchObject({ status: 500, headers: { 'x-prospect-fault': 'f1, f2, f4' } })
    expect(bench.sleeps).toEqual([2_500, 2_500])
    expect(await counts()).toEqual([
      [2, 2],
      [2, 1],
      [2, 1],
      [2, 2],
    ])
  })

  it('belong to a workspace', async () => {
    await bench.admin.createWorkspace('Other')
    await bench.admin.useWorkspace('Other')
    await bench.admin.addFault(wanted({ status: 500 }))
    expect((await enrich()).status).toBe(200)
  })

  it('pay once for a call that is repeated with its key after its answer was lost', async () => {
    await bench.admin.addFault(wanted({ drop: 'after', count: 1 }))
    const again = () => enrich({ idempotencyKey: 'one' })
    await expect(again()).rejects.toBeInstanceOf(ConnectionLost)
    // What was answered under its key is never refused for what it asks.
    for (const rules of [{ status: 422 }, { status: 402 }, { invalidSession: true }])
      await bench.admin.addFault(wanted(rules))
    expect(await again()).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } })
    expect(await bench.balance()).toBe(999)
  })

  it.each<[WantedFault, string]>([
    [wanted({ status: 500 }, { where: 'accounts.enrik' }), 'engine.fault_where'],
    [wanted({}), 'engine.fault_empty'],
    [wanted({ lose: true }), 'engine.fault_place'],
    [wanted({ status: 500 }, { where: 'deliveries' }), 'engine.fault_place'],
    [wanted({ garble: true, drop: 'after' }), 'engine.fault_double'],
    [wanted({ drop: 'after', retryAfter: 1 }), 'engine.fault_without_status'],
    [wanted({ status: 418 }), 'engine.fault_status'],
    [wanted({ status: 500, network: true }), 'engine.fault_status'],
    [wanted({ late: 86_400_001 }, { where: 'deliveries' }), 'engine.fault_late'],
    [wanted({ status: 500 }, { member: 'nobody@example.com' }), 'engine.no_member'],
  ])('are refused when they could never happen: %j', async (fault, code) => {
    await bench.admin.addFault(wanted({ status: 500 }))
    await expect(bench.admin.applyFaults([wanted({ drop: 'after' }), fault])).rejects.toMatchObject({ code })
    expect((await bench.admin.faults()).map(({ rules }) => rules)).toEqual([{ status: 500 }])
  })
})

describe('a server with faults on demand', () => {
  const there = perTest(served)
  const post = (signal: AbortSignal | null = null) =>
    fetch(`${there.server.baseUrl}/accounts/single_enrich`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': there.bench.key },
      body: JSON.stringify({ domain: 'known.example' }),
      signal,
    })

  it.each([
    ['closes the connection before the work', { drop: 'before' }, 'fetch failed', 1_000],
    ['closes the connection after it', { drop: 'after' }, 'fetch failed', 999],
    ['sends half of a body', { truncate: true }, 'terminated', 999],
    ['sends something that is not JSON', { garble: true }, 'JSON', 999],
  ] as const)('%s', async (_, rules, failure, balance) => {
    await there.bench.admin.applyFaults([wanted(rules)])
    const answer = post().then(async (response) => {
      expect([response.status, response.headers.get('x-prospect-fault')]).toEqual([200, 'f1'])
      return response.json()
    })
    await expect(answer).rejects.toThrow(failure)
    expect(await there.bench.balance()).toBe(balance)
    await there.bench.admin.clearFaults()
    expect((await post()).status).toBe(200)
  })

  it('does the work and never answers, until its client or it gives up', async () => {
    await there.bench.admin.applyFaults([wanted({ timeout: true })])
    const patience = new AbortController()
    const given = post(patience.signal)
    const charged = async (balance: number) => {
      while ((await there.bench.balance()) > balance) await new Promise(setImmediate)
    }
    await charged(999)
    patience.abort()
    await expect(given).rejects.toThrow('aborted')
    const waiting = expect(post()).rejects.toThrow('fetch failed')
    await charged(998)
    await there.server.close()
    await waiting
  })
})
