import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Caller, ConnectionLost, type Reply } from '../../src/api/calls/caller.js'
import { ApiError } from '../../src/api/calls/errors.js'
import { windowsOf } from '../../src/api/operations/plans.js'
import { type OperationId, operation } from '../../src/api/operations/table.js'
import { corrected, type PacedOptions, paced } from '../../src/client/paced.js'
import { tries } from '../support/effort.js'
import { sharedWindows } from './windows.js'

/**
 * A server that keeps its windows as the specification says, on a clock of its own, and counts its refusals. An exact one
 * says to the millisecond when they end, as it is when it answers: after `work`.
 */
function server(
  clock: { now(): number },
  plan: string,
  { skewMs = 0, isExact = false, work = () => {} } = {},
) {
  const windows = new Map<string, { startedAt: number; count: number }>()
  const seen = { refused: 0, admitted: 0 }
  const call: Caller['call'] = async (id, input) => {
    const now = clock.now() + skewMs
    const found = windowsOf(operation(id), plan, input.live).map((window) => {
      const kept = windows.get(window.name)
      const lasts = kept && now < kept.startedAt + window.windowMs
      return { ...window, startedAt: lasts ? kept.startedAt : now, count: lasts ? kept.count : 0 }
    })
    const full = found.filter(({ count, limit }) => count >= limit)
    const counted = full.length > 0 ? full : found.map((one) => ({ ...one, count: one.count + 1 }))
    if (full.length === 0)
      for (const { name, startedAt, count } of counted) windows.set(name, { startedAt, count })
    seen[full.length > 0 ? 'refused' : 'admitted']++
    const [least] = [...counted].sort(
      (a, b) =>
        a.limit - a.count - (b.limit - b.count) || b.startedAt + b.windowMs - (a.startedAt + a.windowMs),
    )
    if (!least) return accepted
    work()
    const left = (least.startedAt + least.windowMs - clock.now() - skewMs) / 1_000
    const reset = String(Math.max(1, Math.ceil(left)))
    const headers = {
      'ratelimit-limit': String(least.limit),
      'ratelimit-remaining': String(Math.max(0, least.limit - least.count)),
      'ratelimit-reset': reset,
      ...(isExact ? { 'x-ratelimit-reset-after': Math.max(0, left).toFixed(3) } : {}),
      ...(full.length > 0 ? { 'retry-after': reset } : {}),
    }
    return { status: full.length > 0 ? 429 : 200, body: {}, headers, credits: 0 }
  }
  return { call, seen }
}

const start = Date.parse('2026-03-10T12:00:00Z')

/** A clock that the test advances. */
function hand() {
  let at = start
  const wait = (ms: number): void => {
    at += ms
  }
  return { now: () => at, wait }
}

/** A caller that paces the calls of another one. */
const pacing = (
  call: Caller['call'],
  { windows = sharedWindows(), clock = hand(), plan }: Partial<Parameters<typeof paced>[0]> = {},
): Caller => paced({ windows, origin: 'o', clock, plan })({ call, close: async () => {} })

/** A caller that paces calls to a server of the plan, on one clock with it. */
function pacedServer(plan: string, options?: Parameters<typeof server>[2]) {
  const clock = hand()
  const { call, seen } = server(clock, plan, options)
  return { clock, call, seen, slow: pacing(call, { clock, plan }) }
}

/** A caller whose calls go on when `replies` are called. */
function held(call: Caller['call']) {
  const replies: (() => void)[] = []
  const late: Caller['call'] = (...asked) =>
    new Promise((resolve) => replies.push(() => resolve(call(...asked))))
  return { replies, late }
}

/** Lists personas so many times, one after the other; returns the replies. */
async function listing(slow: Caller, times: number): Promise<Reply[]> {
  const replies: Reply[] = []
  for (let count = 0; count < times; count++) replies.push(await slow.call('personas.list', {}))
  return replies
}

const statusesOf = (replies: readonly Reply[]) => replies.map(({ status }) => status)
const hiringAt = (slow: Caller) => () => slow.call('accounts.hiring', { domain: 'a.example' })

const accepted: Reply = { status: 200, body: {}, headers: {}, credits: 0 }
const waitOf = ({ headers }: Reply): number => Number(headers['retry-after']) * 1_000

