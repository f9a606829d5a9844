import { beforeEach, describe, expect, it } from 'vitest'
import { requests } from './requests.js'
import { idOf, openService, type Service } from './service.js'

let service: Service
beforeEach(async () => {
  service = await openService()
  await service.admin.setPlan('Scale')
})

const limits = [
  ['POST /accounts/headcount', 20, 'second', {}],
  ['POST /accounts/count_profiles', 20, 'second', {}],
  ['POST /accounts/', 20, 'minute', {}],
  ['POST /leads', 1, 'second', {}],
  ['POST /leads/advanced_search', 1, 'second', {}],
  ['POST /leads/advanced_search/preview', 1, 'second', {}],
  ['POST /leads/advanced_search/preview', 5, 'second', { live: false }],
  ['POST /accounts/company_hiring', 5, 'second', {}],
] as const

describe('endpoint-specific limits', () => {
  it.each(limits)('%s allows %i per %s, with %j', async (endpoint, limit, per, more) => {
    const fields = { ...requests[idOf(endpoint)], ...more }
    for (let count = 0; count < limit; count++)
      expect((await service.at(endpoint, fields)).status).toBeLessThan(300)

    const { status, body, headers } = await service.at(endpoint, fields)
    expect([status, body]).toEqual([429, { error: 'Rate limit exceeded. Please wait before retrying.' }])
    const seconds = per === 'second' ? '1' : '60'
    const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']
    expect(names.map((name) => headers.get(name))).toEqual([String(limit), '0', seconds, seconds])

    service.clock.advance(Number(seconds) * 1_000)
    expect((await service.at(endpoint, fields)).status).toBeLessThan(300)
  })

  it.each(limits)('%s counts per user', async (endpoint, limit, _, more) => {
    const fields = { ...requests[idOf(endpoint)], ...more }
    for (let count = 0; count <= limit; count++) await service.at(endpoint, fields)
    const { key } = await service.admin.createKey({ member: 'me@localhost' })
    expect((await service.at(endpoint, fields, { key })).status).toBe(429)
    expect((await service.at(endpoint, fields, { key: await service.colleague() })).status).toBeLessThan(300)
  })

  it('count in addition to the plan limit', async () => {
    await service.admin.setPlan('Basic')
    const statuses = []
    for (let count = 0; count < 3; count++) statuses.push((await service.ask('accounts.headcount')).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  it.each(['POST /accounts/single_enrich', 'POST /leads/single_enrich'])(
    'single enrichment has no rate limit: %s',
    async (endpoint) => {
      await service.admin.setPlan('Free')
      for (let count = 0; count < 50; count++) {
        const { status, headers } = await service.at(endpoint)
        expect([status, headers.get('ratelimit-limit')]).toEqual([200, null])
      }
    },
  )
})
