import { describe, expect, it } from 'vitest'
import { type Caller, ConnectionLost, compose, type Reply } from '../../src/api/calls/caller.js'
import { governed } from '../../src/client/governed.js'
import type { FaultRules } from '../../src/engine/tables/faults.js'
import { openState } from '../../src/storage/state/open.js'
import { serverMemory } from '../../src/storage/state/remote-servers.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { accepting, closeAfterTest } from './listeners.js'
import { remoteTo, served } from './serving.js'

const real = perTest(served)

const lost: readonly FaultRules[] = [
  { drop: 'after' },
  { timeout: true },
  { truncate: true },
  { garble: true },
]
const faults: readonly FaultRules[] = [
  { drop: 'before' },
  { delay: 50 },
  { status: 500 },
  { status: 503 },
  ...lost,
]

/** Changes nothing, but counts the calls. */
const counter: FaultRules = { delay: 0, nth: 1_000_000 }

/** A remote of the server, which fails as the rules say; the first that applies to a call changes it. */
async function failing(rules: readonly FaultRules[], options: Parameters<typeof remoteTo>[1] = {}, seed = 0) {
  await real.bench.admin.applyFaults([counter, ...rules].map((one) => ({ where: 'all', rules: one, seed })))
  return closeAfterTest(remoteTo(real.server.baseUrl, { timeoutMs: 1_500, ...options }))
}

/** How many calls the server got since its faults were set. */
const attempts = async () => (await real.bench.admin.faults())[0]?.matched

const enrich = (remote: Caller, domain: string, idempotencyKey?: string): Promise<Reply> =>
  remote.call('accounts.enrich', { domain }, { apiKey: real.bench.key, idempotencyKey })

/** How a call ended: its status, or whether its outcome is known. */
const ended = (call: Promise<Reply>): Promise<number | 'unknown' | 'not sent'> =>
  call.then(
    ({ status, unknown }) => (unknown ? 'unknown' : status),
    (error: unknown) => {
      if (error instanceof ConnectionLost) return error.unknown ? 'unknown' : 'not sent'
      throw error
    },
  )

describe('a paid call over a faulty connection', () => {
  it.each(faults)('takes effect once when its first attempt meets this fault: %j', async (fault) => {
    const remote = await failing([{ ...fault, count: 1 }])
    expect(await ended(enrich(remote, 'known.example'))).toBe(200)
    expect([await real.bench.balance(), real.bench.source.asked]).toEqual([999, 1])
  })

  it.each([...lost, { status: 500 }] as const)(
    'is sent once when the server takes no idempotency keys, and its outcome is unknown: %j',
    async (fault) => {
      const remote = await failing([{ ...fault, count: 1 }], { idempotency: 'none' })
      expect(await ended(enrich(remote, 'known.example'))).toBe('unknown')
      expect(await attempts()).toBe(1)
    },
  )

  it('is sent at most four times, and then its outcome is unknown', async () => {
    const rules: FaultRules[] = [{ drop: 'after' }, { status: 503 }, { timeout: true }, { status: 500 }]
    const inTurn = rules.map((one) => ({ ...one, count: 1 }))
    const remote = await failing(inTurn, { idempotency: 'Idempotency-Key' })
    expect(await ended(enrich(remote, 'known.example', 'key'))).toBe('unknown')
    expect(await attempts()).toBe(4)
    expect(await ended(enrich(remote, 'known.example', 'key'))).toBe(200)
    expect(await real.bench.balance()).toBe(999)
  })

  it('reports an outcome as unknown when an attempt may have worked and the last one could not be sent', async () => {
    const faulty = await accepting((socket) => socket.once('data', () => socket.destroy()))
    const remote = remoteTo(faulty.baseUrl, {
      idempotency: 'Idempotency-Key',
      sleep: () => faulty.close(),
    })
    expect(await ended(enrich(remote, 'x.example'))).toBe('unknown')
    await remote.close()
  })
})

const callsInAll = tries(50, 1_000)

/** Repeats a call until it is answered, as running the command again does. Returns the number of tries. */
async function settled(remote: Caller, at: number): Promise<number> {
  const domain = `known-${at}.example`
  for (let runs = 1; ; runs++) {
    const call = enrich(remote, domain)
    const end = await ended(call)
    if (end === 200) {
      expect((await call).body).toMatchObject({ domain })
      return runs
    }
    expect(end).toMatch(/unknown|not sent/)
    expect(runs).toBeLessThan(20)
  }
}

describe('many calls over a faulty connection', () => {
  const seed = Math.floor(Math.random() * 1_000_000)

  it(`are charged once each, whatever faults the connection has (seed ${seed})`, async () => {
    const rates = [0.2, 0.05, 0.04, 0.04, 0.2, 0.02, 0.05, 0.06]
    const rules = faults.map((one, at) => ({ ...one, rate: rates[at] }))
    await real.bench.admin.setCredits(2 * callsInAll)
    const before = { balance: await real.bench.balance(), asked: real.bench.source.asked }
    const server = await failing(rules, {}, seed)
    const { origin } = real.server
    const state = closeAfterTest(await openState(':memory:'))
    const memory = serverMemory(state, origin)
    const remote = compose(
      governed({ memory, origin, ids: randomIds, clock: { now: () => Date.now() } }),
      server,
    )
    const left = Array.from({ length: callsInAll }, (_, at) => at)
    const runs: number[] = []
    const work = async () => {
      for (let at = left.pop(); at !== undefined; at = left.pop()) runs.push(await settled(remote, at))
    }
    await Promise.all(Array.from({ length: 16 }, work))
    // Each call is sent four times at most each time it is repeated.
    expect(await attempts()).toBeLessThanOrEqual(4 * runs.reduce((sum, count) => sum + count, 0))
    const open = await state.read((connection) => connection.all('SELECT * FROM open_calls'))
    expect(open).toEqual([])
    expect(before.balance - (await real.bench.balance())).toBe(callsInAll)
    expect(real.bench.source.asked - before.asked).toBe(callsInAll)
  })

  it('do not multiply the load of a server that is down', async () => {
    const remote = await failing([{ status: 503 }], { idempotency: 'Idempotency-Key' })
    for (let at = 0; at < 200; at++)
      expect(await ended(enrich(remote, 'known.example', `key-${at}`))).toBe('unknown')
    expect(await attempts()).toBeLessThanOrEqual(240)
  })
})

describe('a read over a faulty connection', () => {
  it.each(faults)('is repeated after this fault: %j', async (fault) => {
    const remote = await failing([{ ...fault, count: 1 }])
    expect(await ended(remote.call('credits.show', {}, { apiKey: real.bench.key }))).toBe(200)
  })
})