describe('a paced caller', () => {
  it('answers 429 without asking the server when a rate window is full', async () => {
    const { slow, seen } = pacedServer('basic')
    const replies = await listing(slow, 4)
    expect(statusesOf(replies)).toEqual([200, 200, 429, 429])
    expect(replies[3]).toMatchObject({
      body: { error: 'Rate limit exceeded. Please wait before retrying.' },
      headers: {
        'ratelimit-limit': '2',
        'ratelimit-remaining': '0',
        'ratelimit-reset': '60',
        'retry-after': '60',
      },
    })
    expect(seen).toEqual({ refused: 0, admitted: 2 })
  })

  it('keeps separate rate windows for each key and each group of operations', async () => {
    const slow = pacing(async () => accepted, { plan: 'free' })
    const status = async (id: OperationId, apiKey: string) => (await slow.call(id, {}, { apiKey })).status
    expect(await status('personas.list', 'a')).toBe(200)
    expect(await status('personas.list', 'b')).toBe(200)
    expect(await status('accounts.search', 'a')).toBe(200)
    expect(await status('accounts.search_preview', 'a')).toBe(429)
  })

  it('learns the limit from the server when the plan is not given or wrong', async () => {
    for (const plan of [undefined, 'scale']) {
      const { call, clock, seen } = pacedServer('basic')
      const slow = pacing(call, { clock, plan })
      await listing(slow, 5)
      expect(seen).toEqual({ refused: 0, admitted: 2 })
    }
  })

  it('sends one request to learn the limit, and holds the others back meanwhile', async () => {
    const { call, clock, seen } = pacedServer('basic')
    const { replies, late } = held(call)
    const slow = pacing(late, { clock })
    const first = slow.call('personas.list', {})
    await new Promise(setImmediate)
    const second = await slow.call('personas.list', {})
    expect(second).toMatchObject({ status: 429, waitMs: 50, headers: { 'retry-after': '1' } })
    expect(second.headers['ratelimit-limit']).toBeUndefined()
    replies[0]?.()
    expect((await first).status).toBe(200)
    const third = slow.call('personas.list', {})
    await new Promise(setImmediate)
    expect((await slow.call('personas.list', {})).headers['ratelimit-limit']).toBe('2')
    replies[1]?.()
    expect((await third).status).toBe(200)
    expect(seen).toEqual({ refused: 0, admitted: 2 })
  })

  it('asks for the limit again after ten seconds, since the process that asked may have been killed', async () => {
    const { call, clock } = pacedServer('basic')
    const shared = { windows: sharedWindows(), clock }
    void pacing(() => new Promise(() => {}), shared).call('personas.list', {})
    await new Promise(setImmediate)
    const { replies, late } = held(call)
    const slow = pacing(late, shared)
    clock.wait(9_999)
    expect(await slow.call('personas.list', {})).toMatchObject({ status: 429, waitMs: 50 })
    clock.wait(1)
    const first = slow.call('personas.list', {})
    await new Promise(setImmediate)
    expect(await slow.call('personas.list', {})).toMatchObject({ status: 429, waitMs: 50 })
    replies[0]?.()
    expect((await first).status).toBe(200)
  })

  it('does not wait for a limit that the server never states, nor for a lost reply', async () => {
    let isLost = true
    const slow = pacing(() => (isLost ? Promise.reject(new Error('lost')) : Promise.resolve(accepted)))
    await expect(slow.call('personas.list', {})).rejects.toThrow('lost')
    isLost = false
    expect(statusesOf(await listing(slow, 5))).toEqual([200, 200, 200, 200, 200])
  })

  it('opens the next rate window only after a request of it was answered', async () => {
    const { call, clock, seen } = pacedServer('growth')
    const { replies, late } = held(call)
    const slow = pacing(late, { clock, plan: 'growth' })
    const ask = hiringAt(slow)
    const first = Array.from({ length: 5 }, ask)
    await new Promise(setImmediate)
    clock.wait(2_500)
    expect(await ask()).toMatchObject({ status: 429, waitMs: 50 })
    for (const reply of replies.splice(0)) reply()
    expect(statusesOf(await Promise.all(first))).toEqual(Array(5).fill(200))
    clock.wait(900)
    expect(await ask()).toMatchObject({ status: 429, waitMs: 100 })
    clock.wait(100)
    const next = Array.from({ length: 5 }, ask)
    await new Promise(setImmediate)
    for (const reply of replies.splice(0)) reply()
    expect(statusesOf(await Promise.all(next))).toEqual(Array(5).fill(200))
    expect(seen).toEqual({ refused: 0, admitted: 10 })
  })

  it('opens the next window on time when the server sends no headers, and recovers from a killed process', async () => {
    const clock = hand()
    const shared = { windows: sharedWindows(), clock, plan: 'growth' }
    const slow = pacing(async () => accepted, shared)
    const killed = pacing(() => new Promise(() => {}), shared)
    const ask = hiringAt(slow)
    for (let window = 0; window < 3; window++) {
      for (let count = 0; count < 5; count++) expect((await ask()).status).toBe(200)
      expect(await ask()).toMatchObject({ status: 429, waitMs: 1_000 })
      clock.wait(1_000)
    }
    for (let count = 0; count < 5; count++) void hiringAt(killed)()
    await new Promise(setImmediate)
    clock.wait(10_999)
    expect((await ask()).status).toBe(429)
    clock.wait(1)
    expect((await ask()).status).toBe(200)
  })

  it('never paces an operation without a limit', async () => {
    const untouched: PacedOptions['windows'] = { change: () => Promise.reject(new Error('asked')) }
    const slow = pacing(async () => accepted, { windows: untouched, plan: 'free' })
    expect((await slow.call('credits.show', {})).status).toBe(200)
  })

  it('returns the answer also when the windows cannot be written', async () => {
    const lost = new ConnectionLost('cut')
    const replies = [Promise.resolve({ ...accepted, credits: 1 }), Promise.reject(lost)] as const
    const answers = await Promise.allSettled(
      replies.map((reply) => {
        const windows = sharedWindows()
        let changes = 0
        const full: PacedOptions['windows'] = {
          change: (...asked) =>
            changes++ === 0 ? windows.change(...asked) : Promise.reject(new ApiError('busy')),
        }
        return hiringAt(pacing(() => reply, { windows: full, plan: 'basic' }))()
      }),
    )
    expect(answers).toMatchObject([{ value: { status: 200, credits: 1 } }, { reason: lost }])
  })

  it('counts what other clients used of the same window', async () => {
    const { call, slow, seen } = pacedServer('build')
    for (let count = 0; count < 8; count++) await call('personas.list', {})
    await listing(slow, 5)
    expect(seen).toEqual({ refused: 0, admitted: 10 })
  })

  it('two paced processes are never refused by the server, and waste little time', async () => {
    const arrivals = fc.array(fc.nat({ max: 20_000 }), { minLength: 5, maxLength: 40 })
    const ids = fc.constantFrom<OperationId>(
      'personas.list',
      'accounts.headcount',
      'leads.advanced_search_preview',
      'leads.extract',
    )
    await fc.assert(
      fc.asyncProperty(
        arrivals,
        ids,
        fc.constantFrom('basic', 'build', 'growth'),
        fc.record({ skewMs: fc.nat(999), isExact: fc.boolean(), workMs: fc.constantFrom(0, 30, 400) }),
        async (gaps, id, plan, { workMs, ...kind }) => {
          const clock = hand()
          const { call, seen } = server(clock, plan, { ...kind, work: () => clock.wait(workMs) })
          const windows = sharedWindows()
          const processes = [0, 1].map(() => pacing(call, { windows, clock, plan }))
          for (const [at, gap] of gaps.entries()) {
            clock.wait(gap)
            for (;;) {
              const reply = await (processes[at % 2] as Caller).call(id, {})
              if (reply.status === 200) break
              clock.wait(waitOf(reply))
            }
          }
          expect(seen).toEqual({ refused: 0, admitted: gaps.length })
        },
      ),
      { numRuns: tries(37, 150) },
    )
  })

  it('lets 250 calls of two processes through within 1.05 times the ideal time', async () => {
    const clock = hand()
    const { call, seen } = server(clock, 'growth', { skewMs: 400 })
    const windows = sharedWindows()
    const processes = [0, 1].map(() => pacing(call, { windows, clock, plan: 'growth' }))
    for (let done = 0; done < 250; ) {
      const reply = await (processes[done % 2] as Caller).call('personas.list', {})
      clock.wait(reply.status === 200 ? 7 : waitOf(reply))
      if (reply.status === 200) done++
    }
    expect(seen).toEqual({ refused: 0, admitted: 250 })
    expect(clock.now() - start).toBeLessThan(120_000 * 1.05)
  })

  it.each([false, true])(
    'loses no time to slow answers where the server states milliseconds: %s',
    async (isExact) => {
      const clock = hand()
      const { call, seen } = server(clock, 'growth', { isExact, work: () => clock.wait(50) })
      const slow = pacing(call, { clock, plan: 'growth' })
      for (let done = 0; done < 60; ) {
        const { status, waitMs } = await hiringAt(slow)()
        if (status === 200) done++
        else clock.wait(waitMs ?? 0)
      }
      expect(seen).toEqual({ refused: 0, admitted: 60 })
      const [least, tookMs] = [11_000 + 5 * 50, clock.now() - start]
      if (isExact) expect(tookMs).toBeLessThanOrEqual(least + 11 * 5)
      else expect(tookMs).toBeGreaterThanOrEqual(least + 11 * 50)
    },
  )

  it.each([
    [false, 1],
    [true, 0],
  ])(
    'finds out that a window ended while an answer was on its way, exact %s: %i refused',
    async (isExact, refused) => {
      const { call, clock, seen } = pacedServer('growth', { isExact })
      const wayMs = [300]
      const far: Caller['call'] = async (...asked) => {
        const reply = await call(...asked)
        clock.wait(wayMs.shift() ?? 0)
        return reply
      }
      const slow = pacing(far, { clock, plan: 'growth' })
      const ask = hiringAt(slow)
      await ask()
      // It ended at 1,000, and as this machine knows not before 1,300: this request opens the next one.
      clock.wait(850)
      await ask()
      clock.wait(170)
      await Promise.all(Array.from({ length: 5 }, ask))
      expect(seen.refused).toBe(refused)
    },
  )

  it.each(['soon', '-0.500', '0.5', '1.001', '58.999', '1e9.000'])(
    'ignores a reset time in milliseconds that is malformed or contradicts the seconds: %s',
    async (more) => {
      const limits = { 'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'ratelimit-reset': '1' }
      const headers = { ...limits, 'x-ratelimit-reset-after': more }
      const slow = pacing(async () => ({ ...accepted, headers }))
      await slow.call('personas.list', {})
      expect(await slow.call('personas.list', {})).toMatchObject({ status: 429, waitMs: 1_000 })
    },
  )

  it.each([
    ['of a minute', '30', [7, undefined]],
    ['of a second', '1', [undefined, 7]],
    ['of neither', '90', [undefined, undefined]],
  ])('takes a limit that it does not know for the one %s, after which window it ends', (_, reset, limits) => {
    const windows = [
      { name: 'plan', limit: 60, windowMs: 60_000 },
      { name: 'own', limit: 5, windowMs: 1_000 },
    ]
    const headers = { 'ratelimit-limit': '7', 'ratelimit-remaining': '0', 'ratelimit-reset': reset }
    const known = corrected(windows, [undefined, undefined], { ...accepted, headers }, undefined, 0)
    expect(known.map((one) => one?.most)).toEqual(limits)
  })

  it.each([
    [40_000, 41_000],
    [10_000, 31_000],
  ])(
    'takes a window for full after a 429, until the later of its reset time and Retry-After: %i',
    (waitMs, endsAt) => {
      const known = { endsAt: 20_000, count: 1, most: 5, confirmed: true }
      const headers = { 'ratelimit-limit': '5', 'ratelimit-remaining': '3', 'ratelimit-reset': '30' }
      const windows = [{ name: 'plan', limit: 5, windowMs: 60_000 }]
      const after = corrected(windows, [known], { ...accepted, status: 429, headers }, waitMs, 1_000)
      expect(after).toEqual([{ endsAt, count: 5, most: 5, confirmed: true }])
    },
  )

  it('keeps the count when the clock goes back, and sends again after one length of the window', async () => {
    const [clock, real] = [hand(), hand()]
    const slow = pacing(server(real, 'free').call, { clock, plan: 'free' })
    await slow.call('personas.list', {})
    clock.wait(-3_600_000)
    const waits: number[] = []
    for (let reply = await slow.call('personas.list', {}); reply.status === 429; ) {
      waits.push(reply.waitMs ?? 0)
      for (const each of [clock, real]) each.wait(10_000)
      reply = await slow.call('personas.list', {})
    }
    expect(waits[0]).toBeLessThanOrEqual(70_000)
    expect(waits).toEqual(waits.map((_, at) => (waits[0] ?? 0) - at * 10_000))
  })
})
