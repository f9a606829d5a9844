import { describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { planRates } from '../support/plan-rates.js'
import { openService } from './service.js'

const service = perTest(openService)

const list = async (key = service.key) => (await service.ask('lists.list', {}, { key })).status

const rates = [...planRates, ['an unlisted plan (the Free limit)', 1] as const]

describe('plan rate limits', () => {
  it.each(rates)('allow %s %i requests per minute', async (plan, requests) => {
    await service.admin.setPlan(plan.replace(/ \(.*/, ''))
    const statuses = await Promise.all(Array.from({ length: requests }, () => list()))
    expect(new Set(statuses)).toEqual(new Set([200]))
    const { status, headers } = await service.ask('lists.list')
    expect([status, headers.get('ratelimit-limit'), headers.get('retry-after')]).toEqual([
      429,
      String(requests),
      '60',
    ])
  })

  it('count per user: all keys of a user share a counter', async () => {
    await service.admin.setPlan('Basic')
    const { key } = await service.admin.createKey({ member: 'me@localhost' })
    expect([await list(), await list(key), await list(), await list(key)]).toEqual([200, 200, 429, 429])
    expect(await list(await service.colleague())).toBe(200)
  })

  it('count separately for each endpoint group', async () => {
    await service.admin.setPlan('Free')
    expect([await list(), await list()]).toEqual([200, 429])
    expect((await service.ask('searches.list')).status).toBe(200)
    expect((await service.ask('personas.list')).status).toBe(200)
  })

  it.each([
    ['POST /accounts/search', 'POST /accounts/search/preview'],
    ['POST /leads/advanced_search', 'POST /leads/advanced_search/preview'],
  ])('count %s and its preview together', async (search, preview) => {
    await service.admin.setPlan('Basic')
    const statuses = []
    for (const endpoint of [preview, search, preview, search]) {
      statuses.push((await service.at(endpoint)).status)
      service.clock.advance(1_000)
    }
    expect(statuses).toEqual([200, 202, 429, 429])
  })

  it('open a window at its first request and reset it when it ends', async () => {
    await service.admin.setPlan('Basic')
    service.clock.set('2026-03-10T12:00:37.250Z')
    const first = await service.ask('lists.list')
    service.clock.advance(59_999)
    expect([await list(), await list()]).toEqual([200, 429])
    service.clock.advance(1)
    expect(await list()).toBe(200)
    expect(first.headers.get('ratelimit-reset')).toBe('60')
  })

  it('are stated by RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset', async () => {
    await service.ask('lists.list')
    service.clock.advance(20_000)
    const { headers } = await service.ask('lists.list')
    const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']
    expect(names.map((name) => headers.get(name))).toEqual(['100', '98', '40', null])
  })
})
