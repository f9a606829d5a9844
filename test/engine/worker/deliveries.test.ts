import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeliveryAttempt } from '../../../src/api/ports/ports.js'
import { buildBodies } from '../../../src/engine/jobs/payloads.js'
import {
  claimDelivery,
  type Delivery,
  insertDeliveries,
  listDeliveries,
} from '../../../src/engine/tables/deliveries.js'
import { schedule } from '../../../src/engine/worker/attempt-delivery.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { until } from '../../support/until.js'
import { answered, idOf, openWorked, unanswered } from '../fake-sender.js'

const hook = 'https://hook.example/'
const lead = { webhook_url: hook, keyword: 'known', live: false }
const hour = 3_600_000

const bench = perTest(openWorked)

/** A search that found so many leads, with nothing delivered yet beyond the first attempts. */
async function searched(matches: number, more: object = {}): Promise<string> {
  bench.source.matches = matches
  const { body, status } = await bench.call('leads.advanced_search', { ...lead, ...more })
  expect(status).toBe(202)
  const job = await bench.worker.finish(idOf(body))
  expect(job?.state).toBe('finished')
  return idOf(body)
}

const deliveriesOf = async (jobId: string): Promise<Delivery[]> => {
  const all = await bench.store.read((tx) => listDeliveries(tx, bench.workspaceId, { jobId }, 1_000))
  return [...all].sort((one, other) => one.seq - other.seq)
}

/** Lets the engine's time go by to each moment at which a delivery is due, and works then; answers those moments. */
async function untilNothingIsDue(jobId: string): Promise<number[]> {
  const moments: number[] = []
  for (let step = 0; step < 100; step++) {
    const due = (await deliveriesOf(jobId)).flatMap(({ state, dueAt }) =>
      state === 'pending' && dueAt !== null ? [dueAt] : [],
    )
    if (due.length === 0) return moments
    const next = Math.min(...due)
    bench.clock.advance(Math.max(0, next - bench.clock.now()))
    moments.push(next)
    await bench.worker.drain()
  }
  throw new Error('deliveries never end')
}

/** Has all deliveries of a search made again. */
async function replayed(jobId: string): Promise<void> {
  await bench.admin.retryDeliveries((await deliveriesOf(jobId)).map(({ id }) => id))
  await bench.worker.drain()
}

const ordinals = () => bench.sender.bodies().map(({ ordinal }) => ordinal)

