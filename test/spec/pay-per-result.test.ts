import { describe, expect, it } from 'vitest'
import { isPriced } from '../../src/api/operations/facts.js'
import { type OperationId, operation, operations } from '../../src/api/operations/table.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
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
})
