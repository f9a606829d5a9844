import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  appendMovement,
  listMovements,
  readBalances,
  readConsumed,
  readConsumption,
} from '../../src/engine/credits/ledger.js'
import { keepCursorSecret, readCursorSecret } from '../../src/engine/handlers/pagination.js'
import { findPersona, type Persona, personaTable } from '../../src/engine/handlers/personas.js'
import {
  countersNamed,
  dropCounter,
  hasCounterAfter,
  readCounter,
  restartCounters,
  setCounter,
} from '../../src/engine/tables/counters.js'
import {
  findPrincipal,
  findWorkspace,
  insertKey,
  insertMember,
  insertWorkspace,
  listKeys,
  listMembers,
  listWorkspaces,
  revokeKey,
  setUsedWorkspace,
  updateMember,
  updateWorkspace,
  writeClock,
} from '../../src/engine/tables/members.js'
import {
  dropClaim,
  dropReplies,
  findReply,
  insertClaim,
  renewClaim,
  replaceClaim,
  storeReply,
} from '../../src/engine/tables/replies.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { key, member, workspace } from './rows.js'
import { describeChunks } from './store-chunks.js'
import { describeDeliveries } from './store-deliveries.js'
import { describeWork } from './store-work.js'

const claim = { fingerprint: 'f', token: 't', lease_until: 10, created_at: 5, status: null, body: null }

const persona: Persona = {
  id: 'p1',
  workspace_id: 'w1',
  name: 'Buyers',
  job_titles: ['Head of Sales'],
  excluded_job_titles: [],
  functions: ['25'],
  seniority_levels: [],
  created_at: 5,
  updated_at: 6,
}

