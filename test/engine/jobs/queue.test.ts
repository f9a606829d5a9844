import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { keepStep, LeaseLost, type WorkerPorts } from '../../../src/engine/jobs/progress.js'
import { createEngine } from '../../../src/engine/request/engine.js'
import {
  type AsyncJob,
  claimJob,
  findJob,
  insertJob,
  jobStates,
  listRecords,
  renewJob,
  updateJob,
} from '../../../src/engine/tables/jobs.js'
import { findWorkspace, insertWorkspace } from '../../../src/engine/tables/members.js'
import { createWorker, runJob, type Worker } from '../../../src/engine/worker/worker.js'
import { engines } from '../../support/databases.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { openBench, randomIds } from '../../support/engine.js'
import { until } from '../../support/until.js'
import { answered, FakeSender, idOf, portsOf, workerOf } from '../fake-sender.js'

const search = { webhook_url: 'https://hook.example/', keyword: 'known', live: false }

describe.each(engines())('the queue in %s', (_, open) => {
  const bench = perTest(() => openBench(open))
  const workers: Worker[] = []
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  })

  async function queue(matches: number, more: object = {}): Promise<string> {
    bench.source.matches = matches
    const { body, status } = await bench.call('leads.advanced_search', { ...search, ...more })
    expect(status).toBe(202)
    bench.clock.advance(1_000)
    return idOf(body)
  }

  const claimed = async (id: string, token: string) => {
    const claim = { token, leaseMs: 30_000, id }
    return (await bench.store.transaction((tx) => claimJob(tx, claim))) as AsyncJob
  }

  const finish = (id: string, more: Partial<WorkerPorts> = {}, owner?: string) =>
    workerOf(bench, more).worker.finish(id, undefined, owner)

  describe('a job', () => {
    it('is announced once it is stored, so that a worker begins at once', async () => {
      const { store, source, clock, key, workspaceId } = bench
      const announced: Promise<AsyncJob | undefined>[] = []
      const accepted = (id: string) => void announced.push(store.read((tx) => findJob(tx, workspaceId, id)))
      const { call } = createEngine({ store, source, clock, ids: randomIds, accepted })
      const { body } = await call('leads.advanced_search', search, { apiKey: key })
      expect(await Promise.all(announced)).toMatchObject([{ id: idOf(body), state: 'queued' }])
    })

    it('belongs to one worker while its lease lasts, then to the next, and to none once it has ended', async () => {
      const id = await queue(10)
      expect(await claimed(id, 'a')).toMatchObject({ state: 'running', attempts: 1 })
      expect(await claimed(id, 'b')).toBeUndefined()
      await bench.expire()
      expect(await claimed(id, 'b')).toMatchObject({ token: 'b', attempts: 2 })
      await bench.expire()
      expect(await finish(id)).toMatchObject({ state: 'finished', done: 10 })
      expect(await claimed(id, 'c')).toBeUndefined()
    })

    it('belongs to nobody whose lease was taken before the clock of the database went back', async () => {
      const id = await queue(1)
      await claimed(id, 'dead')
      const late = 'UPDATE jobs SET lease_until = lease_until + 86400000'
      await bench.store.transaction((tx) => tx.run(late))
      expect(await finish(id)).toMatchObject({ state: 'finished', done: 1 })
    })

    it('P44: is not written by a worker that lost it', async () => {
      const [id, ports] = [await queue(250), portsOf(bench)]
      const step = { records: [{ lead: {} }], place: '1', ended: false }
      const half = await keepStep(ports, await claimed(id, 'a'), step)
      await bench.expire()
      const second = await claimed(id, 'b')
      await expect(keepStep(ports, half, step)).rejects.toBeInstanceOf(LeaseLost)
      expect(await bench.store.transaction((tx) => renewJob(tx, id, 'a', 9e15))).toBe(false)
      expect(await runJob(ports, second)).toMatchObject({ state: 'finished', done: 250 })
      expect(await runJob(ports, half)).toBeUndefined()
      const records = await bench.store.read((tx) => listRecords(tx, id, { after: 0 }, 1_000))
      expect(records.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 250 }, (_, at) => at + 1))
    })

    it('is given back after its turn, and continues in the next one', async () => {
      const id = await queue(250)
      for (const done of [100, 200]) {
        const given = runJob(portsOf(bench), await claimed(id, `turn ${done}`), undefined, undefined, 0)
        expect(await given).toMatchObject({ state: 'running', done })
      }
      expect(await finish(id)).toMatchObject({ state: 'finished', done: 250 })
    })

    it('P13: goes from queued to running to its end, and no other way', async () => {
      const id = await queue(1)
      const job = await bench.admin.job(id)
      const legal = ['queued running', 'running finished', 'running failed']
      for (const from of jobStates)
        for (const to of jobStates.filter((state) => state !== from)) {
          const copy = `${from} ${to}`
          const moved = bench.store.transaction(async (tx) => {
            await insertJob(tx, { ...job, id: copy, state: from })
            await updateJob(tx, copy, { state: to })
          })
          if (legal.includes(copy)) await moved
          else await expect(moved, copy).rejects.toThrow()
        }
    })

    it('of a workspace has its turn after one of each other, however many came before it', async () => {
      const id = await queue(1)
      const [job, workspace] = [await bench.admin.job(id), await bench.store.read((tx) => findWorkspace(tx))]
      if (!workspace) throw new Error('no workspace')
      await bench.store.transaction(async (tx) => {
        await insertWorkspace(tx, { ...workspace, id: 'z', name: 'Second' }, false)
        await updateJob(tx, id, { state: 'running' })
        await updateJob(tx, id, { state: 'finished' })
        for (const [at, workspaceId] of [workspace.id, workspace.id, workspace.id, 'z', 'z'].entries())
          await insertJob(tx, { ...job, id: `job ${at}`, workspaceId, createdAt: 10 - at })
      })
      const taken: (string | undefined)[] = []
      for (let after = ''; taken.length < 6; ) {
        const claim = { token: `t${taken.length}`, after, leaseMs: 30_000 }
        const found = await bench.store.transaction((tx) => claimJob(tx, claim))
        taken.push(found?.id)
        after = found?.workspaceId ?? after
      }
      expect(taken).toEqual(['job 2', 'job 4', 'job 1', 'job 3', 'job 0', undefined])
    })

    it('fails after it killed its process again and again', async () => {
      const id = await queue(10)
      for (let attempt = 0; attempt < 10; attempt++) {
        await claimed(id, `lost ${attempt}`)
        await bench.expire()
      }
      expect(await finish(id)).toMatchObject({ state: 'failed', done: 0 })
    })
  })

  describe('its workers', () => {
    it('do each job once between them, however they are called', async () => {
      await bench.admin.setQuotas({ dailyProfiles: 100_000 })
      const ids: string[] = []
      const jobs = tries(4, 20)
      for (let job = 0; job < jobs; job++) ids.push(await queue(105, { streaming: job % 2 === 0 }))
      let asked = 0
      bench.source.before = async () => {
        asked++
        await turn()
      }
      const sender = new FakeSender()
      const crew = Array.from({ length: 4 }, () => createWorker(portsOf(bench, { sender })))
      workers.push(...crew)
      await Promise.all([
        ...crew.slice(0, 2).map((worker) => worker.drain()),
        ...ids.map((id) => crew[2]?.finish(id)),
        crew[3]?.start(),
      ])
      await until(async () => {
        const states = (await bench.admin.jobs(1_000)).map(({ state }) => state)
        const pending = await bench.admin.deliveries({ state: 'pending' }, 1_000)
        return pending.length === 0 && states.every((state) => state === 'finished')
      })
      expect(asked).toBe(jobs * 2)
      expect(sender.attempts).toHaveLength((jobs / 2) * 106 + jobs / 2)
      expect(new Set(sender.attempts.map(({ id }) => id)).size).toBe(sender.attempts.length)
    })

    it('keep a job whose step takes longer than a lease', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      onTestFinished(() => void vi.useRealTimers())
      const id = await queue(150)
      const waiting = bench.source.hold()
      const first = finish(id)
      const release = await waiting
      await bench.expire()
      vi.advanceTimersByTime(10_000)
      await until(async () => (await bench.admin.job(id)).leaseUntil > 0)
      expect(await finish(id)).toBeUndefined()
      release()
      expect(await first).toMatchObject({ state: 'finished', done: 150 })
    })

    it.each([
      ['where it goes on', undefined],
      ['also when their own source fails then', new Error('too late')],
    ])('give up a job quietly that another one has taken over: %s', async (_, error) => {
      const id = await queue(150)
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      let asked = 0
      bench.source.before = async () => {
        if (++asked > 1) return
        await released
        if (error) throw error
      }
      const troubles: unknown[] = []
      const lost = finish(id, { onTrouble: (trouble) => troubles.push(trouble) })
      await until(() => asked === 1)
      await bench.expire()
      expect(await finish(id)).toMatchObject({ state: 'finished' })
      release()
      expect(await lost).toBeUndefined()
      expect((await bench.admin.job(id)).state).toBe('finished')
      if (!error) expect(troubles).toEqual([])
    })

    it('take over what their own owner has left, without waiting for its lease', async () => {
      const id = await queue(150)
      const waiting = bench.source.hold()
      const lost = finish(id, {}, 'run-1')
      const release = await waiting
      for (const other of ['run', 'run-2']) expect(await finish(id, {}, other)).toBeUndefined()
      expect(await finish(id, {}, 'run-1')).toMatchObject({ state: 'finished', done: 150 })
      release()
      expect(await lost).toBeUndefined()
    })

    it('store nothing of an attempt to deliver that another one has made meanwhile', async () => {
      await queue(1)
      const slow = workerOf(bench)
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      slow.sender.answer = () => released.then(() => undefined)
      const lost = slow.worker.drain()
      await until(() => slow.sender.attempts.length === 1)
      await bench.expire()
      const next = workerOf(bench)
      next.sender.answer = async () => answered(500)
      expect(await next.worker.drain()).toEqual({ jobs: 0, deliveries: 1 })
      release()
      await lost
      expect(await bench.admin.deliveries({}, 10)).toMatchObject([{ state: 'pending', attempts: 1 }])
    })
  })
})
