import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  claimDelivery,
  countDeliveries,
  type Delivery,
  type DueDeliveries,
  findDelivery,
  insertDeliveries,
  isDeliveryDue,
  listDeliveries,
  listSigningSecrets,
  listWaitingDeliveries,
  readDeliveryQueue,
  releaseNextDelivery,
  replayDeliveries,
  setSigningSecrets,
  updateDelivery,
} from '../../src/engine/tables/deliveries.js'
import { insertJob } from '../../src/engine/tables/jobs.js'
import { insertMember, insertWorkspace } from '../../src/engine/tables/members.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { member, workspace } from './rows.js'
import { job, lease } from './store-work.js'

const url = 'https://hook.example/'
const delivery: Delivery = {
  id: 'd1',
  workspaceId: 'w1',
  jobId: 'j1',
  seq: 1,
  event: 'stack_import.record',
  url,
  first: 1,
  last: 1,
  part: null,
  parts: null,
  state: 'pending',
  attempts: 0,
  dueAt: 10,
  status: null,
  error: null,
  createdAt: 10,
  finishedAt: null,
  token: null,
  leaseUntil: 0,
}

/** A delivery that waits for the one before it. */
const behind = (seq: number, more: Partial<Delivery> = {}): Delivery => ({
  ...delivery,
  id: `d${seq}`,
  seq,
  dueAt: null,
  ...more,
})