describe('P14: a dead receiver', () => {
  it('is tried on the schedule with one id and new timestamps, then marked as failed', async () => {
    bench.sender.answer = () => unanswered
    const began = bench.clock.now()
    const id = await searched(3)
    const moments = [began, ...(await untilNothingIsDue(id))]
    const pauses = moments.map((moment, at) => moment - (moments[at - 1] ?? began))
    expect(pauses).toHaveLength(8)
    for (const [at, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual((schedule[at] ?? 0) * 0.8)
      expect(pause).toBeLessThanOrEqual((schedule[at] ?? 0) * 1.2)
    }
    const { attempts } = bench.sender
    expect(new Set(attempts.map((attempt) => attempt.id)).size).toBe(1)
    expect(attempts.map(({ timestamp }) => timestamp)).toEqual(moments)
    expect(new Set(attempts.map(({ body }) => body)).size).toBe(1)
    const [delivery] = await bench.admin.deliveries({ state: 'failed' }, 10)
    expect(delivery).toMatchObject({ jobId: id, attempts: 8, error: 'refused the connection', status: null })
  })

  it('follows the published schedule', () => {
    const seconds = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
    expect(schedule).toEqual(seconds.map((each) => each * 1_000))
  })

  it('gets its failed deliveries with the same ids when they are replayed', async () => {
    bench.sender.answer = () => answered(410)
    const id = await searched(1)
    const [failed] = await deliveriesOf(id)
    bench.sender.answer = () => undefined
    // The second time it is due already.
    const twice = [failed?.id ?? '', failed?.id ?? '']
    expect(await bench.admin.retryDeliveries(twice)).toBe(1)
    expect(await bench.worker.drain()).toEqual({ jobs: 0, deliveries: 1 })
    expect(await deliveriesOf(id)).toMatchObject([{ state: 'delivered', attempts: 1, status: 200 }])
    expect(bench.sender.attempts.map((attempt) => attempt.id)).toEqual([failed?.id, failed?.id])
  })
})

describe('a receiver that answers', () => {
  it.each([429, 503])('%i with Retry-After is not retried earlier', async (status) => {
    bench.sender.answer = () => answered(status, hour)
    const began = bench.clock.now()
    const id = await searched(1)
    expect(await deliveriesOf(id)).toMatchObject([{ state: 'pending', dueAt: began + hour, status }])
    bench.clock.advance(hour - 1)
    expect(await bench.worker.drain()).toEqual({ jobs: 0, deliveries: 0 })
    bench.clock.advance(1)
    expect(await bench.worker.drain()).toEqual({ jobs: 0, deliveries: 1 })
  })

  it('keeps to the schedule for a 429 with a short Retry-After', async () => {
    bench.sender.answer = () => answered(429, 1)
    const began = bench.clock.now()
    const id = await searched(1)
    const [delivery] = await deliveriesOf(id)
    expect(delivery?.dueAt).toBeGreaterThanOrEqual(began + 4_000)
  })

  it.each([
    ['410', answered(410)],
    ['at an address that is not permitted', { status: null, error: 'is a private address', refused: true }],
  ])('%s is not tried again', async (_, answer) => {
    bench.sender.answer = () => answer
    const id = await searched(1)
    expect(await deliveriesOf(id)).toMatchObject([{ state: 'failed', attempts: 1, error: answer.error }])
    bench.clock.advance(48 * hour)
    expect(await bench.worker.drain()).toEqual({ jobs: 0, deliveries: 0 })
  })

  it('is tried again at once, in its order, when no connection was free, and that is no attempt', async () => {
    const postponed = [1, 1, 3]
    bench.sender.answer = ({ body }) => {
      const at = postponed.indexOf(JSON.parse(body).ordinal as number)
      if (at === -1) return undefined
      postponed.splice(at, 1)
      return { status: null, error: 'No connection to hook.example was free', postponed: true }
    }
    const id = await searched(4, { streaming: true })
    expect(ordinals()).toEqual([1, 1, 1, 2, 3, 3, 4, undefined])
    for (const delivery of await deliveriesOf(id))
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, error: null })
  })

  it.each([301, 400, 404, 500])('is retried after %i', async (status) => {
    bench.sender.answer = () => answered(status)
    const id = await searched(1)
    expect(await deliveriesOf(id)).toMatchObject([{ state: 'pending', attempts: 1, status }])
  })
})

describe('streaming', () => {
  it('makes first attempts in order, and a failed one holds nothing up', async () => {
    const fails = (attempt: DeliveryAttempt) =>
      [2, 100, 101].includes(JSON.parse(attempt.body).ordinal as number)
    bench.sender.answer = (attempt) => (fails(attempt) ? unanswered : undefined)
    const id = await searched(230, { streaming: true })
    expect(ordinals()).toEqual([...Array.from({ length: 230 }, (_, at) => at + 1), undefined])
    expect((await deliveriesOf(id)).filter(({ state }) => state === 'pending')).toHaveLength(3)
    bench.sender.answer = () => undefined
    await untilNothingIsDue(id)
    expect(ordinals().slice(231).sort()).toEqual([100, 101, 2])
  })

  it('sends records as they are found, before the search has ended', async () => {
    const found: number[] = []
    bench.sender.answer = async () => {
      const job = await bench.admin.jobs(1)
      found.push(job[0]?.done ?? 0)
      return undefined
    }
    let asked = 0
    bench.source.before = async () => {
      // After the count and two of three pages.
      if (++asked > 3) await until(() => found.length > 0)
    }
    await searched(300, { streaming: true })
    expect(found[0]).toBeLessThan(300)
  })
})

