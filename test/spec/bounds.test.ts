import { describe, expect, it } from 'vitest'
import { openapi } from '../../src/reference/openapi.js'
import { perTest } from '../support/each.js'
import { requests, unknownId } from './requests.js'
import { openService } from './service.js'

const service = perTest(openService)

const hiring = async (more: Record<string, unknown>) =>
  service.ask('accounts.hiring', { ...requests['accounts.hiring'], ...more })

describe('other bounds', () => {
  it.each([
    [1, 202],
    [0, 422],
    [-1, 422],
    [1.5, 422],
    ['1', 422],
  ])('POST /leads requires limit to be an integer of 1 or more: %j gives %i', async (limit, status) => {
    expect((await service.ask('leads.extract', { ...requests['leads.extract'], limit })).status).toBe(status)
  })

  it.each([
    [1, 200],
    [100, 200],
    [0, 422],
    [101, 422],
    [2.5, 422],
  ])(
    'POST /accounts/company_hiring limit: positive integer, maximum 100: %j gives %i',
    async (limit, status) => {
      expect((await hiring({ limit })).status).toBe(status)
    },
  )

  it('company hiring cuts descriptions to 300 characters by default', async () => {
    const descriptions = async (more: Record<string, unknown>) =>
      ((await hiring(more)).body.jobs as { description: string }[]).map(
        ({ description }) => description.length,
      )
    service.source.openJobs = 4
    // 299, 300, 301 and 302 characters; what is cut ends in an ellipsis.
    expect(await descriptions({})).toEqual([299, 300, 301, 301])
    expect(await descriptions({ full_description: true })).toEqual([299, 300, 301, 302])
  })

  it('scale: true leaves out connections_count and headline', async () => {
    await service.ask('leads.advanced_search', { ...requests['leads.advanced_search'], scale: true })
    const [completed] = (await service.work()) as { leads: { lead: object }[] }[]
    const fields = Object.keys(completed?.leads[0]?.lead ?? {})
    expect(fields).toContain('network_profile_url')
    expect(fields).not.toContain('connections_count')
    expect(fields).not.toContain('headline')
  })
})

describe('pagination', () => {
  const addLists = async (count: number) => {
    for (let number = 0; number < count; number++) {
      service.clock.advance(1_000)
      await service.ask('lists.create', { ...requests['lists.create'], name: `List ${number}` })
    }
  }
  const page = async (query: Record<string, unknown>) => {
    const { status, body } = await service.ask('lists.list', query)
    const pagination = body.pagination as Record<string, unknown> | undefined
    return {
      status,
      pagination,
      names: (body.lists as { name: string }[] | undefined)?.map(({ name }) => name),
    }
  }

  it.each(['searches.list', 'lists.list'] as const)(
    'applies to %s, with 100 rows per page by default',
    async (id) => {
      const { body } = await service.ask(id)
      expect(body.pagination).toEqual({ page: 1, per_page: 100, total_count: 0, has_more: false })
    },
  )

  it('applies to GET /searches/{id}', async () => {
    const { id } = (await service.ask('leads.search')).body
    await service.work()
    const { body } = await service.ask('searches.get', { id, per_page: 2 })
    expect(body.pagination).toMatchObject({ per_page: 2, total_count: 3, has_more: true })
  })

  it('has a maximum of 500 for per_page', async () => {
    expect((await page({ per_page: 501 })).pagination?.per_page).toBe(500)
  })

  it('has no page in cursor mode and next_cursor null on the last page, where has_more is false', async () => {
    await addLists(3)
    const first = await page({ per_page: 2 })
    expect(first.pagination).toMatchObject({ page: 1, has_more: true })
    const last = await page({ per_page: 2, cursor: first.pagination?.next_cursor })
    expect(last.pagination).toEqual({ per_page: 2, total_count: 3, has_more: false })
    expect([first.names, last.names]).toEqual([['List 2', 'List 1'], ['List 0']])
  })

  it('neither skips nor repeats rows that are added during a walk', async () => {
    await addLists(3)
    const first = await page({ per_page: 2 })
    await addLists(1)
    const second = await page({ per_page: 2, cursor: first.pagination?.next_cursor })
    expect([...(first.names ?? []), ...(second.names ?? [])]).toEqual(['List 2', 'List 1', 'List 0'])
  })
})

describe('versioning', () => {
  it('1: the version is carried in the path: /api/v2', async () => {
    const document = (await openapi({ version: 'test' })) as { servers: { url: string }[] }
    expect(document.servers[0]?.url).toMatch(/\/api\/v2$/)
  })

  it('2: the description of the interface is labelled version 1.0.0', async () => {
    const document = (await openapi({ version: 'test' })) as { info: { version: string } }
    expect(document.info.version).toBe('1.0.0')
  })

  it('3: phone is an array, with phone_details and email_status beside it', async () => {
    const fields = {
      network_url: 'https://www.network.example/in/ada',
      enrichment_type: ['email', 'phone'],
      phone_country_codes: ['FR'],
      phone_type: ['mobile'],
    }
    expect((await service.ask('contacts.enrich_sync', fields)).body).toMatchObject({
      email: 'ada@known.example',
      email_status: 'valid',
      phone: ['+33639980001'],
      phone_details: [{ number: '+33639980001', type: 'mobile' }],
    })
  })

  it('an unknown id gets 404 in the shape of its operation', async () => {
    expect((await service.ask('lists.get', { id: unknownId })).body).toEqual({ error: 'Not found' })
    expect((await service.ask('searches.get')).body).toEqual({ error: 404, message: 'Not found' })
  })
})
