import { describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { openService, type Service } from './service.js'

const service = perTest(openService)

const previews = [
  'POST /leads/advanced_search/preview',
  'POST /accounts/search/preview',
  'POST /intents/accounts/stack/preview',
]

const states: readonly [string, (service: Service) => Promise<unknown>][] = [
  ['balance 0', ({ admin }) => admin.setCredits(0)],
  ['quota 0', ({ admin }) => admin.setQuotas({ dailyProfiles: 0, dailyCompanies: 0, monthlyCompanies: 0 })],
  ['the weekly limit reached', ({ admin }) => admin.changeMember('me@localhost', { weeklyLimit: 0 })],
]

describe.each(previews)('what the service does: rule 2, %s', (endpoint) => {
  it.each(states)('answers with %s', async (_, arrange) => {
    await arrange(service)
    expect(await service.at(endpoint)).toMatchObject({ status: 200, body: { total_count: 3 } })
  })

  it('returns all of that at once', async () => {
    for (const [, arrange] of states) await arrange(service)
    expect((await service.at(endpoint)).status).toBe(200)
  })

  it('uses neither credits nor quotas', async () => {
    const before = (await service.ask('credits.show')).body
    await service.at(endpoint)
    await service.work()
    expect((await service.ask('credits.show')).body).toEqual(before)
  })

  it('returns the total and the first 25 matches', async () => {
    service.source.matches = 40
    const { body } = await service.at(endpoint)
    expect(body).toMatchObject({ total_count: 40, preview: { length: 25 } })
  })
})

describe('POST /intents/accounts/stack/preview', () => {
  it('returns a blurred sample with an exact count', async () => {
    const { body } = await service.ask('intents.stack_preview')
    const [company] = body.preview as Record<string, unknown>[]
    expect([company?.name, company?.domain, company?.website]).toEqual(['k•••', 'k•••', 'k•••'])
    expect(company?.technologies_found).toEqual([
      { technology_name: 'React', confidence: 'high', job_mentions: 2 },
    ])
  })
})
