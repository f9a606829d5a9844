import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { isPriced } from '../../../src/api/operations/facts.js'
import { operations } from '../../../src/api/operations/table.js'
import { charge } from '../../../src/engine/credits/charge.js'
import {
  addMovement,
  type LedgerAccount,
  type MovementKind,
  readBalances,
  readConsumption,
  verifyLedger,
} from '../../../src/engine/credits/ledger.js'
import { findWorkspace, insertWorkspace, listMembers } from '../../../src/engine/tables/members.js'
import type { Driver, Value } from '../../../src/storage/driver/connection.js'
import { requests } from '../../spec/requests.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { openBench, randomIds } from '../../support/engine.js'

const bench = perTest(openBench)

const steps: readonly [MovementKind, LedgerAccount, LedgerAccount][] = [
  ['top_up', 'issued', 'credits'],
  ['allocation', 'issued', 'credits'],
  ['adjustment', 'credits', 'issued'],
  ['charge', 'credits', 'spent'],
  ['hold', 'credits', 'held'],
  ['settle', 'held', 'spent'],
  ['release', 'held', 'credits'],
]

async function newWorkspace(): Promise<string> {
  const workspace = await bench.store.read((tx) => findWorkspace(tx))
  if (!workspace) throw new Error('no workspace')
  const id = randomIds.uuid()
  await bench.store.transaction((tx) => insertWorkspace(tx, { ...workspace, id, name: id }, false))
  return id
}

