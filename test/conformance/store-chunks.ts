import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  answerChunk,
  claimChunk,
  countChunkWorkers,
  dropChunkRun,
  dropChunks,
  dropDeadChunks,
  holdsChunk,
  holdsChunkRun,
  insertChunks,
  keepChunkWorker,
  listAnsweredChunks,
  type NewChunk,
  readChunkWork,
  renewChunk,
  renewChunkRun,
  takeChunkRun,
  withdrawChunks,
} from '../../src/engine/tables/chunks.js'
import { releaseJobs } from '../../src/engine/tables/jobs.js'
import {
  findPrincipalOfKey,
  insertKey,
  insertMember,
  insertWorkspace,
} from '../../src/engine/tables/members.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { key, member, workspace } from './rows.js'
import { lease } from './store-work.js'

const run = { run: 'r1', keyId: key.id, source: '', token: 'command', leaseUntil: 100_000 }
const chunk: NewChunk = { id: 'c1', run: 'r1', operation: 'accounts.enrich', calls: '[1]', createdAt: 5 }

/** What is cleared away: all that was last heard of before a moment. */
const before = (moment: number) => ({ runs: moment, workers: moment })

/** What every store must do with rows that are spread over machines. */
export function describeChunks(name: string, open: () => Promise<Driver>): void {
  let store: Driver
  const claim = (token: string, realNow: number, source = '') =>
    store.transaction((tx) => claimChunk(tx, { token, source, ...lease(realNow) }))
  const put = (...chunks: Partial<NewChunk>[]) =>
    store.transaction((tx) =>
      insertChunks(
        tx,
        chunks.map((one) => ({ ...chunk, ...one })),
      ),
    )
  const answer = (token: string) => store.transaction((tx) => answerChunk(tx, 'c1', token, '[2]'))
  const work = (realNow: number, source = '') =>
    store.read((tx) => readChunkWork(tx, source, lease(realNow), before(100_000)))
  const tidy = (moment: number) => store.transaction((tx) => dropDeadChunks(tx, before(moment)))
  const left = async (moment: number) =>
    (await store.read((tx) => readChunkWork(tx, '', lease(0), before(moment)))).left
  const renew = (token = 'command') => store.transaction((tx) => renewChunkRun(tx, 'r1', token, 200_000))

  describe(`rows that are spread over ${name}`, () => {
    beforeEach(async () => {
      store = await open()
      await store.transaction(async (tx) => {
        await insertWorkspace(tx, workspace, true)
        await insertMember(tx, member)
        await insertKey(tx, key)
        await takeChunkRun(tx, run)
      })
    })

    afterEach(() => store.close())

    it('belong to one worker at a time, the oldest first, with the key of their run', async () => {
      await put({ id: 'c2', createdAt: 6 }, {})
      expect(await claim('a', 0)).toEqual({
        id: 'c1',
        run: 'r1',
        operation: 'accounts.enrich',
        calls: '[1]',
        token: 'a',
        taken: 1,
        keyId: key.id,
      })
      expect(await claim('b', 0)).toMatchObject({ id: 'c2' })
      expect(await claim('c', 0)).toBeUndefined()
      expect(await claim('c', 30_000)).toMatchObject({ id: 'c1', taken: 2 })
    })

    it('are answered only by the worker that has them', async () => {
      await put({})
      await claim('a', 0)
      await claim('b', 30_000)
      expect(await store.transaction((tx) => holdsChunk(tx, 'c1', 'a'))).toBe(false)
      expect(await store.transaction((tx) => renewChunk(tx, 'c1', 'a', 90_000))).toBe(false)
      expect(await answer('a')).toBe(false)
      expect(await store.transaction((tx) => holdsChunk(tx, 'c1', 'b'))).toBe(true)
      expect(await answer('b')).toBe(true)
      expect(await answer('b')).toBe(false)
      expect(await store.read((tx) => listAnsweredChunks(tx, 'r1', 9))).toEqual([
        { id: 'c1', taken: 2, replies: '[2]' },
      ])
      await store.transaction((tx) => dropChunks(tx, ['c1']))
      expect(await store.read((tx) => listAnsweredChunks(tx, 'r1', 9))).toEqual([])
    })

    it('are started for a live command, by workers of its source', async () => {
      await put({})
      expect(await work(0)).toEqual({ runs: 1, left: 0, isDue: true })
      expect(await work(0, 'https://other.example/')).toEqual({ runs: 0, left: 0, isDue: false })
      expect(await claim('a', 0, 'https://other.example/')).toBeUndefined()
      expect(await work(100_000)).toEqual({ runs: 0, left: 0, isDue: false })
      expect(await claim('a', 100_000)).toBeUndefined()
    })

    it('are withdrawn when no worker took them, or all of them', async () => {
      await put({}, { id: 'c2', createdAt: 6 }, { id: 'c3', createdAt: 7 })
      await claim('a', 0)
      await answer('a')
      await claim('b', 0)
      expect(await store.transaction((tx) => withdrawChunks(tx, 'r1', false))).toEqual(['c3'])
      expect(await store.transaction((tx) => withdrawChunks(tx, 'r1', true))).toEqual(['c2'])
      expect(await store.read((tx) => listAnsweredChunks(tx, 'r1', 9))).toHaveLength(1)
    })

    it('are deleted with their command when another one follows, and when it is long dead', async () => {
      await put({})
      await store.transaction((tx) => takeChunkRun(tx, { ...run, token: 'next' }))
      expect(await claim('a', 0)).toBeUndefined()
      expect(await renew()).toBe(false)
      expect(await store.transaction((tx) => holdsChunkRun(tx, 'r1', 'command'))).toBe(false)
      await store.transaction((tx) => dropChunkRun(tx, 'r1', 'command'))
      await put({})
      await tidy(100_000)
      expect(await work(0)).toMatchObject({ runs: 1, isDue: true })
      expect(await left(100_001)).toBe(1)
      await tidy(100_001)
      expect(await work(0)).toMatchObject({ isDue: false })
      expect(await left(100_001)).toBe(0)
    })

    it('wait for a command that was silent, until it and they are deleted', async () => {
      await put({})
      await tidy(100_000)
      expect([await renew(), await work(0)]).toEqual([true, { runs: 1, left: 0, isDue: true }])
      await tidy(200_001)
      expect([await renew(), await left(200_001)]).toEqual([false, 0])
    })

    it('are deleted when a person is erased', async () => {
      await put({})
      await store.transaction((tx) => releaseJobs(tx))
      expect(await work(0)).toEqual({ runs: 0, left: 0, isDue: false })
      expect(await renew()).toBe(false)
    })

    it('show how many workers take part', async () => {
      const count = (now: number) => store.read((tx) => countChunkWorkers(tx, '', now))
      await store.transaction((tx) => keepChunkWorker(tx, 'a', '', 10))
      await store.transaction((tx) => keepChunkWorker(tx, 'a', '', 20))
      await store.transaction((tx) => keepChunkWorker(tx, 'b', '', 10))
      await store.transaction((tx) => keepChunkWorker(tx, 'c', 'https://other.example/', 10))
      expect([await count(9), await count(10), await count(20)]).toEqual([2, 1, 0])
      await store.transaction((tx) => keepChunkWorker(tx, 'a', '', null))
      expect(await count(10)).toBe(0)
      expect(await left(11)).toBe(2)
      await tidy(11)
      expect([await count(9), await left(11)]).toEqual([0, 0])
    })

    it('find the principal by the id of a key', async () => {
      const found = await store.read((tx) => findPrincipalOfKey(tx, key.id))
      expect([found?.member.id, found?.workspace.id]).toEqual([member.id, workspace.id])
      expect(await store.read((tx) => findPrincipalOfKey(tx, 'nobody'))).toBeUndefined()
    })
  })
}
