import { describe, expect, it } from 'vitest'
import { isPriced } from '../../src/api/operations/facts.js'
import { type OperationId, operations } from '../../src/api/operations/table.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { countDeliveries } from '../../src/engine/tables/deliveries.js'
import { countJobs } from '../../src/engine/tables/jobs.js'
import { findReply } from '../../src/engine/tables/replies.js'
import { openService, type Service } from './service.js'

const shown = async (service: Service) =>
  (await service.ask('credits.show')).body as {
    credits: Record<string, number>
    limits: Record<string, number>
  }

const priced = operations()
  .filter(isPriced)
  .map(({ id, method, path }) => [`${method} ${path}`, id] as const)

describe('what the service does: credit prices', () => {
  const byPhone = { network_url: 'https://www.network.example/in/ada', enrichment_type: ['phone'] }

  it.each<[string, OperationId, Record<string, unknown> | undefined, number]>([
    ['waterfall email: 3 credits per email found', 'contacts.enrich_sync', undefined, 3],
    ['waterfall phone: 30 credits per phone found', 'contacts.enrich_sync', byPhone, 30],
    ['enrich account: 1 credit per resolved company', 'accounts.enrich', undefined, 1],
    ['enrich people: 1 credit per resolved person', 'leads.enrich', undefined, 1],
    ['reverse email lookup: 1 credit', 'contacts.reverse_lookup', undefined, 1],
    ['company hiring: 1 credit per job returned', 'accounts.hiring', undefined, 2],
    ['tech-stack import: 3 credits per imported company', 'intents.stack', undefined, 9],
  ])('charges as documented: %s', async (_, id, fields, credits) => {
    const service = await openService()
    expect((await service.ask(id, fields)).status).toBeLessThan(300)
    await service.work()
    expect(await service.balance()).toBe(1_000 - credits)
  })

  it('company hiring never returns more jobs than the available credits allow', async () => {
    const service = await openService()
    service.source.openJobs = 9
    await service.admin.setCredits(4)
    const { body } = await service.ask('accounts.hiring')
    expect(body).toMatchObject({ total_jobs: 9, truncated: true, jobs: { length: 4 } })
    expect(await service.balance()).toBe(0)
  })

  it.each<[OperationId, Record<string, unknown>]>([
    ['accounts.enrich', { domain: 'nobody.example' }],
    ['leads.enrich', { network_url: 'https://www.network.example/in/nobody' }],
    ['contacts.reverse_lookup', { email: 'ada@nobody.example' }],
    ['accounts.hiring', { company_domain: 'nobody.example' }],
    ['accounts.stack', { company_domain: 'nobody.example' }],
    ['messenger.validate', { phone_number: '+33639980002' }],
  ])('%s: a lookup that resolves nothing costs nothing', async (id, fields) => {
    const service = await openService()
    await service.ask(id, fields)
    expect(await service.balance()).toBe(1_000)
  })

  it('all members and all API keys spend from the same pool', async () => {
    const service = await openService()
    const { key } = await service.admin.createKey({ member: 'me@localhost' })
    for (const one of [service.key, key, await service.colleague()])
      await service.ask('accounts.enrich', undefined, { key: one })
    expect(await service.balance()).toBe(997)
  })
})

describe('what the service does: rules', () => {
  it('1: buying credits never raises a plan limit', async () => {
    const service = await openService()
    await service.ask('leads.advanced_search')
    await service.work()
    const before = await shown(service)
    await service.admin.addCredits(500)
    const after = await shown(service)
    expect(after.limits).toEqual(before.limits)
    expect(after.credits).toEqual({ ...before.credits, enrichment: 1_500 })
    expect(after.credits.daily_profile_scraping).toBe(2_497)
  })

  it('1: a limit resetting never adds credits', async () => {
    const service = await openService()
    await service.ask('accounts.search')
    await service.work()
    service.clock.set('2026-04-01T00:00:00Z')
    expect((await shown(service)).credits).toEqual({
      enrichment: 1_000,
      daily_profile_scraping: 2_500,
      daily_company_import: 2_500,
      monthly_company_import: 25_000,
    })
  })

  const refusals = priced.flatMap(([endpoint, id]) =>
    [402, 403].map((status) => [endpoint, status, id] as const),
  )
  it.each(refusals)(
    '3: %s checks before any work; rejected with %i, it spends, enqueues and imports nothing',
    async (_, status, id) => {
      const service = await openService()
      if (status === 402) await service.admin.setCredits(0)
      else await service.admin.changeMember('me@localhost', { weeklyLimit: 0 })
      const { store, workspaceId, source } = service
      const state = () =>
        store.read(async (tx) => ({
          position: await readBalances(tx, workspaceId),
          jobs: await countJobs(tx, workspaceId, {}),
          deliveries: await countDeliveries(tx, workspaceId),
          reply: await findReply(tx, workspaceId, 'key'),
        }))
      const before = await state()
      expect((await service.ask(id, undefined, { idempotencyKey: 'key' })).status).toBe(status)
      expect(await service.work()).toEqual([])
      expect(await state()).toEqual(before)
      // What an import per record costs is only known once the matches are counted; that alone is asked for.
      expect(source.asked).toBe(id.startsWith('intents.') ? 1 : 0)
    },
  )
})
