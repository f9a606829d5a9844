import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendMovement } from '../../src/engine/credits/ledger.js'
import {
  type AsyncJob,
  claimJob,
  countJobs,
  countRecords,
  countUnfinishedJobs,
  dropJobs,
  findEnrichment,
  findJob,
  insertEnrichments,
  insertJob,
  insertRecords,
  isJobDue,
  type JobChange,
  type JobRecord,
  type JobState,
  listEnrichments,
  listJobs,
  listRecords,
  lockJob,
  lockJobOf,
  readFirstHold,
  readHeldBy,
  renewJob,
  updateJob,
} from '../../src/engine/tables/jobs.js'
import {
  findList,
  findListByNumber,
  insertList,
  listCompanies,
  listMatchedAccounts,
  listTable,
  type NewList,
  setMatchedAccount,
  updateList,
} from '../../src/engine/tables/lists.js'
import { insertMember, insertWorkspace } from '../../src/engine/tables/members.js'
import type { Lease } from '../../src/engine/tables/record-table.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { member, workspace } from './rows.js'

/** A job as it is when it is accepted. */
export const job: AsyncJob = {
  id: 'j1',
  workspaceId: 'w1',
  memberId: 'm1',
  operation: 'intents.stack',
  kind: 'stack_import',
  name: 'Mine',
  webhookUrl: 'https://hook.example/',
  streaming: true,
  custom: { a: [1, null] },
  plan: { does: 'search', search: { kind: 'stack', filters: { stacks: ['react'] } as never }, scale: false },
  most: 50,
  expected: 40,
  state: 'queued',
  done: 0,
  place: null,
  truncated: false,
  parts: [],
  partBytes: 0,
  enriched: false,
  held: 120,
  spent: 0,
  error: null,
  createdAt: 1_000,
  finishedAt: null,
  token: null,
  leaseUntil: 0,
  attempts: 0,
}

const list: NewList = {
  id: 'j1',
  workspace_id: 'w1',
  name: 'Mine',
  network_list_id: 281_474_976_710_656,
  status: 'pending',
  created_at: 5,
  updated_at: 5,
  companies: [{ domain: 'a.example' }, { name: 'B', country: 'FR' }, { url: 'https://c.example/' }],
}

const leaseMs = 30_000
/** A lease that begins at a moment. */
export const lease = (realNow: number): Lease => ({ realNow, leaseUntil: realNow + leaseMs })

const record = (ordinal: number, status: JobRecord['status'] = 'QUALIFIED'): JobRecord => ({
  ordinal,
  status,
  record: JSON.stringify({ at: ordinal, text: 'é\u0000"' }),
})