describe('P01: balanced, append-only', () => {
  it('keeps the sum of all entries at zero, every balance as recomputed, and nothing below zero', async () => {
    const command = fc.record({ step: fc.constantFrom(...steps), amount: fc.integer({ min: 1, max: 700 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
        const workspaceId = await newWorkspace()
        const model = { issued: 0, credits: 0, held: 0, spent: 0 }
        for (const { step, amount } of commands) {
          const [kind, debit, credit] = step
          const allowed = debit === 'issued' || model[debit] >= amount
          const moved = bench.store
            .transaction((tx) =>
              addMovement(tx, { workspace_id: workspaceId, kind, debit, credit, amount, at: 0 }),
            )
            .then(
              () => true,
              () => false,
            )
          expect(await moved).toBe(allowed)
          if (!allowed) continue
          model[debit] -= amount
          model[credit] += amount
        }
        const { issued, ...balances } = model
        expect(await bench.store.read((tx) => readBalances(tx, workspaceId))).toMatchObject(balances)
        expect(issued + balances.credits + balances.held + balances.spent).toBe(0)
        expect((await verifyLedger(bench.store, workspaceId)).problems).toEqual([])
      }),
      { numRuns: tries(200, 2_000) },
    )
  })

  it('is enforced by the database', async () => {
    const { admin, store } = bench
    await admin.addCredits(5)
    const insert = (values: string) =>
      `INSERT INTO movements (workspace_id, seq, kind, debit, credit, amount, credits, held, spent, created_at)
       SELECT id, ${values}, 0 FROM workspaces`
    const attempts = [
      'UPDATE movements SET amount = 1',
      'UPDATE movements SET amount = amount + 1 WHERE seq = 1',
      'UPDATE movements SET credits = 1000000',
      "UPDATE movements SET kind = 'allocation'",
      'UPDATE movements SET created_at = 1',
      'UPDATE movements SET seq = 9 WHERE seq = 2',
      "UPDATE movements SET member_id = 'x'",
      'UPDATE movements SET spent = 0',
      'UPDATE OR REPLACE movements SET seq = 1 WHERE seq = 2',
      'DELETE FROM movements',
      'DELETE FROM movements WHERE seq = 2',
      'DELETE FROM workspaces',
      insert("3, 'top_up', 'issued', 'credits', 5, 9999, 0, 0"),
      insert("4, 'top_up', 'issued', 'credits', 5, 1010, 0, 0"),
      insert("2, 'top_up', 'issued', 'credits', 5, 1010, 0, 0"),
      insert("3, 'top_up', 'issued', 'credits', -5, 1000, 0, 0"),
      insert("3, 'top_up', 'issued', 'credits', 0, 1005, 0, 0"),
      insert("3, 'charge', 'credits', 'spent', 1006, -1, 0, 1006"),
      insert("3, 'charge', 'issued', 'credits', 5, 1010, 0, 0"),
      insert("3, 'charge', 'credits', 'spent', 5, 1005, 0, 5"),
      insert("3, 'gift', 'issued', 'credits', 5, 1010, 0, 0"),
      insert("3, 'charge', 'credits', 'credits', 5, 1005, 0, 0"),
      insert("2, 'top_up', 'issued', 'credits', 5, 1005, 0, 0").replace('INSERT', 'INSERT OR REPLACE'),
    ]
    const trying = (sql: string) => store.transaction((tx) => tx.exec(sql))
    for (const sql of attempts) await expect(trying(sql), sql).rejects.toThrow()
    const sum = 'SELECT sum(amount) AS total FROM entries'
    const balanced = await store.read((tx) => tx.get<{ total: number }>(sum))
    expect(Number(balanced?.total)).toBe(0)
    expect(await admin.verify()).toEqual({ ok: true, movements: 2, problems: [] })
  })

  it('names the wrong movement and balance', async () => {
    const broken: Driver = {
      ...bench.store,
      read: (work) =>
        bench.store.read((tx) =>
          work({
            ...tx,
            all: async <T>(sql: string, ...values: Value[]) =>
              (await tx.all<{ credits: number }>(sql, ...values)).map((movement) => ({
                ...movement,
                credits: movement.credits + 1,
              })) as T[],
          }),
        ),
    }
    const { problems } = await verifyLedger(broken, bench.workspaceId)
    expect(problems).toEqual(['movement 1: credits is 1001, should be 1000'])
  })
})

const enrich = (domain = 'known.example') => bench.call('accounts.enrich', { domain })

describe('P02: no overspend', () => {
  it('succeeds for exactly what the balance pays for, whatever the concurrency', async () => {
    await bench.admin.setCredits(100)
    const replies = await Promise.all(Array.from({ length: 640 }, () => enrich()))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(100)
    expect(replies.filter(({ status }) => status === 402)).toHaveLength(540)
    expect(await bench.balance()).toBe(0)
    expect(bench.source.asked).toBeLessThanOrEqual(640)
  })

  it('withholds a result when the balance is drained between check and charge', async () => {
    bench.source.before = async () => {
      await bench.admin.setCredits(0)
    }
    const reply = await enrich()
    expect(reply).toMatchObject({ status: 402, credits: 0 })
    expect(reply.body).toEqual({
      error: 'Insufficient credits: need 1 credits, have 0',
      code: 'insufficient_credits',
      top_up_url: 'http://127.0.0.1:4010/top-up',
    })
  })
})

describe('P03: pay per result, check before work', () => {
  it('requires the sum of the requested types for a waterfall, times the contacts for bulk', async () => {
    await bench.admin.setCredits(65)
    const need = async (id: 'contacts.enrich_sync' | 'contacts.bulk_enrich') => {
      const network_url = 'https://www.network.example/in/ada'
      const types = { enrichment_type: ['email', 'personal_email', 'phone'] }
      const [member] = await bench.admin.members()
      await bench.admin.changeMember(member?.email ?? '', { consentPersonalEmail: true })
      const contact = { ...requests['contacts.enrich_sync'], network_url, ...types }
      const bulk = { ...requests['contacts.bulk_enrich'], ...types, contacts: [contact, contact] }
      return (await bench.call(id, id === 'contacts.bulk_enrich' ? bulk : contact)).body
    }
    expect(await need('contacts.enrich_sync')).toMatchObject({ status: 'finished', credits_used: 0 })
    expect(await need('contacts.bulk_enrich')).toMatchObject({
      error: 'Insufficient credits: need 72 credits, have 65',
    })
  })

  it('answers free operations with balance 0 and the weekly limit reached', async () => {
    await bench.admin.setCredits(0)
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 0 })
    const free = operations().filter((operation) => !isPriced(operation) && !operation.quota)
    for (const { id } of free) expect([402, 403], id).not.toContain((await bench.call(id, {})).status)
  })
})