describe('first attempts of one search', () => {
  it('are made in order and none is lost, despite failures, replays and crashes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(
          fc.record({
            fails: fc.array(fc.integer({ min: 1, max: 13 }), { maxLength: 4 }),
            replays: fc.array(fc.integer({ min: 1, max: 13 }), { maxLength: 4 }),
            crashes: fc.boolean(),
          }),
          { maxLength: 5 },
        ),
        async (matches, rounds) => {
          let gone: readonly number[] = []
          bench.sender.answer = (attempt) =>
            gone.includes((JSON.parse(attempt.body) as { ordinal?: number }).ordinal ?? 13)
              ? answered(410)
              : undefined
          bench.source.matches = matches
          const { body } = await bench.call('leads.advanced_search', { ...lead, streaming: true })
          const id = idOf(body)
          for (const { fails, replays, crashes } of rounds) {
            gone = fails
            await bench.worker.drain()
            const all = await deliveriesOf(id)
            await bench.admin.retryDeliveries(
              all.filter(({ seq }) => replays.includes(seq)).map((delivery) => delivery.id),
            )
            if (crashes) await claimAndDie()
          }
          gone = []
          bench.clock.advance(60_000)
          await bench.expire()
          await bench.worker.drain()
          const left = (await deliveriesOf(id)).filter(({ state }) => state === 'pending')
          expect(left).toEqual([])
          // In the order of their first attempts.
          const firsts = [...new Set(ordinals())]
          expect(firsts).toEqual([...Array.from({ length: matches }, (_, at) => at + 1), undefined])
          bench.sender.attempts.length = 0
        },
      ),
      { numRuns: tries(10, 30) },
    )
  })

  /** Takes up what is due, and is never heard of again. */
  const claimAndDie = async () => {
    const now = bench.clock.now()
    const claim = { token: 'dead', now, farthest: now + 24 * hour, leaseMs: 30_000 }
    await bench.store.transaction((tx) => claimDelivery(tx, { ...claim, busy: [] }))
  }

  it('are made one after the other when they were replayed together', async () => {
    const id = await searched(40, { streaming: true })
    const all = await deliveriesOf(id)
    let under = 0
    let most = 0
    bench.sender.answer = async () => {
      most = Math.max(most, ++under)
      await new Promise((resolve) => setImmediate(resolve))
      under--
      return undefined
    }
    const again = [...all].reverse().map((delivery) => delivery.id)
    expect(await bench.admin.retryDeliveries(again)).toBe(41)
    await bench.worker.drain()
    expect(ordinals().slice(41)).toEqual(ordinals().slice(0, 41))
    expect(most).toBe(1)
  })
})

describe('completed bodies', () => {
  const big = 'x'.repeat(20_000)
  const found = async (matches: number, more: object = {}) => {
    bench.source.record = (_, ordinal) => ({ lead: { summary: `${ordinal} ${big}` }, company: null })
    await bench.admin.setQuotas({ dailyProfiles: 10_000 })
    return await searched(matches, more)
  }

  it('above 5 MB are split into parts that contain each record once', async () => {
    const id = await found(600, { custom: { of: 'mine' } })
    const bodies = bench.sender.bodies() as { leads: { ordinal: number }[]; part: number; parts: number }[]
    expect(bodies.map(({ part, parts }) => [part, parts])).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ])
    expect(bodies.flatMap(({ leads }) => leads.map(({ ordinal }) => ordinal))).toEqual(
      Array.from({ length: 600 }, (_, at) => at + 1),
    )
    for (const body of bodies) expect(body).toMatchObject({ id, total: 600, custom: { of: 'mine' } })
    expect(new Set(bench.sender.attempts.map((attempt) => attempt.id)).size).toBe(3)
    // Reading ahead stops after a large body.
    const all = (await deliveriesOf(id)) as [Delivery, ...Delivery[]]
    expect(await bench.store.read((tx) => buildBodies(tx, all))).toHaveLength(1)
  })

  it.each([240, 248, 249, 250, 260])(
    'are at most 5 MB, and in one piece up to there: %i',
    async (matches) => {
      await found(matches, { custom: { note: 'y'.repeat(10_000) } })
      const sizes = bench.sender.attempts.map(({ body }) => Buffer.byteLength(body))
      expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000_000)
      expect(sizes).toHaveLength(matches < 249 ? 1 : 2)
    },
  )

  it('are empty when nothing was found', async () => {
    const id = await searched(0)
    expect(bench.sender.bodies()).toMatchObject([{ id, leads: [], total: 0, truncated: false }])
  })
})

