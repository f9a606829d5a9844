import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ApiError } from '../../../src/api/calls/errors.js'
import type { WorkerPorts } from '../../../src/engine/jobs/progress.js'
import { findJob } from '../../../src/engine/tables/jobs.js'
import { createWorker, type Worker } from '../../../src/engine/worker/worker.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { perTest } from '../../support/each.js'
import { openBench } from '../../support/engine.js'
import { until } from '../../support/until.js'
import { answered, idOf, portsOf, workerOf } from '../fake-sender.js'

const bench = perTest(openBench)

const hook = 'https://hook.example/'
const workers: Worker[] = []

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
})

/** A worker that is stopped when its test has ended. */
function started(more: Partial<WorkerPorts> = {}) {
  const made = workerOf(bench, more)
  workers.push(made.worker)
  made.worker.start()
  return made
}

async function queue(matches: number, more: object = {}): Promise<string> {
  bench.source.matches = matches
  const asked = { webhook_url: hook, keyword: 'known', live: false, ...more }
  const { body, status } = await bench.call('leads.advanced_search', asked)
  expect(status).toBe(202)
  bench.clock.advance(1_000)
  return idOf(body)
}

const statesOf = async () => (await bench.admin.jobs(1_000)).map(({ state }) => state)
const areFinal = async () => (await statesOf()).every((state) => state === 'finished')
const pendingOf = async () => (await bench.admin.deliveries({ state: 'pending' }, 1_000)).length

/** The store of the bench, whose transactions and reads fail while `fails` says so. */
const failing = (fails: () => boolean): Driver => {
  const { store } = bench
  const unless = <T>(work: () => Promise<T>) => (fails() ? Promise.reject(new ApiError('busy')) : work())
  return {
    ...store,
    read: (work) => unless(() => store.read(work)),
    transaction: (work) => unless(() => store.transaction(work)),
  }
}

/** The store of the bench, and how often it was read to the end: a look for work begins so. */
function counted() {
  const { store } = bench
  let looks = 0
  const read: Driver['read'] = async (work) => {
    const found = await store.read(work)
    looks++
    return found
  }
  return { looks: () => looks, store: { ...store, read } }
}

describe('a worker that was started', () => {
  it('does what was accepted before and after its start', async () => {
    await queue(150)
    const { sender, worker } = started()
    await queue(150)
    worker.wake()
    await until(async () => sender.attempts.length === 2 && (await pendingOf()) === 0)
    expect(await statesOf()).toEqual(['finished', 'finished'])
  })

  it('finds jobs that another process has accepted', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { looks, store } = counted()
    const { sender } = started({ store })
    // One for jobs and one for deliveries, in vain.
    await until(() => looks() >= 2)
    await queue(1)
    await until(() => {
      vi.advanceTimersByTime(1_000)
      return sender.attempts.length === 1
    })
  })

  it('continues after the store was busy', async () => {
    let isBusy = true
    const troubles: unknown[] = []
    await queue(150)
    const { sender, worker } = started({
      store: failing(() => isBusy),
      onTrouble: (error) => troubles.push(error),
    })
    await until(() => troubles.length > 1)
    isBusy = false
    await until(() => {
      worker.wake()
      return sender.attempts.length === 1
    })
    expect(await statesOf()).toEqual(['finished'])
  })

  it('takes a job again when its step could not be stored, however often', async () => {
    let steps = 0
    bench.source.before = () => {
      steps++
    }
    const id = await queue(150)
    const { worker } = workerOf(bench, { store: failing(() => steps > 0 && steps-- > 0) })
    steps = 0
    for (let failure = 0; failure < 8; failure++) {
      await expect(worker.finish(id)).rejects.toMatchObject({ code: 'busy' })
      expect(await bench.admin.job(id)).toMatchObject({ state: 'running', done: 0 })
      await bench.expire()
    }
    expect(await workerOf(bench).worker.finish(id)).toMatchObject({ state: 'finished', done: 150 })
  })

  it('leaves a job as it is while the source cannot be reached, however often it tries', async () => {
    const id = await queue(250)
    bench.source.before = () => {
      throw new ApiError('busy')
    }
    const { worker } = workerOf(bench)
    for (let failure = 0; failure < 8; failure++) {
      await expect(worker.finish(id)).rejects.toMatchObject({ code: 'busy' })
      expect(await bench.admin.job(id)).toMatchObject({ state: 'running', done: 0, attempts: 0 })
      expect(await worker.finish(id)).toBeUndefined()
      await bench.expire()
    }
    bench.source.before = () => {}
    expect(await worker.finish(id)).toMatchObject({ state: 'finished', done: 250 })
  })

  it('continues with other jobs when one throws, and reports it', async () => {
    const bad = await queue(10)
    const good = await queue(10)
    const troubles: unknown[] = []
    let asked = 0
    bench.source.before = () => {
      if (++asked === 1) throw new TypeError('a bug')
    }
    const { worker } = workerOf(bench, { onTrouble: (error) => troubles.push(error) })
    await worker.finish(bad)
    await worker.finish(good)
    expect([(await bench.admin.job(bad)).state, (await bench.admin.job(good)).state]).toEqual([
      'failed',
      'finished',
    ])
    expect(troubles).toMatchObject([{ message: 'a bug' }])
  })

  it('does not fail because of its observer', async () => {
    const id = await queue(250)
    const job = await workerOf(bench).worker.finish(id, () => {
      throw new Error('the terminal is gone')
    })
    expect(job).toMatchObject({ state: 'finished', done: 250 })
  })
})

