import { describe, expect, it } from 'vitest'
import { isPriced } from '../../src/api/operations/facts.js'
import { type OperationId, operation, operations } from '../../src/api/operations/table.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { countDeliveries } from '../../src/engine/tables/deliveries.js'
import { countJobs } from '../../src/engine/tables/jobs.js'
import { findReply } from '../../src/engine/tables/replies.js'
import { perTest } from '../support/each.js'
import { type Fields, requests } from './requests.js'
import { openService } from './service.js'

const service = perTest(openService)

const priced = operations()
  .filter(isPriced)
  .map(({ id }) => id)

/** What the usual request of an operation costs where everything is found. */
const hits: Partial<Record<OperationId, number>> = {
  'accounts.enrich': 1,
  'accounts.bulk_enrich': 1,
  'accounts.hiring': 2,
  'accounts.stack': 3,
  'leads.enrich': 1,
  'leads.bulk_enrich': 1,
  'contacts.enrich': 3,
  'contacts.enrich_sync': 3,
  'contacts.bulk_enrich': 6,
  'contacts.reverse_lookup': 1,
  'intents.hiring': 3,
  'intents.stack': 9,
  'messenger.validate': 1,
}

/** Requests that find nothing; the usual ones find nothing in an empty source. */
const misses: Partial<Record<OperationId, Fields>> = {
  'accounts.enrich': { domain: 'nobody.example' },
  'accounts.bulk_enrich': { accounts: [{ domain: 'nobody.example' }, { domain: 'none.example' }] },
  'leads.enrich': { network_url: 'https://www.network.example/in/nobody' },
  'leads.bulk_enrich': {
    leads: ['nobody', 'none'].map((name) => ({ network_url: `https://www.network.example/in/${name}` })),
  },
  'contacts.reverse_lookup': { email: 'ada@nobody.example' },
  'messenger.validate': { phone_number: '+33639980002' },
}

async function spentOn(id: OperationId, fields: Fields = requests[id]): Promise<[number, number]> {
  const { status } = await service.ask(id, fields)
  await service.work()
  const { credits, held } = await service.store.read((tx) => readBalances(tx, service.workspaceId))
  expect(held).toBe(0)
  expect(await service.admin.verify()).toMatchObject({ ok: true })
  return [status, 1_000 - credits]
}

const fail = () => {
  throw new Error('unplugged')
}

describe('P03: credits per successful result', () => {
  it.each(priced)('%s: a hit costs its price for each result', async (id) => {
    const [status, spent] = await spentOn(id)
    expect([status < 300, spent]).toEqual([true, hits[id]])
  })

  it('a phone of a waterfall costs 30 credits', async () => {
    const fields = { network_url: 'https://www.network.example/in/ada', enrichment_type: ['phone'] }
    expect(await spentOn('contacts.enrich_sync', fields)).toEqual([200, 30])
  })

  it.each(priced)('%s: a miss costs nothing', async (id) => {
    Object.assign(service.source, { matches: 0, openJobs: 0, uses: [], ladder: [] })
    expect((await spentOn(id, misses[id]))[1]).toBe(0)
  })

  it.each(priced)('%s: a failing source costs nothing', async (id) => {
    const asked = { company: fail, person: fail, personByEmail: fail, reachable: fail, providers: fail }
    Object.assign(service.source, { ...asked, stack: fail, jobs: fail, find: fail })
    const [status, spent] = await spentOn(id)
    // Work that is done later is accepted, and fails then.
    const { starts, ok } = operation(id)
    expect([status, spent]).toEqual([starts === undefined ? 500 : ok, 0])
  })

  it.each(priced)('%s: a result whose caller has gone is charged once', async (id) => {
    const first = await service.ask(id, undefined, { idempotencyKey: 'k' })
    const again = await service.ask(id, undefined, { idempotencyKey: 'k' })
    await service.work()
    expect(again.body).toEqual(first.body)
    expect(await service.balance()).toBe(1_000 - (hits[id] ?? 0))
  })

  it('all members and all API keys spend from the same pool', async () => {
    const { key } = await service.admin.createKey({ member: 'me@localhost' })
    for (const one of [service.key, key, await service.colleague()])
      await service.ask('accounts.enrich', undefined, { key: one })
    expect(await service.balance()).toBe(997)
  })
})

describe('P03: a balance or a weekly limit that does not suffice', () => {
  /** The balance is named where both refuse. */
  const states: readonly [credits: number, weekly: number | null, status: number, code: string][] = [
    [0, null, 402, 'insufficient_credits'],
    [0, 0, 402, 'insufficient_credits'],
    [1_000, 0, 403, 'workspace_limit_exceeded'],
  ]

  it.each(priced)('is noticed by %s before any work: it spends, enqueues and imports nothing', async (id) => {
    const { store, workspaceId, source } = service
    let providers = 0
    source.ladder = [{ name: 'counting', email: () => void providers++ }]
    const state = () =>
      store.read(async (tx) => ({
        position: await readBalances(tx, workspaceId),
        jobs: await countJobs(tx, workspaceId, {}),
        deliveries: await countDeliveries(tx, workspaceId),
        reply: await findReply(tx, workspaceId, 'key'),
      }))
    for (const [credits, weeklyLimit, status, code] of states) {
      await service.admin.setCredits(credits)
      await service.admin.changeMember('me@localhost', { weeklyLimit })
      const [before, asked] = [await state(), source.asked]
      const reply = await service.ask(id, undefined, { idempotencyKey: 'key' })
      expect([reply.status, reply.body.code, 'top_up_url' in reply.body]).toEqual([
        status,
        code,
        status === 402,
      ])
      expect(await service.work()).toEqual([])
      expect(await state()).toEqual(before)
      // What an import per record costs is only known once the matches are counted; that alone is asked for.
      expect([source.asked - asked, providers]).toEqual([id.startsWith('intents.') ? 1 : 0, 0])
    }
  })

  it('is explained with the shortfall, for operations priced per result as for others', async () => {
    await service.admin.setCredits(1)
    expect((await service.ask('accounts.stack')).body).toEqual({
      error: 'Insufficient credits: need 3 credits, have 1',
      code: 'insufficient_credits',
      top_up_url: 'http://127.0.0.1:4010/top-up',
    })
    for (const [id, need] of [
      ['intents.stack', 9],
      ['accounts.bulk_enrich', 2],
      ['leads.bulk_enrich', 2],
    ] as const)
      expect((await service.ask(id)).body.error).toBe(`Insufficient credits: need ${need} credits, have 1`)
  })

  it('is not lifted by credits where it is the weekly limit', async () => {
    await service.admin.changeMember('me@localhost', { weeklyLimit: 1 })
    for (const id of ['accounts.bulk_enrich', 'leads.bulk_enrich'] as const)
      expect((await service.ask(id)).status).toBe(403)
    expect((await service.ask('accounts.enrich')).status).toBe(200)
    await service.admin.addCredits(1_000)
    const { status, body } = await service.ask('accounts.enrich')
    expect([status, Object.keys(body)]).toEqual([403, ['error', 'code']])
  })
})