describe('secrets', () => {
  it('both sign for a day after a rotation', async () => {
    const id = await searched(1)
    const old = await bench.admin.webhookSecret(false)
    const fresh = await bench.admin.webhookSecret(true)
    bench.clock.advance(24 * hour - 1)
    await replayed(id)
    bench.clock.advance(1)
    await replayed(id)
    expect(bench.sender.attempts.map(({ secrets }) => secrets)).toEqual([[old], [fresh, old], [fresh]])
    expect(fresh).not.toBe(old)
  })
})

describe('a delivery whose records were deleted', () => {
  it('fails with a reason, and does not hold up the others', async () => {
    bench.sender.answer = () => answered(410)
    const id = await searched(3, { streaming: true })
    const all = await deliveriesOf(id)
    const gone = { ...all[0], first: 900, last: 900, id: 'msg_gone', seq: 90, state: 'pending', attempts: 0 }
    bench.sender.answer = () => undefined
    await bench.store.transaction(async (tx) => {
      await insertDeliveries(tx, [{ ...gone, dueAt: 1, token: null } as Delivery])
    })
    await bench.admin.retryDeliveries(all.map((delivery) => delivery.id))
    await bench.worker.drain()
    const states = (await deliveriesOf(id)).map(({ state, error }) => [state, error])
    expect(states.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => ['delivered', null]))
    expect(states[4]).toEqual(['failed', 'The records of this delivery were deleted'])
  })

  it('ends what is read ahead of it, and any other error is reported', async () => {
    const id = await searched(3, { streaming: true })
    const [first, second, third] = (await deliveriesOf(id)) as [Delivery, Delivery, Delivery]
    const gone = { ...second, first: 900, last: 900 }
    const { store } = bench
    expect(await store.read((tx) => buildBodies(tx, [first, gone, third]))).toHaveLength(1)
    await expect(store.read((tx) => buildBodies(tx, [gone]))).rejects.toMatchObject({
      code: 'engine.records_gone',
    })
    const failing = store.read((tx) => {
      let jobsRead = 0
      const all: typeof tx.all = (...statement) =>
        jobsRead++ === 0 ? tx.all(...statement) : Promise.reject(new Error('the disk failed'))
      return buildBodies({ ...tx, all }, [first, second])
    })
    await expect(failing).rejects.toThrow('the disk failed')
  })
})

it('a clock that goes back delays no first attempt, and a retry no longer than the longest pause', async () => {
  bench.sender.answer = () => unanswered
  bench.source.matches = 1
  await bench.admin.advanceClock(30 * 24 * hour)
  const { body } = await bench.call('leads.advanced_search', lead)
  bench.clock.advance(1_000)
  const tried = await searched(1)
  await bench.worker.finish(idOf(body))
  await bench.admin.resetClock()
  bench.sender.answer = () => undefined
  await bench.worker.drain()
  expect(await deliveriesOf(tried)).toMatchObject([{ state: 'delivered', attempts: 2 }])
  expect(await deliveriesOf(idOf(body))).toMatchObject([{ state: 'delivered' }])
})
