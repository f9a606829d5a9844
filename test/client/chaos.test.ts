import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Caller, ConnectionLost, compose, type Reply } from '../../src/api/calls/caller.js'
import { governed } from '../../src/client/governed.js'
import type { Remote } from '../../src/client/remote.js'
import { openState } from '../../src/storage/state/open.js'
import { serverMemory } from '../../src/storage/state/remote-servers.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { type Chaos, chaosTo, type Fault, faults } from './chaos.js'
import { accepting } from './listeners.js'
import { remoteTo, served } from './serving.js'

const real = perTest(served)

/** Runs `work` with a remote behind a proxy that injects the faults in order, and none after the last. */
async function through<T>(
  next: () => Fault,
  work: (remote: Remote, chaos: Chaos) => Promise<T>,
  { tellsHealth, ...options }: Parameters<typeof remoteTo>[1] & { readonly tellsHealth?: boolean } = {},
): Promise<T> {
  const chaos = await chaosTo(real.server.origin, next, tellsHealth)
  const remote = remoteTo(`http://127.0.0.1:${chaos.port}/api/v2`, { timeoutMs: 1_500, ...options })
  try {
    return await work(remote, chaos)
  } finally {
    await remote.close()
    await chaos.close()
  }
}

const inTurn = (...given: readonly Fault[]) => {
  const left = [...given]
  return () => left.shift() ?? 'none'
}

const enrich = (remote: Remote, domain: string, idempotencyKey?: string): Promise<Reply> =>
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
  it.each(faults)(
    'a paid call takes effect once when its first attempt meets this fault: %s',
    async (fault) => {
      await through(inTurn(fault), async (remote) => {
        expect(await ended(enrich(remote, 'known.example'))).toBe(200)
      })
      expect([await real.bench.balance(), real.bench.source.asked]).toEqual([999, 1])
    },
  )

  it.each(['reset after', 'stall', 'truncate', 'garbage', 'list', '500', '502', '504'] as const)(
    'sends a paid call once when the server may ignore idempotency keys, and reports its outcome as unknown: %s',
    async (fault) => {
      await through(
        inTurn(fault),
        async (remote, chaos) => {
          expect(await ended(enrich(remote, 'known.example', 'key'))).toBe('unknown')
          expect(chaos.attempts.get('key')).toBe(1)
        },
        { tellsHealth: false },
      )
    },
  )

  it('sends a paid call at most four times, and then reports its outcome as unknown', async () => {
    const work = async (remote: Remote, chaos: Chaos) => {
      expect(await ended(enrich(remote, 'known.example', 'key'))).toBe('unknown')
      expect(chaos.attempts.get('key')).toBe(4)
      expect(await ended(enrich(remote, 'known.example', 'key'))).toBe(200)
    }
    await through(inTurn('reset after', '503', 'stall', '502'), work, { idempotency: 'Idempotency-Key' })
    expect(await real.bench.balance()).toBe(999)
  })

  it('reports an outcome as unknown when an attempt may have worked and the last one could not be sent', async () => {
    const faulty = await accepting((socket) => socket.once('data', () => socket.destroy()))
    const remote = remoteTo(`http://127.0.0.1:${faulty.port}/api/v2`, {
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
    let answer: Reply | undefined
    const end = await ended(
      remote.call('accounts.enrich', { domain }, { apiKey: real.bench.key }).then((reply) => {
        answer = reply
        return reply
      }),
    )
    if (end === 200) {
      expect(answer?.body).toMatchObject({ domain })
      return runs
    }
    expect(end).toMatch(/unknown|not sent/)
    expect(runs).toBeLessThan(20)
  }
}

describe('many calls over a faulty connection', () => {
  it('charges each call once, whatever faults the connection has', async () => {
    const weights: readonly (readonly [Fault, number])[] = [
      ['reset before', 20],
      ['reset after', 20],
      ['truncate', 5],
      ['stall', 2],
      ['delay', 5],
      ['garbage', 4],
      ['list', 2],
      ['asked twice', 4],
      ['answered twice', 4],
      ['500', 2],
      ['502', 2],
      ['503', 2],
      ['504', 2],
      ['none', 26],
    ]
    const fault = fc.oneof(...weights.map(([one, weight]) => ({ arbitrary: fc.constant(one), weight })))
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fault), async (stream) => {
        const next = () => stream.next().value ?? 'none'
        await real.bench.admin.setCredits(2 * callsInAll)
        const before = { balance: await real.bench.balance(), asked: real.bench.source.asked }
        const state = await openState(':memory:')
        await through(next, async (server, chaos) => {
          const origin = `http://127.0.0.1:${chaos.port}`
          const memory = serverMemory(state, origin)
          const remote = compose(
            governed({
              memory,
              origin,
              ids: randomIds,
              clock: { now: () => Date.now() },
            }),
            server,
          )
          const left = Array.from({ length: callsInAll }, (_, at) => at)
          const runs: number[] = []
          const work = async () => {
            for (let at = left.pop(); at !== undefined; at = left.pop()) runs.push(await settled(remote, at))
          }
          await Promise.all(Array.from({ length: 16 }, work))
          // Each call was sent under one key, however often it had to be repeated, and four times at most each time.
          const keyed = [...chaos.attempts].filter(([name]) => !name.startsWith('/'))
          expect(keyed).toHaveLength(callsInAll)
          expect(keyed.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(
            4 * runs.reduce((sum, count) => sum + count, 0),
          )
          const open = await state.read((connection) => connection.all('SELECT * FROM open_calls'))
          expect(open).toEqual([])
        })
        await state.close()
        expect(before.balance - (await real.bench.balance())).toBe(callsInAll)
        expect(real.bench.source.asked - before.asked).toBe(callsInAll)
      }),
      { numRuns: 1 },
    )
  })

  it('does not multiply the load of a server that is down', async () => {
    await through(
      () => '503',
      async (remote, chaos) => {
        const ends = []
        for (let at = 0; at < 200; at++) ends.push(await ended(enrich(remote, 'known.example', `key-${at}`)))
        expect(new Set(ends)).toEqual(new Set(['unknown']))
        const keyed = [...chaos.attempts].filter(([name]) => name.startsWith('key-'))
        expect(keyed.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(240)
      },
      { idempotency: 'Idempotency-Key' },
    )
  })
})

describe('a read over a faulty connection', () => {
  it.each(faults.filter((fault) => fault !== 'none'))(
    'retries a read after this fault: %s',
    async (fault) => {
      await through(inTurn(fault), async (remote) => {
        expect(await ended(remote.call('credits.show', {}, { apiKey: real.bench.key }))).toBe(200)
      })
    },
  )
})