describe('a worker that is stopped', () => {
  it('ends its step and leaves the rest to another worker, whose first attempt it counts as', async () => {
    const id = await queue(450)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let steps = 0
    bench.source.before = async () => {
      if (++steps === 2) await released
    }
    const { worker } = started()
    await until(() => steps === 2)
    const stopped = worker.stop()
    release()
    await stopped
    expect(await bench.admin.job(id)).toMatchObject({ state: 'running', done: 200, attempts: 0 })
    expect(await workerOf(bench).worker.finish(id)).toMatchObject({ state: 'finished', done: 450 })
  })

  it('leaves what takes too long, and reports no failure after that', async () => {
    await queue(1)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const troubles: unknown[] = []
    let isClosed = false
    let refused = 0
    const store = failing(() => isClosed && ++refused > 0)
    const { sender, worker } = started({ store, onTrouble: (error) => troubles.push(error) })
    sender.answer = () => released.then(() => undefined)
    await until(() => sender.attempts.length === 1)
    await worker.stop(0)
    isClosed = true
    release()
    await until(() => refused > 0)
    await turn()
    expect(troubles).toEqual([])
    expect(await pendingOf()).toBe(1)
  })

  it('can be stopped repeatedly and makes no more progress', async () => {
    for (let round = 0; round < 8; round++) {
      const { worker } = workerOf(bench)
      if (round === 0) await queue(900)
      const [job] = await bench.admin.jobs(1)
      await worker.finish(job?.id ?? '', () => void worker.stop())
      expect(await worker.finish(job?.id ?? '')).toMatchObject({ done: (round + 1) * 100 })
    }
  })

  it('waits for the attempt in progress, and stores its result', async () => {
    await queue(1)
    const { worker, sender } = started()
    const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
    sender.answer = () => ended
    await until(() => sender.attempts.length === 1)
    const stopped = worker.stop()
    end(undefined)
    await stopped
    expect(await bench.admin.deliveries({}, 10)).toMatchObject([{ state: 'delivered', attempts: 1 }])
  })

  it('counts no attempt that its own stop cut off', async () => {
    await queue(1)
    const { worker, sender } = started()
    const { promise: isCut, resolve: cut } = Promise.withResolvers<void>()
    sender.answer = async () => {
      await isCut
      return { status: null, error: 'Sending was stopped before an answer came' }
    }
    await until(() => sender.attempts.length === 1)
    const stopped = worker.stop()
    cut()
    await stopped
    expect(await bench.admin.deliveries({}, 10)).toMatchObject([{ state: 'pending', attempts: 0 }])
    const next = workerOf(bench)
    expect(await next.worker.drain()).toEqual({ jobs: 0, deliveries: 1 })
  })

  it('takes no new work', async () => {
    const { worker, sender } = started()
    await worker.stop()
    await queue(1)
    worker.wake()
    expect(await worker.drain()).toEqual({ jobs: 0, deliveries: 0 })
    expect([await statesOf(), sender.attempts]).toEqual([['queued'], []])
  })
})