describe('P05: explainable consumption', () => {
  const zones = ['UTC', 'America/Los_Angeles', 'Asia/Kathmandu', 'Pacific/Kiritimati', 'Europe/Paris']
  const { TZ } = process.env
  afterEach(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })

  it('equals the brute-force sum of any inclusive range of UTC days', async () => {
    const { workspace } = await bench.admin.init()
    const [member] = await bench.store.read((tx) => listMembers(tx, workspace.id))
    if (!member) throw new Error('no member')
    await bench.admin.addCredits(1_000_000)
    const edges = '2026-02-28 2026-03-01 2026-12-31 2027-01-01 2028-02-28 2028-02-29 2028-03-01'.split(' ')
    const moment = fc.tuple(fc.constantFrom(...edges), fc.integer({ min: -2_000, max: 2_000 }))
    const spent: { at: number; credits: number }[] = []
    for (const [day, offset] of fc.sample(moment, tries(3_000, 10_000)))
      spent.push({ at: Date.parse(`${day}T00:00:00Z`) + offset, credits: 1 + (Math.abs(offset) % 40) })
    await bench.store.transaction(async (tx) => {
      for (const { at, credits } of spent)
        await charge(tx, { workspace, member, operation: 'accounts.enrich', credits, topUpUrl: '' }, at)
    })
    await bench.admin.setPlan('Scale')
    const ranges = fc.sample(
      fc.tuple(fc.constantFrom(...edges), fc.constantFrom(...edges)),
      tries(300, 1_000),
    )
    for (const [at, [start_date, end_date]] of ranges.entries()) {
      process.env.TZ = zones[at % zones.length]
      bench.clock.advance(60_000)
      const reply = await bench.call('credits.consumption', { start_date, end_date })
      if (end_date < start_date) {
        expect(reply.status).toBe(422)
        continue
      }
      const from = Date.parse(`${start_date}T00:00:00.000Z`)
      const to = Date.parse(`${end_date}T23:59:59.999Z`)
      const sum = spent
        .filter(({ at }) => at >= from && at <= to)
        .reduce((total, { credits }) => total + credits, 0)
      expect(reply.body).toMatchObject({ start_date, end_date, credits_consumed: sum })
    }
  })

  it('is grouped by member, operation and day', async () => {
    const { admin, store } = bench
    const { workspace } = await admin.init()
    const [owner] = await store.read((tx) => listMembers(tx, workspace.id))
    if (!owner) throw new Error('no member')
    const [day, operation, member] = [86_400_000, 'accounts.enrich', owner.email] as const
    await store.transaction(async (tx) => {
      for (const [at, credits] of [
        [day - 1, 3],
        [day, 2],
      ] as const)
        await charge(tx, { workspace, member: owner, operation, credits, topUpUrl: '' }, at)
    })
    const range = { from: 0, to: 2 * day }
    type Grouping = 'day' | 'operation' | 'member'
    const by = (given: object, groups: readonly Grouping[]) =>
      store.read((tx) => readConsumption(tx, workspace.id, { ...range, ...given }, groups))
    const [first, second] = [
      { day: '1970-01-01', credits: 3, movements: 1 },
      { day: '1970-01-02', credits: 2, movements: 1 },
    ]
    expect(await by({}, ['day'])).toEqual([first, second])
    expect(await by({ from: day }, ['day'])).toEqual([second])
    expect(await by({}, ['operation'])).toEqual([{ operation, credits: 5, movements: 2 }])
    expect(await by({}, ['member'])).toEqual([{ member, credits: 5, movements: 2 }])
    const all = [first, second].map((one) => ({ member, operation, ...one }))
    expect(await by({}, ['member', 'operation', 'day'])).toEqual(all)
    expect(await by({ member: 'nobody' }, ['day'])).toEqual([])
  })
})

describe('monthly credits', () => {
  it('are granted once for every renewal day that has passed', async () => {
    await bench.admin.setClock(Date.parse('2026-04-09T23:59:59Z'), true)
    await bench.call('credits.show', {})
    expect(await bench.balance()).toBe(1_000)
    await bench.admin.setClock(Date.parse('2026-04-10T00:00:00Z'), true)
    await Promise.all([bench.call('credits.show', {}), bench.call('account.show', {})])
    expect(await bench.balance()).toBe(6_000)
    await bench.admin.setPlan('Free')
    await bench.admin.setClock(Date.parse('2026-06-30T00:00:00Z'), true)
    expect((await bench.call('credits.show', {})).body).toMatchObject({ credits: { enrichment: 6_100 } })
    await bench.admin.resetClock()
    await bench.call('credits.show', {})
    expect(await bench.balance()).toBe(6_100)
  })
})