/** What every store must do with deliveries. */
export function describeDeliveries(name: string, open: () => Promise<Driver>): void {
  let store: Driver
  const add = (...deliveries: Delivery[]) => store.transaction((tx) => insertDeliveries(tx, deliveries))
  const due = (now: number, more: Partial<DueDeliveries> = {}): DueDeliveries => ({
    ...lease(0),
    now,
    farthest: now + 1_000_000,
    busy: [],
    ...more,
  })
  const claim = (token: string, now: number, more: Partial<DueDeliveries> = {}) =>
    store.transaction((tx) => claimDelivery(tx, { ...due(now, more), token }))
  const isDue = (now: number, more: Partial<DueDeliveries> = {}) =>
    store.read((tx) => isDeliveryDue(tx, due(now, more)))
  const one = (id: string) => store.read((tx) => findDelivery(tx, 'w1', id))
  const dues = async () =>
    Object.fromEntries(
      (await store.read((tx) => listDeliveries(tx, 'w1', {}, 99))).map(({ id, dueAt }) => [id, dueAt]),
    )

  describe(`deliveries over ${name}`, () => {
    beforeEach(async () => {
      store = await open()
      await store.transaction(async (tx) => {
        await insertWorkspace(tx, workspace, true)
        await insertWorkspace(tx, { ...workspace, id: 'w2', name: 'Second' }, false)
        await insertMember(tx, member)
        for (const id of ['j1', 'j2', 'j3']) await insertJob(tx, { ...job, id })
      })
    })

    afterEach(() => store.close())

    it('are returned as they were stored, to their own workspace only', async () => {
      const whole = { ...delivery, part: 1, parts: 2, status: 500, error: 'no', finishedAt: 9, token: 't' }
      await add(whole)
      expect(await one('d1')).toEqual(whole)
      expect(await store.read((tx) => findDelivery(tx, 'w2', 'd1'))).toBeUndefined()
    })

    it('are listed newest first, by job and state', async () => {
      await add(delivery, behind(2, { state: 'failed' }), behind(1, { id: 'x1', jobId: 'j2', createdAt: 20 }))
      await store.read(async (tx) => {
        const ids = async (filter: Parameters<typeof listDeliveries>[2], limit = 9) =>
          (await listDeliveries(tx, 'w1', filter, limit)).map(({ id }) => id)
        expect(await ids({})).toEqual(['x1', 'd2', 'd1'])
        expect(await ids({}, 1)).toEqual(['x1'])
        expect(await ids({ jobId: 'j1' })).toEqual(['d2', 'd1'])
        expect(await ids({ jobId: 'j1', state: 'failed' })).toEqual(['d2'])
        expect(await listDeliveries(tx, 'w2', {}, 9)).toEqual([])
        expect(await countDeliveries(tx, 'w1')).toEqual({ pending: 2, delivered: 0, failed: 1 })
        expect(await countDeliveries(tx, 'w2')).toEqual({ pending: 0, delivered: 0, failed: 0 })
      })
    })

    it('have a unique number each within their job', async () => {
      await add(delivery)
      await expect(add(behind(1, { id: 'other' }))).rejects.toThrow()
      await add(behind(1, { id: 'other', jobId: 'j2' }))
      await store.read(async (tx) => {
        expect(await readDeliveryQueue(tx, 'j1')).toEqual({ last: 1, open: true })
        expect(await readDeliveryQueue(tx, 'j2')).toEqual({ last: 1, open: false })
        expect(await readDeliveryQueue(tx, 'j3')).toEqual({ last: 0, open: false })
      })
    })

    it('are taken when they are due, the oldest first, each by one worker', async () => {
      const again = { attempts: 1 }
      await add({ ...delivery, ...again, dueAt: 30 }, behind(2, { ...again, dueAt: 20 }), behind(3))
      expect([await isDue(19), await claim('a', 19)]).toEqual([false, undefined])
      expect(await isDue(20)).toBe(true)
      expect(await claim('a', 30)).toMatchObject({ id: 'd2', token: 'a', leaseUntil: lease(0).leaseUntil })
      expect((await claim('b', 30))?.id).toBe('d1')
      expect([await isDue(30), await claim('c', 30)]).toEqual([false, undefined])
    })

    it('are taken for the first time whatever the clock says, once that is allowed', async () => {
      await add({ ...delivery, dueAt: 500 }, behind(2))
      expect(await isDue(1)).toBe(true)
      expect((await claim('a', 1))?.id).toBe('d1')
      expect(await isDue(9e9)).toBe(false)
    })

    it('are due again when only a clock that went back says otherwise', async () => {
      await add({ ...delivery, attempts: 1, dueAt: 5_000_000 })
      expect(await isDue(4_000_000)).toBe(false)
      expect(await isDue(3_999_999)).toBe(true)
      expect((await claim('a', 3_999_999))?.id).toBe('d1')
    })

    it('are taken by another worker when the lease has expired, which alone may write then', async () => {
      await add(delivery)
      await claim('a', 10)
      const { leaseUntil } = lease(0)
      expect(await claim('b', 10, lease(leaseUntil - 1))).toBeUndefined()
      expect((await claim('b', 10, lease(leaseUntil)))?.token).toBe('b')
      await store.transaction(async (tx) => {
        expect(await updateDelivery(tx, 'd1', 'a', { state: 'delivered' })).toBe(false)
        expect(
          await updateDelivery(tx, 'd1', 'b', { attempts: 1, dueAt: 50, status: 500, error: 'no' }),
        ).toBe(true)
      })
      expect(await one('d1')).toMatchObject({ attempts: 1, dueAt: 50, status: 500, leaseUntil: 0 })
      expect((await claim('c', 50, lease(leaseUntil)))?.id).toBe('d1')
    })

    it('change no more once they have ended', async () => {
      await add({ ...delivery, token: 't', state: 'delivered' })
      expect(await store.transaction((tx) => updateDelivery(tx, 'd1', 't', { state: 'failed' }))).toBe(false)
      expect([await isDue(9e9), await claim('a', 9e9)]).toEqual([false, undefined])
    })

    it('to a busy URL are left', async () => {
      await add(delivery, behind(1, { id: 'x1', jobId: 'j2', url: 'https://other.example/', dueAt: 20 }))
      expect((await claim('a', 30, { busy: [url] }))?.id).toBe('x1')
      expect(await isDue(30, { busy: [url] })).toBe(false)
      expect(await isDue(30)).toBe(true)
    })

    it('of a busy workspace are left', async () => {
      await add(delivery, behind(1, { id: 'x1', workspaceId: 'w2', jobId: 'j2', dueAt: 20 }))
      expect((await claim('a', 30, { busyWorkspaces: ['w1'] }))?.id).toBe('x1')
      expect(await isDue(30, { busyWorkspaces: ['w1'] })).toBe(false)
      expect(await isDue(30)).toBe(true)
    })

    it('of a single job are its first attempts', async () => {
      await add(
        behind(1, { jobId: 'j2', id: 'x1', dueAt: 1 }),
        behind(1, { attempts: 1, dueAt: 2 }),
        behind(2, { dueAt: 3 }),
      )
      const jobId = 'j1'
      expect((await claim('a', 10, { jobId }))?.id).toBe('d2')
      expect([await isDue(10, { jobId }), await claim('a', 10, { jobId })]).toEqual([false, undefined])
      expect(await isDue(10, { jobId: 'j2' })).toBe(true)
    })

    it('that wait are listed in order, and change together with the one before them', async () => {
      await add(delivery, behind(4), behind(2), behind(3), behind(5, { attempts: 1, dueAt: 90 }))
      await store.transaction(async (tx) => {
        await claimDelivery(tx, { ...due(10), token: 'a' })
        const waiting = await listWaitingDeliveries(tx, 'j1', 2)
        expect(waiting).toEqual([behind(2), behind(3)])
        expect(await listWaitingDeliveries(tx, 'j2', 2)).toEqual([])
        expect(await updateDelivery(tx, 'd3', 'a', { state: 'delivered' })).toBe(false)
        expect(await updateDelivery(tx, 'd3', null, { attempts: 1, state: 'delivered' })).toBe(true)
        expect(await updateDelivery(tx, 'd1', null, { state: 'delivered' })).toBe(false)
        expect(await listWaitingDeliveries(tx, 'j1', 9)).toEqual([behind(2), behind(4)])
      })
    })

    it('are released one at a time', async () => {
      await add(delivery, behind(2), behind(3), behind(1, { id: 'x1', jobId: 'j2' }))
      const release = (jobId = 'j1') => store.transaction((tx) => releaseNextDelivery(tx, jobId, 70))
      await release()
      expect(await dues()).toEqual({ d1: 10, d2: null, d3: null, x1: null })
      await claim('a', 10)
      await release()
      expect(await dues()).toMatchObject({ d2: null })
      await store.transaction((tx) => updateDelivery(tx, 'd1', 'a', { attempts: 1, dueAt: 99 }))
      await release()
      await release()
      expect(await dues()).toEqual({ d1: 99, d2: 70, d3: null, x1: null })
      await release('j2')
      await release('j3')
      expect(await dues()).toMatchObject({ d3: null, x1: 70 })
    })

    it('start again from the first attempt when they are replayed, one after the other', async () => {
      const ended = { state: 'failed', attempts: 8, status: 500, error: 'no', finishedAt: 9 } as const
      await add(behind(1, ended), behind(2, ended), behind(3, { ...ended, state: 'delivered' }), behind(4))
      await store.transaction(async (tx) => {
        expect(await replayDeliveries(tx, 'w2', ['d1'], 40)).toBe(0)
        expect(await replayDeliveries(tx, 'w1', ['d3', 'd2', 'd4', 'nobody', 'd3'], 40)).toBe(2)
      })
      const fresh = { state: 'pending', attempts: 0, status: null, error: null, finishedAt: null }
      expect(await one('d2')).toMatchObject({ ...fresh, dueAt: 40 })
      expect(await one('d3')).toMatchObject({ ...fresh, dueAt: null })
      expect(await dues()).toEqual({ d1: null, d2: 40, d3: null, d4: null })
    })

    it('wait for the one in progress when they are replayed', async () => {
      await add(behind(1, { state: 'failed', attempts: 8 }), behind(2, { dueAt: 5 }))
      await claim('a', 10)
      await store.transaction((tx) => replayDeliveries(tx, 'w1', ['d1'], 40))
      expect(await dues()).toEqual({ d1: null, d2: 5 })
    })

    it('are given to as many workers as ask at once, each to one', async () => {
      await store.transaction(async (tx) => {
        for (let at = 0; at < 50; at++) {
          await insertJob(tx, { ...job, id: `job ${at}` })
          await insertDeliveries(tx, [{ ...delivery, id: `x${at}`, jobId: `job ${at}` }])
        }
      })
      const claimed = await Promise.all(Array.from({ length: 80 }, (_, at) => claim(`t${at}`, 10)))
      const ids = claimed.flatMap((taken) => taken?.id ?? [])
      expect([ids.length, new Set(ids).size]).toEqual([50, 50])
    })

    it('are signed with the secrets of their workspace, newest first', async () => {
      const set = (workspaceId: string, ...secrets: { secret: string; until: number | null }[]) =>
        store.transaction((tx) => setSigningSecrets(tx, workspaceId, secrets))
      const of = (workspaceId: string) => store.read((tx) => listSigningSecrets(tx, workspaceId))
      expect(await of('w1')).toEqual([])
      await set('w1', { secret: 'a', until: null })
      await set('w2', { secret: 'z', until: null })
      await set('w1', { secret: 'a', until: 90 }, { secret: 'b', until: null })
      expect(await of('w1')).toEqual([
        { secret: 'b', until: null },
        { secret: 'a', until: 90 },
      ])
      expect(await of('w2')).toEqual([{ secret: 'z', until: null }])
    })
  })
}
