import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Persona, Store } from '../../src/engine/ports/ports.js'
import { key, member, workspace } from './rows.js'
import { describeChunks } from './store-chunks.js'
import { describeDeliveries } from './store-deliveries.js'
import { describeWork } from './store-work.js'

const claim = { fingerprint: 'f', token: 't', leaseUntil: 10, createdAt: 5, status: null, body: null }

const persona: Persona = {
  id: 'p1',
  workspaceId: 'w1',
  name: 'Buyers',
  jobTitles: ['Head of Sales'],
  excludedJobTitles: [],
  functions: ['25'],
  seniorityLevels: [],
  createdAt: 5,
  updatedAt: 6,
}

/** What every store must do, whatever database is behind it. */
export function describeStore(name: string, open: () => Promise<Store>): void {
  describeWork(name, open)
  describeDeliveries(name, open)
  describeChunks(name, open)
  describe(`store over ${name}`, () => {
    let store: Store

    beforeEach(async () => {
      store = await open()
      await store.transaction(async (tx) => {
        await tx.addWorkspace(workspace, true)
        await tx.addMember(member)
        await tx.addKey(key)
      })
    })

    afterEach(() => store.close())

    it('returns records as they were stored', async () => {
      const principal = await store.read((reads) => reads.principal(key.hash))
      expect(principal).toEqual({ key, member, workspace, clock: { offsetMs: 0, frozenAt: null } })
      expect(await store.read((reads) => reads.workspaces())).toEqual([workspace])
      expect(await store.read((reads) => reads.members('w1'))).toEqual([member])
      expect(await store.read((reads) => reads.keys('w1'))).toEqual([key])
    })

    it('returns nothing for an unknown id', async () => {
      await store.read(async (reads) => {
        expect(await reads.principal('b'.repeat(64))).toBeUndefined()
        expect(await reads.workspace('w2')).toBeUndefined()
        expect(await reads.members('w2')).toEqual([])
        expect(await reads.counter('nobody', 'nothing')).toBeUndefined()
        expect(await reads.reply('w1', 'nothing')).toBeUndefined()
        expect(await reads.position('w1')).toEqual({ seq: 0, credits: 0, held: 0, spent: 0 })
      })
    })

    it('changes only the given fields', async () => {
      await store.transaction(async (tx) => {
        await tx.changeWorkspace('w1', { plan: 'Free', networkSession: false, dailyCompanies: null })
        await tx.changeMember('m1', { weeklyLimit: null })
        await tx.changeMember('m1', {})
        await tx.setClock({ offsetMs: -5, frozenAt: 7 })
        expect(await tx.revokeKey('k1', 3)).toBe(true)
        expect(await tx.revokeKey('k1', 4)).toBe(false)
      })
      expect(await store.read((reads) => reads.principal(key.hash))).toEqual({
        key: { ...key, revokedAt: 3 },
        member: { ...member, weeklyLimit: null },
        workspace: { ...workspace, plan: 'Free', networkSession: false, dailyCompanies: null },
        clock: { offsetMs: -5, frozenAt: 7 },
      })
    })

    it('uses one workspace at a time', async () => {
      await store.transaction((tx) => tx.addWorkspace({ ...workspace, id: 'w2', name: 'Second' }, false))
      expect((await store.read((reads) => reads.workspace()))?.id).toBe('w1')
      await store.transaction((tx) => tx.useWorkspace('w2'))
      expect((await store.read((reads) => reads.workspace()))?.id).toBe('w2')
    })

    it('keeps nothing of a failed transaction', async () => {
      const failed = store.transaction(async (tx) => {
        await tx.setCounter('o', 'n', { startedAt: 1, count: 1 })
        throw new Error('no')
      })
      await expect(failed).rejects.toThrow('no')
      expect(await store.read((reads) => reads.counter('o', 'n'))).toBeUndefined()
    })

    it('lets counters that began in the future begin now, and keeps their counts', async () => {
      await store.transaction(async (tx) => {
        await tx.setCounter('o', 'past', { startedAt: 1_000, count: 3 })
        await tx.setCounter('o', 'future', { startedAt: 3_000, count: 4 })
      })
      const hasAfter = (now: number) => store.read((reads) => reads.hasCounterAfter(now))
      expect([await hasAfter(2_000), await hasAfter(3_000)]).toEqual([true, false])
      await store.transaction((tx) => tx.restartCounters(2_000))
      expect(await hasAfter(2_000)).toBe(false)
      expect(await store.read((reads) => reads.counter('o', 'past'))).toEqual({ startedAt: 1_000, count: 3 })
      expect(await store.read((reads) => reads.counter('o', 'future'))).toEqual({
        startedAt: 2_000,
        count: 4,
      })
    })

    it('loses no count under concurrency', async () => {
      const hit = () =>
        store.transaction(async (tx) => {
          const count = (await tx.lockCounter('o', 'n'))?.count ?? 0
          await tx.setCounter('o', 'n', { startedAt: 1, count: count + 1 })
        })
      await Promise.all(Array.from({ length: 200 }, hit))
      expect(await store.read((reads) => reads.counter('o', 'n'))).toEqual({ startedAt: 1, count: 200 })
      await store.transaction((tx) => tx.dropCounter('o', 'n'))
      expect(await store.read((reads) => reads.counter('o', 'n'))).toBeUndefined()
    })

    it('adds movements and sums consumption', async () => {
      const common = { workspaceId: 'w1', memberId: 'm1', reference: null, held: 0 }
      const grant = {
        ...common,
        kind: 'top_up',
        debit: 'issued',
        credit: 'credits',
        operation: null,
      } as const
      const charge = {
        ...common,
        kind: 'charge',
        debit: 'credits',
        credit: 'spent',
        operation: 'accounts.enrich',
      } as const
      const day = 86_400_000
      await store.transaction(async (tx) => {
        await tx.append({ ...grant, seq: 1, amount: 10, credits: 10, spent: 0, createdAt: 0 })
        await tx.append({ ...charge, seq: 2, amount: 3, credits: 7, spent: 3, createdAt: day - 1 })
        await tx.append({ ...charge, seq: 3, amount: 2, credits: 5, spent: 5, createdAt: day })
      })
      await store.read(async (reads) => {
        expect(await reads.position('w1')).toEqual({ seq: 3, credits: 5, held: 0, spent: 5 })
        expect(await reads.movements('w1', 1, 1)).toEqual([
          { ...charge, seq: 2, amount: 3, credits: 7, spent: 3, createdAt: day - 1 },
        ])
        expect(await reads.consumed('w1', 0, day)).toBe(3)
        expect(await reads.consumed('w1', day, 2 * day)).toBe(2)
        expect(await reads.consumed('w1', 0, 2 * day, 'm1')).toBe(5)
        expect(await reads.consumed('w1', 0, 2 * day, 'm2')).toBe(0)
        expect(await reads.consumption('w1', 0, 2 * day, 'day')).toEqual([
          { by: '1970-01-01', credits: 3, movements: 1 },
          { by: '1970-01-02', credits: 2, movements: 1 },
        ])
        expect(await reads.consumption('w1', 0, 2 * day, 'operation')).toEqual([
          { by: 'accounts.enrich', credits: 5, movements: 2 },
        ])
        expect(await reads.consumption('w1', 0, 2 * day, 'member')).toEqual([
          { by: 'ada@localhost', credits: 5, movements: 2 },
        ])
        expect(await reads.consumption('w1', 0, 2 * day, 'operation', { after: 1, last: 2 })).toEqual([
          { by: 'accounts.enrich', credits: 3, movements: 1 },
        ])
      })
    })

    it('refuses a movement that does not follow the last one', async () => {
      const movement = {
        workspaceId: 'w1',
        memberId: null,
        operation: null,
        reference: null,
        held: 0,
        spent: 0,
      }
      const grant = {
        ...movement,
        kind: 'top_up',
        debit: 'issued',
        credit: 'credits',
        amount: 5,
        createdAt: 0,
      } as const
      for (const wrong of [
        { seq: 2, credits: 5 },
        { seq: 1, credits: 6 },
        { seq: 1, credits: 5, held: 1 },
      ])
        await expect(store.transaction((tx) => tx.append({ ...grant, ...wrong }))).rejects.toThrow()
      await store.transaction((tx) => tx.append({ ...grant, seq: 1, credits: 5 }))
    })

    it('lets one process claim a key, and only its holder store the reply', async () => {
      await store.transaction(async (tx) => {
        expect(await tx.claim('w1', 'k', claim)).toBe(true)
        expect(await tx.claim('w1', 'k', { ...claim, token: 'other' })).toBe(false)
        expect(await tx.keepReply('w1', 'k', 'other', 200, '{}')).toBe(false)
        expect(await tx.renewClaim('w1', 'k', 't', 99)).toBe(true)
        expect(await tx.reply('w1', 'k')).toEqual({ ...claim, leaseUntil: 99 })
        expect(await tx.reclaim('w1', 'k', 'other', claim)).toBe(false)
        expect(await tx.reclaim('w1', 'k', 't', { ...claim, token: 'u' })).toBe(true)
        expect(await tx.keepReply('w1', 'k', 't', 200, '{}')).toBe(false)
        expect(await tx.keepReply('w1', 'k', 'u', 200, '{}')).toBe(true)
        await tx.dropClaim('w1', 'k', 'u')
        expect(await tx.reply('w1', 'k')).toMatchObject({ status: 200, body: '{}' })
        expect(await tx.dropReplies(4, 10)).toBe(0)
        expect(await tx.dropReplies(5, 0)).toBe(0)
        expect(await tx.dropReplies(5, 10)).toBe(1)
      })
    })

    it('frees a key whose claim is dropped', async () => {
      await store.transaction(async (tx) => {
        await tx.claim('w1', 'k', claim)
        await tx.dropClaim('w1', 'k', 't')
        expect(await tx.reply('w1', 'k')).toBeUndefined()
      })
    })

    it('lists personas newest first, then by id, from a position on', async () => {
      const listed = await store.transaction(async (tx) => {
        for (const [id, createdAt] of [
          ['p1', 5],
          ['p3', 5],
          ['p2', 5],
          ['p0', 7],
          ['p9', 1],
        ] as const)
          await tx.addPersona({ ...persona, id, createdAt })
        const ids = async (skip: number, limit: number, after?: { createdAt: number; id: string }) =>
          (await tx.personas('w1', { skip, limit, ...(after ? { after } : {}) })).map(({ id }) => id)
        return [
          await ids(0, 10),
          await ids(2, 2),
          await ids(0, 10, { createdAt: 5, id: 'p2' }),
          await ids(0, 2, { createdAt: 6, id: 'gone' }),
          await ids(Number.MAX_SAFE_INTEGER, 501),
        ]
      })
      const all = ['p0', 'p3', 'p2', 'p1', 'p9']
      expect(listed).toEqual([all, ['p2', 'p1'], ['p1', 'p9'], ['p3', 'p2'], []])
      expect(await store.read((reads) => reads.countPersonas('w1'))).toBe(5)
    })

    it('returns and deletes a persona for its own workspace only', async () => {
      await store.transaction(async (tx) => {
        await tx.addWorkspace({ ...workspace, id: 'w2', name: 'Second' }, false)
        await tx.addPersona(persona)
        expect(await tx.persona('w1', 'p1')).toEqual(persona)
        expect([await tx.persona('w2', 'p1'), await tx.dropPersona('w2', 'p1')]).toEqual([undefined, false])
        expect([await tx.countPersonas('w2'), await tx.countPersonas('w1')]).toEqual([0, 1])
        expect([await tx.dropPersona('w1', 'p1'), await tx.dropPersona('w1', 'p1')]).toEqual([true, false])
      })
    })

    it('keeps the first cursor secret of a workspace', async () => {
      expect(await store.read((reads) => reads.cursorSecret('w1'))).toBeUndefined()
      expect(await store.transaction((tx) => tx.keepCursorSecret('w1', 'aa'))).toBe('aa')
      expect(await store.transaction((tx) => tx.keepCursorSecret('w1', 'bb'))).toBe('aa')
      expect(await store.read((reads) => reads.cursorSecret('w1'))).toBe('aa')
    })
  })
}
