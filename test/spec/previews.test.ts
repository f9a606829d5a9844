import { describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { openService } from './service.js'

const service = perTest(openService)

const previews = [
  'POST /leads/advanced_search/preview',
  'POST /accounts/search/preview',
  'POST /intents/accounts/stack/preview',
]

describe.each(previews)('what the service does: rule 2, %s', (endpoint) => {
  it('answers with balance 0, quota 0 and the weekly limit reached', async () => {
    const { admin } = service
    await admin.setCredits(0)
    await admin.setQuotas({ dailyProfiles: 0, dailyCompanies: 0, monthlyCompanies: 0 })
    await admin.changeMember('me@localhost', { weeklyLimit: 0 })
    expect(await service.at(endpoint)).toMatchObject({ status: 200, body: { total_count: 3 } })
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