/** What every store must do, whatever database is behind it. */
export function describeStore(name: string, open: () => Promise<Driver>): void {
  describeWork(name, open)
  describeDeliveries(name, open)
  describeChunks(name, open)
  describe(`store over ${name}`, () => {
    let store: Driver

    beforeEach(async () => {
      store = await open()
      await store.transaction(async (tx) => {
        await insertWorkspace(tx, workspace, true)
        await insertMember(tx, member)
        await insertKey(tx, key)
      })
    })

    afterEach(() => store.close())

    it('returns records as they were stored', async () => {
      const principal = await store.read((tx) => findPrincipal(tx, key.hash))
      const clock = { offsetMs: 0, frozenAt: null }
      expect(principal).toEqual({ key, member, workspace, clock, suppresses: false, faults: 0 })
      expect(await store.read((tx) => listWorkspaces(tx))).toEqual([workspace])
      expect(await store.read((tx) => listMembers(tx, 'w1'))).toEqual([member])
      expect(await store.read((tx) => listKeys(tx, 'w1'))).toEqual([key])
    })

    it('returns nothing for an unknown id', async () => {
      await store.read(async (tx) => {
        expect(await findPrincipal(tx, 'b'.repeat(64))).toBeUndefined()
        expect(await findWorkspace(tx, 'w2')).toBeUndefined()
        expect(await listMembers(tx, 'w2')).toEqual([])
        expect(await readCounter(tx, 'nobody', 'nothing')).toBeUndefined()
        expect(await findReply(tx, 'w1', 'nothing')).toBeUndefined()
        expect(await readBalances(tx, 'w1')).toEqual({ seq: 0, credits: 0, held: 0, spent: 0 })
      })
    })

    it('changes only the given fields', async () => {
      await store.transaction(async (tx) => {
        await updateWorkspace(tx, 'w1', { plan: 'Free', networkSession: false, dailyCompanies: null })
        await updateMember(tx, 'm1', { weeklyLimit: null })
        await updateMember(tx, 'm1', {})
        await writeClock(tx, { offsetMs: -5, frozenAt: 7 })
        expect(await revokeKey(tx, 'k1', 3)).toBe(true)
        expect(await revokeKey(tx, 'k1', 4)).toBe(false)
      })
      expect(await store.read((tx) => findPrincipal(tx, key.hash))).toEqual({
        key: { ...key, revokedAt: 3 },
        member: { ...member, weeklyLimit: null },
        workspace: { ...workspace, plan: 'Free', networkSession: false, dailyCompanies: null },
        clock: { offsetMs: -5, frozenAt: 7 },
        suppresses: false,
        faults: 0,
      })
    })

    it('uses one workspace at a time', async () => {
      await store.transaction((tx) => insertWorkspace(tx, { ...workspace, id: 'w2', name: 'Second' }, false))
      expect((await store.read((tx) => findWorkspace(tx)))?.id).toBe('w1')
      await store.transaction((tx) => setUsedWorkspace(tx, 'w2'))
      expect((await store.read((tx) => findWorkspace(tx)))?.id).toBe('w2')
    })

    it('keeps nothing of a failed transaction', async () => {
      const failed = store.transaction(async (tx) => {
        await setCounter(tx, 'o', 'n', { started_at: 1, count: 1 })
        throw new Error('no')
      })
      await expect(failed).rejects.toThrow('no')
      expect(await store.read((tx) => readCounter(tx, 'o', 'n'))).toBeUndefined()
    })

    it('returns the counters of a name with their owners', async () => {
      await store.transaction(async (tx) => {
        await setCounter(tx, 'b', 'n', { started_at: 1, count: 2 })
        await setCounter(tx, 'a', 'n', { started_at: 3, count: 4 })
        await setCounter(tx, 'a', 'other', { started_at: 1, count: 1 })
      })
      expect(await store.read((tx) => countersNamed(tx, 'n'))).toEqual([
        { owner: 'a', started_at: 3, count: 4 },
        { owner: 'b', started_at: 1, count: 2 },
      ])
    })

    it('lets counters that began in the future begin now, and keeps their counts', async () => {
      await store.transaction(async (tx) => {
        await setCounter(tx, 'o', 'past', { started_at: 1_000, count: 3 })
        await setCounter(tx, 'o', 'future', { started_at: 3_000, count: 4 })
      })
      const hasAfter = (now: number) => store.read((tx) => hasCounterAfter(tx, now))
      expect([await hasAfter(2_000), await hasAfter(3_000)]).toEqual([true, false])
      await store.transaction((tx) => restartCounters(tx, 2_000))
      expect(await hasAfter(2_000)).toBe(false)
      expect(await store.read((tx) => readCounter(tx, 'o', 'past'))).toEqual({ started_at: 1_000, count: 3 })
      expect(await store.read((tx) => readCounter(tx, 'o', 'future'))).toEqual({
        started_at: 2_000,
        count: 4,
      })
    })

    it('loses no count under concurrency', async () => {
      const hit = () =>
        store.transaction(async (tx) => {
          const count = (await readCounter(tx, 'o', 'n'))?.count ?? 0
          await setCounter(tx, 'o', 'n', { started_at: 1, count: count + 1 })
        })
      await Promise.all(Array.from({ length: 200 }, hit))
      expect(await store.read((tx) => readCounter(tx, 'o', 'n'))).toEqual({ started_at: 1, count: 200 })
      await store.transaction((tx) => dropCounter(tx, 'o', 'n'))
      expect(await store.read((tx) => readCounter(tx, 'o', 'n'))).toBeUndefined()
    })

    it('adds movements and sums consumption', async () => {
      const common = { workspace_id: 'w1', member_id: 'm1', reference: null, held: 0 }
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
        await appendMovement(tx, { ...grant, seq: 1, amount: 10, credits: 10, spent: 0, created_at: 0 })
        await appendMovement(tx, { ...charge, seq: 2, amount: 3, credits: 7, spent: 3, created_at: day - 1 })
        await appendMovement(tx, { ...charge, seq: 3, amount: 2, credits: 5, spent: 5, created_at: day })
      })
      await store.read(async (tx) => {
        expect(await readBalances(tx, 'w1')).toEqual({ seq: 3, credits: 5, held: 0, spent: 5 })
        expect(await listMovements(tx, 'w1', 1, 1)).toEqual([
          { ...charge, seq: 2, amount: 3, credits: 7, spent: 3, created_at: day - 1 },
        ])
        expect(await readConsumed(tx, 'w1', 0, day)).toBe(3)
        expect(await readConsumed(tx, 'w1', day, 2 * day)).toBe(2)
        expect(await readConsumed(tx, 'w1', 0, 2 * day, 'm1')).toBe(5)
        expect(await readConsumed(tx, 'w1', 0, 2 * day, 'm2')).toBe(0)
        const [member, operation] = ['ada@localhost', 'accounts.enrich']
        const range = { from: 0, to: 2 * day }
        expect(await readConsumption(tx, 'w1', range, ['day'])).toEqual([
          { day: '1970-01-01', credits: 3, movements: 1 },
          { day: '1970-01-02', credits: 2, movements: 1 },
        ])
        expect(await readConsumption(tx, 'w1', range, ['operation'])).toEqual([
          { operation, credits: 5, movements: 2 },
        ])
        expect(await readConsumption(tx, 'w1', range, ['member'])).toEqual([
          { member, credits: 5, movements: 2 },
        ])
        expect(await readConsumption(tx, 'w1', range, ['member', 'operation', 'day'])).toEqual([
          { member, operation, day: '1970-01-01', credits: 3, movements: 1 },
          { member, operation, day: '1970-01-02', credits: 2, movements: 1 },
        ])
        expect(await readConsumption(tx, 'w1', { ...range, member: 'm2' }, ['day'])).toEqual([])
      })
    })

    it('refuses a movement that does not follow the last one', async () => {
      const movement = {
        workspace_id: 'w1',
        member_id: null,
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
        created_at: 0,
      } as const
      for (const wrong of [
        { seq: 2, credits: 5 },
        { seq: 1, credits: 6 },
        { seq: 1, credits: 5, held: 1 },
      ])
        await expect(store.transaction((tx) => appendMovement(tx, { ...grant, ...wrong }))).rejects.toThrow()
      await store.transaction((tx) => appendMovement(tx, { ...grant, seq: 1, credits: 5 }))
    })

    it('lets one process claim a key, and only its holder store the reply', async () => {
      await store.transaction(async (tx) => {
        expect(await insertClaim(tx, 'w1', 'k', claim)).toBe(true)
        expect(await insertClaim(tx, 'w1', 'k', { ...claim, token: 'other' })).toBe(false)
        expect(await storeReply(tx, 'w1', 'k', 'other', 200, '{}')).toBe(false)
        expect(await renewClaim(tx, 'w1', 'k', 't', 99)).toBe(true)
        expect(await findReply(tx, 'w1', 'k')).toEqual({ ...claim, lease_until: 99 })
        expect(await replaceClaim(tx, 'w1', 'k', 'other', claim)).toBe(false)
        expect(await replaceClaim(tx, 'w1', 'k', 't', { ...claim, token: 'u' })).toBe(true)
        expect(await storeReply(tx, 'w1', 'k', 't', 200, '{}')).toBe(false)
        expect(await storeReply(tx, 'w1', 'k', 'u', 200, '{}')).toBe(true)
        await dropClaim(tx, 'w1', 'k', 'u')
        expect(await findReply(tx, 'w1', 'k')).toMatchObject({ status: 200, body: '{}' })
        expect(await dropReplies(tx, 4, 10)).toBe(0)
        expect(await dropReplies(tx, 5, 0)).toBe(0)
        expect(await dropReplies(tx, 5, 10)).toBe(1)
      })
    })

    it('frees a key whose claim is dropped', async () => {
      await store.transaction(async (tx) => {
        await insertClaim(tx, 'w1', 'k', claim)
        await dropClaim(tx, 'w1', 'k', 't')
        expect(await findReply(tx, 'w1', 'k')).toBeUndefined()
      })
    })

    it('lists personas newest first, then by id, from a position on', async () => {
      const listed = await store.transaction(async (tx) => {
        for (const [id, created_at] of [
          ['p1', 5],
          ['p3', 5],
          ['p2', 5],
          ['p0', 7],
          ['p9', 1],
        ] as const)
          await personaTable.insert(tx, { ...persona, id, created_at })
        const ids = async (skip: number, limit: number, after?: readonly [number, string]) =>
          (
            await personaTable.slice(
              tx,
              { skip, limit, ...(after ? { after } : {}) },
              'workspace_id = ?',
              'w1',
            )
          ).map(({ id }) => id)
        return [
          await ids(0, 10),
          await ids(2, 2),
          await ids(0, 10, [5, 'p2']),
          await ids(0, 2, [6, 'gone']),
          await ids(Number.MAX_SAFE_INTEGER, 501),
        ]
      })
      const all = ['p0', 'p3', 'p2', 'p1', 'p9']
      expect(listed).toEqual([all, ['p2', 'p1'], ['p1', 'p9'], ['p3', 'p2'], []])
      expect(await store.read((tx) => personaTable.count(tx, 'workspace_id = ?', 'w1'))).toBe(5)
    })

    it('returns a persona to its own workspace only', async () => {
      await store.transaction(async (tx) => {
        await insertWorkspace(tx, { ...workspace, id: 'w2', name: 'Second' }, false)
        await personaTable.insert(tx, persona)
        expect(await findPersona(tx, 'w1', 'p1')).toEqual(persona)
        expect(await findPersona(tx, 'w2', 'p1')).toBeUndefined()
        expect([
          await personaTable.count(tx, 'workspace_id = ?', 'w2'),
          await personaTable.count(tx, 'workspace_id = ?', 'w1'),
        ]).toEqual([0, 1])
      })
    })

    it('keeps the first cursor secret of a workspace', async () => {
      expect(await store.read((tx) => readCursorSecret(tx, 'w1'))).toBeUndefined()
      expect(await store.transaction((tx) => keepCursorSecret(tx, 'w1', 'aa'))).toBe('aa')
      expect(await store.transaction((tx) => keepCursorSecret(tx, 'w1', 'bb'))).toBe('aa')
      expect(await store.read((tx) => readCursorSecret(tx, 'w1'))).toBe('aa')
    })
  })
}