describe('P18: receivers that hang', () => {
  it('delay no other receiver, however many there are', async () => {
    await bench.admin.setQuotas({ dailyProfiles: 100_000 })
    for (let at = 0; at < 90; at++) await queue(1, { webhook_url: `https://hangs.example/${at}` })
    await queue(1, { webhook_url: 'https://well.example/' })
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { sender, worker } = started()
    sender.answer = async ({ url }) => {
      if (url.includes('hangs')) await ended
      return undefined
    }
    await until(() => sender.attempts.some(({ url }) => url.includes('well')))
    expect(sender.attempts.length).toBeGreaterThan(64)
    end()
    await worker.stop()
  })

  it('get at most four attempts at a time', async () => {
    for (let at = 0; at < 9; at++) await queue(1)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { looks, store } = counted()
    const { sender, worker } = started({ store })
    sender.answer = () => ended.then(() => undefined)
    await until(async () => (await areFinal()) && sender.attempts.length >= 4)
    for (let again = 0; again < 2; again++) {
      const before = looks()
      worker.wake()
      // One for jobs and one for deliveries.
      await until(() => looks() >= before + 2)
    }
    expect(sender.attempts).toHaveLength(4)
    end()
    await worker.stop()
  })
})

describe('deliveries of a workspace whose receivers never answer', () => {
  it('take at most half of the room, so those of others go out at once', async () => {
    await bench.admin.setPlan('scale')
    for (let at = 0; at < 40; at++) await queue(1, { webhook_url: `https://dead-${at}.example/` })
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { sender, worker } = started({ deliveriesAtOnce: 64 })
    let over = 0
    sender.answer = async ({ url }) => {
      if (!url.includes('dead')) return undefined
      await ended
      over++
      return answered(500)
    }
    await until(async () => (await areFinal()) && sender.attempts.length >= 32)
    await bench.admin.createWorkspace('Other')
    await bench.admin.useWorkspace('Other')
    await bench.admin.setPlan('scale')
    await bench.admin.addMember({ email: 'ann@other.example' })
    const { key } = await bench.admin.createKey({ member: 'ann@other.example' })
    for (let at = 0; at < 20; at++) {
      const asked = { webhook_url: `https://other-${at}.example/`, keyword: 'known', live: false }
      const { status } = await bench.call('leads.advanced_search', asked, { apiKey: key })
      expect(status).toBe(202)
      bench.clock.advance(60_000)
    }
    worker.wake()
    // The clock advances faster than leases last, so some of them may be attempted again.
    const sentTo = (name: string) => sender.attempts.map(({ url }) => url).filter((url) => url.includes(name))
    await until(() => new Set(sentTo('other')).size === 20)
    expect(over).toBe(0)
    expect(new Set(sentTo('dead')).size).toBe(32)
    end()
    await worker.stop()
  })
})

describe('drain', () => {
  it('does what is due, and returns how much that was', async () => {
    for (let at = 0; at < 7; at++) await queue(3, { streaming: at === 0 })
    const { worker, sender } = workerOf(bench)
    expect(await worker.drain()).toEqual({ jobs: 7, deliveries: 10 })
    expect(sender.attempts).toHaveLength(10)
    expect(await worker.drain()).toEqual({ jobs: 0, deliveries: 0 })
  })

  it('does what it can, and then reports what it could not', async () => {
    await queue(3)
    await queue(3)
    let asked = 0
    bench.source.before = () => {
      if (++asked === 1) throw new ApiError('busy')
    }
    const { worker, sender } = workerOf(bench)
    await expect(worker.drain()).rejects.toMatchObject({ code: 'busy' })
    expect((await statesOf()).sort()).toEqual(['finished', 'running'])
    expect(sender.attempts).toHaveLength(1)
  })

  it('leaves deliveries alone when there is no sender', async () => {
    await queue(3)
    expect(await createWorker(portsOf(bench)).drain()).toEqual({ jobs: 1, deliveries: 0 })
    expect(await bench.admin.deliveries({}, 10)).toMatchObject([{ state: 'pending', attempts: 0 }])
  })

  it('works for every workspace, not only the one in use', async () => {
    const id = await queue(3)
    await bench.admin.createWorkspace('Other')
    await bench.admin.useWorkspace('Other')
    const { worker, sender } = workerOf(bench)
    sender.answer = () => answered(500)
    expect(await worker.drain()).toEqual({ jobs: 1, deliveries: 1 })
    const job = await bench.store.read((tx) => findJob(tx, bench.workspaceId, id))
    expect(job?.state).toBe('finished')
  })
})