/** What every store must do with accepted work. */
export function describeWork(name: string, open: () => Promise<Driver>): void {
  let store: Driver
  const claim = (token: string, realNow: number, id?: string) =>
    store.transaction((tx) => claimJob(tx, { token, ...lease(realNow), ...(id ? { id } : {}) }))
  const add = (...jobs: Partial<AsyncJob>[]) =>
    store.transaction(async (tx) => {
      for (const one of jobs) await insertJob(tx, { ...job, ...one })
    })
  const isDue = (realNow: number) => store.read((tx) => isJobDue(tx, lease(realNow)))

  describe(`accepted work over ${name}`, () => {
    beforeEach(async () => {
      store = await open()
      await store.transaction(async (tx) => {
        await insertWorkspace(tx, workspace, true)
        await insertWorkspace(tx, { ...workspace, id: 'w2', name: 'Second' }, false)
        await insertMember(tx, member)
      })
    })

    afterEach(() => store.close())

    it('returns a job as it was stored, to its own workspace only', async () => {
      await add({})
      await store.read(async (tx) => {
        expect(await findJob(tx, 'w1', 'j1')).toEqual(job)
        expect(await findJob(tx, 'w2', 'j1')).toBeUndefined()
        expect(await listJobs(tx, 'w2', {}, { skip: 0, limit: 9 })).toEqual([])
      })
    })

    it('takes the oldest job, each for one worker at a time', async () => {
      await add({ id: 'j2', createdAt: 5 }, { id: 'j1', createdAt: 9 }, { id: 'j3', createdAt: 9 })
      expect(await claim('a', 100)).toMatchObject({ id: 'j2', state: 'running', token: 'a', attempts: 1 })
      expect((await claim('b', 100))?.id).toBe('j1')
      expect((await claim('c', 100))?.id).toBe('j3')
      expect([await isDue(100), await claim('d', 100)]).toEqual([false, undefined])
    })

    it('takes the oldest job of the next workspace, so that many jobs of one do not delay another', async () => {
      const second = { workspaceId: 'w2', memberId: 'm2', createdAt: 99 }
      await store.transaction((tx) => insertMember(tx, { ...member, id: 'm2', workspaceId: 'w2' }))
      await add(...[3, 1, 2].map((at) => ({ id: `first-${at}`, createdAt: at })))
      await add({ ...second, id: 'second-1' }, { ...second, id: 'second-2', createdAt: 98 })
      const taken: (string | undefined)[] = []
      for (let after = ''; taken.length < 6; ) {
        const claim = { token: `t${taken.length}`, after, ...lease(100) }
        const found = await store.transaction((tx) => claimJob(tx, claim))
        taken.push(found?.id)
        after = found?.workspaceId ?? after
      }
      expect(taken).toEqual(['first-1', 'second-2', 'first-2', 'second-1', 'first-3', undefined])
    })

    it('takes the given job, or none', async () => {
      await add({ id: 'j1' }, { id: 'j2', createdAt: 9_000 })
      expect((await claim('a', 100, 'j2'))?.id).toBe('j2')
      expect(await claim('b', 100, 'j2')).toBeUndefined()
      expect(await claim('b', 100, 'j9')).toBeUndefined()
      expect(await isDue(100)).toBe(true)
    })

    it('gives a job to another worker when its lease has expired, and not before', async () => {
      await add({})
      await claim('a', 100)
      expect(await claim('b', 100 + leaseMs - 1)).toBeUndefined()
      expect(await store.transaction((tx) => renewJob(tx, 'j1', 'a', 100 + leaseMs + 50))).toBe(true)
      expect([await isDue(100 + leaseMs), await claim('b', 100 + leaseMs)]).toEqual([false, undefined])
      expect(await isDue(100 + leaseMs + 50)).toBe(true)
      expect(await claim('b', 100 + leaseMs + 50)).toMatchObject({ token: 'b', attempts: 2 })
    })

    it('gives a job to its own owner at once, which fences off the previous token, and to nobody else', async () => {
      await add({})
      const take = (owner: string, token: string) =>
        store.transaction((tx) => claimJob(tx, { token, owner, id: 'j1', ...lease(100) }))
      expect(await take('run-1', 'run-1 a')).toMatchObject({ token: 'run-1 a' })
      expect([await take('run', 'run b'), await take('run-2', 'run-2 b'), await claim('c', 100)]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
      expect(await take('run-1', 'run-1 b')).toMatchObject({ token: 'run-1 b', attempts: 2 })
      expect(await store.transaction((tx) => lockJob(tx, 'j1', 'run-1 a'))).toBeUndefined()
      await store.transaction((tx) => updateJob(tx, 'j1', { state: 'finished' }))
      expect(await take('run-1', 'run-1 c')).toBeUndefined()
    })

    it('gives a job to another worker when its lease is from before the clock went back', async () => {
      await add({})
      await claim('a', 10_000_000)
      expect(await claim('b', 10_000_000 - leaseMs)).toBeUndefined()
      expect(await isDue(9_000_000)).toBe(true)
      expect(await claim('b', 9_000_000)).toMatchObject({ token: 'b' })
    })

    it('drops a job with all that refers to it, and locks it for its own workspace only', async () => {
      await add({ id: 'j1' }, { id: 'j2' })
      await claim('a', 100, 'j1')
      await store.transaction(async (tx) => {
        for (const id of ['j1', 'j2']) {
          await insertRecords(tx, id, [{ ordinal: 1, status: 'QUALIFIED', record: '{}' }])
          await insertEnrichments(tx, [
            { id: `e ${id}`, jobId: id, ordinal: 1, firstName: 'Ada', lastName: null, custom: null },
          ])
        }
      })
      await store.transaction(async (tx) => {
        expect(await lockJobOf(tx, 'w2', 'j1')).toBeUndefined()
        expect(await lockJobOf(tx, 'w1', 'j1')).toMatchObject({ id: 'j1', token: 'a' })
        await dropJobs(tx, ['j1'])
        expect(await lockJob(tx, 'j1', 'a')).toBeUndefined()
      })
      await store.read(async (tx) => {
        expect(await findJob(tx, 'w1', 'j1')).toBeUndefined()
        expect([await countRecords(tx, 'j1'), await countRecords(tx, 'j2')]).toEqual([0, 1])
        expect([await listEnrichments(tx, 'j1'), (await listEnrichments(tx, 'j2')).length]).toEqual([[], 1])
      })
    })

    it('fences off a worker that has lost a job', async () => {
      await add({})
      await claim('a', 100)
      await claim('b', 100 + leaseMs)
      await store.transaction(async (tx) => {
        expect(await lockJob(tx, 'j1', 'a')).toBeUndefined()
        expect(await renewJob(tx, 'j1', 'a', 9e9)).toBe(false)
        expect(await lockJob(tx, 'j1', 'b')).toMatchObject({ id: 'j1', token: 'b' })
        await updateJob(tx, 'j1', { state: 'finished', finishedAt: 7 })
        expect(await lockJob(tx, 'j1', 'b')).toBeUndefined()
        expect(await renewJob(tx, 'j1', 'b', 9e9)).toBe(false)
      })
      expect(await claim('c', 9e9)).toBeUndefined()
    })

    const states: readonly JobState[] = ['queued', 'running', 'finished', 'failed']
    const legal = ['queued running', 'running finished', 'running failed']
    it.each(states.flatMap((from) => states.filter((to) => to !== from).map((to) => [from, to] as const)))(
      'lets a job go from %s to %s only where that is forward',
      async (from, to) => {
        await add({ state: from })
        const changed = store.transaction((tx) => updateJob(tx, 'j1', { state: to }))
        if (legal.includes(`${from} ${to}`)) await changed
        else await expect(changed).rejects.toThrow()
        const after = legal.includes(`${from} ${to}`) ? to : from
        expect((await store.read((tx) => findJob(tx, 'w1', 'j1')))?.state).toBe(after)
      },
    )

    it('changes only the given fields of a job', async () => {
      await add({})
      const change: JobChange = {
        state: 'running',
        done: 7,
        place: 'p',
        truncated: true,
        parts: [1, 5],
        partBytes: 99,
        enriched: true,
        held: 3,
        spent: 21,
        error: 'no',
        finishedAt: 8,
        attempts: 2,
      }
      await store.transaction((tx) => updateJob(tx, 'j1', change))
      expect(await store.read((tx) => findJob(tx, 'w1', 'j1'))).toEqual({ ...job, ...change })
      await store.transaction((tx) => updateJob(tx, 'j1', { place: null }))
      expect(await store.read((tx) => findJob(tx, 'w1', 'j1'))).toEqual({ ...job, ...change, place: null })
    })

    it('lists and counts jobs by kind, state and contact data, newest first', async () => {
      await add(
        { id: 'j1', createdAt: 1, enriched: true },
        { id: 'j2', createdAt: 2, kind: 'lead_search' },
        { id: 'j3', createdAt: 2, state: 'running' },
        { id: 'j4', createdAt: 3, workspaceId: 'w2' },
      )
      await store.read(async (tx) => {
        const ids = async (filter: Parameters<typeof listJobs>[2], skip = 0, limit = 9) =>
          (await listJobs(tx, 'w1', filter, { skip, limit })).map(({ id }) => id)
        expect(await ids({})).toEqual(['j3', 'j2', 'j1'])
        expect(await ids({}, 1, 1)).toEqual(['j2'])
        expect(await ids({ kind: 'lead_search' })).toEqual(['j2'])
        expect(await ids({ state: 'running' })).toEqual(['j3'])
        expect(await ids({ enriched: true })).toEqual(['j1'])
        expect(await ids({ enriched: false, kind: 'stack_import' })).toEqual(['j3'])
        expect(await countJobs(tx, 'w1', {})).toBe(3)
        expect(await countJobs(tx, 'w1', { enriched: false })).toBe(2)
        expect(await countUnfinishedJobs(tx, 'w1')).toEqual({ queued: 2, running: 1 })
      })
    })

    it('knows the holds by member and by job', async () => {
      await add({ id: 'j1', held: 7 }, { id: 'j2', held: 5 }, { id: 'j3', held: 0, state: 'finished' })
      const hold = { seq: 1, kind: 'hold', debit: 'credits', credit: 'held', amount: 4 } as const
      await store.transaction(async (tx) => {
        const who = { workspace_id: 'w1', member_id: null, operation: null, created_at: 0 }
        const grant = {
          ...who,
          seq: 1,
          kind: 'top_up',
          debit: 'issued',
          credit: 'credits',
          amount: 9,
        } as const
        await appendMovement(tx, { ...grant, reference: null, credits: 9, held: 0, spent: 0 })
        await appendMovement(tx, { ...who, ...hold, seq: 2, reference: 'j1', credits: 5, held: 4, spent: 0 })
        expect(await readHeldBy(tx, 'm1')).toBe(12)
        expect(await readHeldBy(tx, 'm2')).toBe(0)
        expect(await readFirstHold(tx, 'w1', 'j1')).toBe(4)
        expect(await readFirstHold(tx, 'w1', 'j2')).toBeUndefined()
        expect(await readFirstHold(tx, 'w2', 'j1')).toBeUndefined()
      })
    })

    it('stores each record of a job once, and returns them in order', async () => {
      await add({})
      const records = [record(2, 'DISQUALIFIED'), record(1), record(3)]
      await store.transaction((tx) => insertRecords(tx, 'j1', records))
      await expect(
        store.transaction((tx) => insertRecords(tx, 'j1', [record(4), record(3)])),
      ).rejects.toThrow()
      await store.read(async (tx) => {
        const of = async (range: Parameters<typeof listRecords>[2], limit = 9) =>
          (await listRecords(tx, 'j1', range, limit)).map(({ ordinal }) => ordinal)
        expect(await listRecords(tx, 'j1', { after: 0 }, 9)).toEqual([records[1], records[0], records[2]])
        expect(await of({ after: 1 })).toEqual([2, 3])
        expect(await of({ after: 0, last: 2 })).toEqual([1, 2])
        expect(await of({ after: 0, status: 'QUALIFIED' })).toEqual([1, 3])
        expect(await of({ after: 0, status: 'QUALIFIED', skip: 1 })).toEqual([3])
        expect(await of({ after: 0 }, 1)).toEqual([1])
        expect([await countRecords(tx, 'j1'), await countRecords(tx, 'j1', 'DISQUALIFIED')]).toEqual([3, 1])
        expect(await listRecords(tx, 'j2', { after: 0 }, 9)).toEqual([])
      })
    })

    it('stores no record of an unknown job', async () => {
      await expect(store.transaction((tx) => insertRecords(tx, 'nobody', [record(1)]))).rejects.toThrow()
    })

    it('finds the contacts of a waterfall by their ids and by their job', async () => {
      await add({})
      const one = { id: 'e1', jobId: 'j1', ordinal: 1, firstName: 'Ada', lastName: null, custom: { n: 1 } }
      const two = { id: 'e2', jobId: 'j1', ordinal: 2, firstName: null, lastName: 'Byron', custom: null }
      await store.transaction((tx) => insertEnrichments(tx, [two, one]))
      await store.read(async (tx) => {
        expect(await listEnrichments(tx, 'j1')).toEqual([one, two])
        expect(await findEnrichment(tx, 'e2')).toEqual(two)
        expect(await findEnrichment(tx, 'j1')).toBeUndefined()
      })
    })

    it('stores a list, its companies and their matches', async () => {
      const { companies: given, ...kept } = list
      const companies = [...given]
      await add({})
      await store.transaction(async (tx) => {
        await insertList(tx, list)
        await setMatchedAccount(tx, 'j1', 1, 'a1')
        await setMatchedAccount(tx, 'j1', 3, 'a1')
        await setMatchedAccount(tx, 'j1', 2, null)
        await updateList(tx, 'j1', { status: 'completed', updated_at: 8 })
      })
      await store.read(async (tx) => {
        const completed = { ...kept, status: 'completed', updated_at: 8 }
        expect(await findList(tx, 'w1', 'j1')).toEqual(completed)
        expect(await findListByNumber(tx, 'w1', list.network_list_id)).toEqual(completed)
        expect(await listTable.slice(tx, { skip: 0, limit: 9 }, 'workspace_id = ?', 'w1')).toEqual([
          completed,
        ])
        expect([
          await findList(tx, 'w2', 'j1'),
          await findListByNumber(tx, 'w2', list.network_list_id),
        ]).toEqual([undefined, undefined])
        expect(await listTable.count(tx, 'workspace_id = ?', 'w2')).toBe(0)
        expect(await listCompanies(tx, 'j1', 0, 9)).toEqual([
          { ordinal: 1, company: companies[0], account_id: 'a1' },
          { ordinal: 2, company: companies[1], account_id: null },
          { ordinal: 3, company: companies[2], account_id: 'a1' },
        ])
        expect((await listCompanies(tx, 'j1', 1, 1)).map(({ ordinal }) => ordinal)).toEqual([2])
        expect(await listMatchedAccounts(tx, 'j1')).toEqual(['a1'])
      })
    })

    it('gives jobs to as many workers as ask at once, each to one', async () => {
      await add(...Array.from({ length: 50 }, (_, at) => ({ id: `job ${at}`, createdAt: at })))
      const claimed = await Promise.all(Array.from({ length: 80 }, (_, at) => claim(`t${at}`, 100)))
      const ids = claimed.flatMap((one) => one?.id ?? [])
      expect([ids.length, new Set(ids).size]).toEqual([50, 50])
    })
  })
}
