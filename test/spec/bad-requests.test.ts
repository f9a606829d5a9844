import { describe, expect, it } from 'vitest'
import type { OperationId } from '../../src/api/operations/table.js'
import { perTest } from '../support/each.js'
import { type Fields, requests } from './requests.js'
import { openService } from './service.js'

const service = perTest(openService)

const refusal = async (id: OperationId, fields: Fields) => {
  const { status, body } = await service.ask(id, fields)
  return [status, body.message ?? body.error]
}

describe('errors: 400 is the answer to', () => {
  it('an invalid request', async () => {
    expect(await refusal('lists.list', { cursor: 'x', page: 1 })).toEqual([
      400,
      'Use cursor or page, not both',
    ])
  })

  it('a request without required keys', async () => {
    expect(await refusal('accounts.extract', {})).toEqual([
      400,
      'Missing required keys: search_url, name, webhook_url',
    ])
  })

  it('an invalid URL', async () => {
    const fields = { ...requests['accounts.extract'], search_url: 'https://www.network.example/in/ada' }
    expect(await refusal('accounts.extract', fields)).toEqual([
      400,
      'search_url must be a valid company search URL',
    ])
  })

  it('a people search without a filter', async () => {
    const [status, text] = await refusal('leads.search', { company_domain: 'known.example' })
    expect([status, text]).toEqual([
      400,
      'Provide at least one of: persona_id, job_titles, excluded_job_titles, functions, seniority_levels, included_locations, excluded_locations',
    ])
  })

  it('a tampered pagination cursor', async () => {
    for (const name of ['One', 'Two'])
      await service.ask('lists.create', { ...requests['lists.create'], name })
    const { body } = await service.ask('lists.list', { per_page: 1 })
    const { next_cursor: cursor } = body.pagination as { next_cursor: string }
    expect((await service.ask('lists.list', { cursor })).status).toBe(200)
    const tampered = cursor.slice(0, -1) + (cursor.endsWith('A') ? 'B' : 'A')
    expect(await refusal('lists.list', { cursor: tampered })).toEqual([400, 'Invalid pagination cursor'])
  })

  it('a pagination cursor of another workspace', async () => {
    for (const name of ['One', 'Two'])
      await service.ask('lists.create', { ...requests['lists.create'], name })
    const { body } = await service.ask('lists.list', { per_page: 1 })
    const { next_cursor: cursor } = body.pagination as { next_cursor: string }
    expect(await refusal('searches.list', { cursor })).toEqual([400, 'Invalid pagination cursor'])
  })
})

describe('errors: 422 is the answer to', () => {
  it('a field that fails validation', async () => {
    expect(await refusal('leads.extract', { ...requests['leads.extract'], limit: 0 })).toEqual([
      422,
      'limit must be a whole number of 1 or more',
    ])
  })

  it('a request beyond the plan limit', async () => {
    await service.admin.setQuotas({ dailyProfiles: 0 })
    expect(await refusal('leads.extract', requests['leads.extract'])).toEqual([
      422,
      "Can't proceed with the request. Plan limit reached.",
    ])
  })

  it.each<OperationId>([
    'leads.advanced_search',
    'leads.advanced_search_preview',
    'leads.search',
    'leads.enrich',
    'accounts.search',
    'accounts.search_preview',
    'accounts.enrich',
    'accounts.headcount',
  ])('a live that is not a boolean: %s', async (id) => {
    for (const live of ['false', 0, null]) {
      service.clock.advance(1_000)
      expect(await refusal(id, { ...requests[id], live })).toEqual([422, 'live must be true or false'])
    }
  })

  it('persona_id together with titles', async () => {
    const persona = (await service.ask('personas.create')).body.id
    const fields = { company_domain: 'known.example', persona_id: persona }
    expect((await service.ask('leads.search', fields)).status).toBe(202)
    expect(await refusal('leads.search', { ...fields, job_titles: ['CTO'] })).toEqual([
      422,
      'persona_id cannot be combined with job_titles',
    ])
    expect((await refusal('leads.search', { ...fields, excluded_job_titles: ['CTO'] }))[0]).toBe(422)
  })

  it.each<[string, Fields]>([
    ['missing', {}],
    ['missing', { start_date: '2026-03-01' }],
    ['malformed', { start_date: '01.03.2026', end_date: '2026-03-02' }],
    ['malformed', { start_date: '2026-02-30', end_date: '2026-03-02' }],
    ['reversed', { start_date: '2026-03-02', end_date: '2026-03-01' }],
  ])('wrong dates of %s: %j', async (_, fields) => {
    expect((await refusal('credits.consumption', fields))[0]).toBe(422)
  })

  it('a request for personal addresses without consent', async () => {
    const fields = {
      network_url: 'https://www.network.example/in/ada',
      enrichment_type: ['personal_email'],
    }
    expect(await refusal('contacts.enrich', fields)).toEqual([
      422,
      'Personal email enrichment requires consent',
    ])
    await service.admin.changeMember('me@localhost', { consentPersonalEmail: true })
    expect((await service.ask('contacts.enrich', fields)).status).toBe(201)
  })

  it.each<[string, unknown]>([
    ['connections_of_profile', 'https://www.network.example/in/ada'],
    ['relationship', ['1']],
    ['follows_your_company', true],
    ['viewed_your_profile', true],
    ['with_shared_experiences', true],
    ['posted_on_linkedin', true],
    ['past_colleague', true],
  ])('a filter that is not allowed with live: false: %s', async (filter, value) => {
    const fields = { ...requests['leads.advanced_search'], live: false, [filter]: value }
    expect(await refusal('leads.advanced_search', fields)).toEqual([
      422,
      `Not available with live: false: ${filter}`,
    ])
  })

  it('an import with a name that no database can store', async () => {
    const [status] = await refusal('accounts.extract', { ...requests['accounts.extract'], name: 'a\0b' })
    expect(status).toBe(422)
    expect(await service.work()).toEqual([])
  })
})
