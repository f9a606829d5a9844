import { describe, expect, it } from 'vitest'
import type { OperationId } from '../../src/api/operations/table.js'
import { perTest } from '../support/each.js'
import { openService } from './service.js'

const service = perTest(openService)

const left = async () => (await service.ask('credits.show')).body.credits as Record<string, number>

/** What an import takes of the balance, and then how many units of each quota. */
async function takenBy(id: OperationId) {
  const before = await left()
  const { status } = await service.ask(id)
  await service.work()
  const after = await left()
  return { status, taken: Object.keys(before).map((name) => (before[name] ?? 0) - (after[name] ?? 0)) }
}

const reached = { status: 422, text: "Can't proceed with the request. Plan limit reached." }
const refusal = async (id: OperationId) => {
  const { status, body } = await service.ask(id)
  return { status, text: body.message ?? body.error }
}

const profiles = ['leads.extract', 'leads.advanced_search', 'leads.search', 'intents.post_engagers'] as const
const companies = ['accounts.extract', 'accounts.search', 'intents.lookalikes', 'intents.growth'] as const

describe('plan quotas', () => {
  it.each<[OperationId, number[]]>([
    ...profiles.map((id): [OperationId, number[]] => [id, [3, 0, 0]]),
    ...companies.map((id): [OperationId, number[]] => [id, [0, 3, 3]]),
    ['intents.hiring', [0, 0, 0]],
    ['intents.stack', [0, 0, 0]],
    ['contacts.bulk_enrich', [0, 0, 0]],
    ['lists.create', [0, 0, 0]],
  ])('%s takes profiles of the day, companies of the day and of the month: %j', async (id, taken) => {
    expect((await takenBy(id)).taken.slice(1)).toEqual(taken)
  })

  it.each(profiles)('exhausted profiles give %s 422 with the exact text', async (id) => {
    await service.admin.setQuotas({ dailyProfiles: 0 })
    expect(await refusal(id)).toEqual(reached)
  })

  it.each(companies)('companies exhausted by day or by month give %s 422 with the exact text', async (id) => {
    await service.admin.setQuotas({ dailyCompanies: 0 })
    expect(await refusal(id)).toEqual(reached)
    await service.admin.setQuotas({ dailyCompanies: 9, monthlyCompanies: 0 })
    service.clock.advance(1_000)
    expect(await refusal(id)).toEqual(reached)
  })

  it('the daily quotas reset every day, the monthly one every month', async () => {
    await service.admin.setQuotas({ dailyProfiles: 3, dailyCompanies: 3, monthlyCompanies: 6 })
    await takenBy('leads.search')
    await takenBy('accounts.search')
    expect([await refusal('leads.search'), await refusal('accounts.search')]).toEqual([reached, reached])
    service.clock.set('2026-03-10T23:59:59.999Z')
    expect(await refusal('leads.search')).toEqual(reached)
    service.clock.set('2026-03-11T00:00:00Z')
    expect((await takenBy('leads.search')).status).toBe(202)
    expect((await takenBy('accounts.search')).status).toBe(202)
    service.clock.set('2026-03-12T00:00:00Z')
    expect((await refusal('leads.search')).status).toBe(202)
    expect(await refusal('accounts.search')).toEqual(reached)
    service.clock.set('2026-04-01T00:00:00Z')
    expect((await refusal('accounts.search')).status).toBe(202)
  })

  it('an import delivers at most the remainder, and says that it was cut short', async () => {
    await service.admin.setQuotas({ dailyCompanies: 2 })
    expect((await takenBy('accounts.search')).taken).toEqual([0, 0, 2, 2])
    await service.admin.setQuotas({ dailyCompanies: 4 })
    await service.ask('accounts.search')
    expect(await service.work()).toMatchObject([
      { event: 'account_import.completed', total: 2, truncated: true, accounts: { length: 2 } },
    ])
  })

  it('keep their usage when a ceiling, the plan or the balance changes, and change no credit when they reset', async () => {
    await takenBy('leads.search')
    await service.admin.setQuotas({ dailyProfiles: 150 })
    await service.admin.setPlan('Scale')
    await service.admin.addCredits(500)
    const { body } = await service.ask('credits.show')
    expect(body).toMatchObject({
      credits: { daily_profile_scraping: 147, enrichment: 1_500 },
      limits: { daily_profile_scraping: 150, daily_company_import: 10_000, monthly_company_import: 100_000 },
    })
    service.clock.set('2026-04-01T00:00:00Z')
    expect(await left()).toEqual({
      enrichment: 1_500,
      daily_profile_scraping: 150,
      daily_company_import: 10_000,
      monthly_company_import: 100_000,
    })
  })

  it('extraction spends no credits, with none at all', async () => {
    await service.admin.setCredits(0)
    expect(await takenBy('leads.search')).toEqual({ status: 202, taken: [0, 3, 0, 0] })
    expect((await takenBy('accounts.search')).status).toBe(202)
  })
})

describe('the weekly credit limit of a member', () => {
  const limitWeek = (weeklyLimit: number | null) =>
    service.admin.changeMember('me@localhost', { weeklyLimit })
  const enrich = async (key?: string) =>
    (await service.ask('accounts.enrich', undefined, key === undefined ? {} : { key })).status

  it('counts from Monday 00:00 UTC, for each member', async () => {
    await limitWeek(1)
    service.clock.set('2026-03-15T23:59:59Z')
    expect([await enrich(), await enrich(), await enrich(await service.colleague())]).toEqual([200, 403, 200])
    service.clock.set('2026-03-16T00:00:00Z')
    expect([await enrich(), await enrich()]).toEqual([200, 403])
  })

  it('counts what was spent before the limit was set', async () => {
    for (let count = 0; count < 3; count++) await enrich()
    await limitWeek(4)
    expect([await enrich(), await enrich()]).toEqual([200, 403])
    await limitWeek(null)
    expect(await enrich()).toBe(200)
    await limitWeek(6)
    expect([await enrich(), await enrich()]).toEqual([200, 403])
  })

  it('applies to a request that was in flight when it was set', async () => {
    await enrich()
    const held = service.source.hold()
    const slow = enrich()
    const release = await held
    await limitWeek(2)
    expect(await enrich()).toBe(200)
    release()
    expect([await slow, await enrich()]).toEqual([403, 403])
    const [member] = await service.admin.members()
    expect(member?.spentThisWeek).toBe(2)
  })
})
