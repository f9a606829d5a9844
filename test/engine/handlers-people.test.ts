import { describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { openBench } from '../support/engine.js'

const bench = perTest(openBench)

const ada = 'https://www.network.example/in/ada'

describe('leads.enrich', () => {
  it.each([
    [{ first_name: 'Bob', last_name: 'Known', domain: 'known.example' }, 200],
    [{ first_name: 'Bob', last_name: 'Known', company_name: 'Known' }, 404],
    [{ network_url: `${ada}-2` }, 404],
    [{ linkedin_url: ada }, 200],
  ])('takes %j: %i', async (input, status) => {
    expect((await bench.call('leads.enrich', input)).status).toBe(status)
  })

  it('omits the address, its status and phones with live: false, and nothing else', async () => {
    const full = (await bench.call('leads.enrich', { network_url: ada })).body as Record<string, unknown>
    const { body, credits } = await bench.call('leads.enrich', { network_url: ada, live: false })
    const { most_probable_email, most_probable_email_status, phones, ...rest } = full
    expect([most_probable_email, most_probable_email_status, phones]).not.toContain(undefined)
    expect(body).toEqual(rest)
    expect(credits).toBe(1)
  })

  it("counts the terms by the engine's clock", async () => {
    await bench.admin.setClock(Date.parse('2027-01-20T00:00:00Z'), true)
    const { body } = await bench.call('leads.enrich', { network_url: ada })
    expect(body).toMatchObject({ years_in_position: 3, months_in_position: 0 })
  })
})

it('a search in which some companies are unknown has a note that counts and names them', async () => {
  bench.source.unknown = {
    included_companies: ['x.example'],
    excluded_companies: Array.from({ length: 7 }, (_, at) => `crm${at}.example`),
  }
  const filters = { included_companies: ['x.example', 'Acme'], excluded_companies: Array(500).fill('crm') }
  const note =
    '1 of 2 included companies is unknown and finds nobody: x.example. ' +
    '7 of 500 excluded companies are unknown and exclude nobody: crm0.example, crm1.example, crm2.example, crm3.example, crm4.example and 2 more.'
  const webhook_url = 'https://hooks.example/in'
  expect(await bench.call('leads.advanced_search_preview', filters)).toMatchObject({ body: { note } })
  expect(await bench.call('leads.advanced_search', { ...filters, webhook_url })).toMatchObject({
    body: { message: { note } },
  })
  bench.source.unknown = {}
  const { body } = await bench.call('leads.advanced_search_preview', filters)
  expect(body).not.toHaveProperty('note')
})

it('contacts.reverse_lookup returns the whole person, with current terms', async () => {
  const { body } = await bench.call('contacts.reverse_lookup', { email: 'bob@known.example' })
  expect(body).toMatchObject({
    first_name: 'bob',
    most_probable_email: 'bob@known.example',
    years_in_position: 2,
  })
})

describe('messenger.validate', () => {
  const [reachable, other, unreachable] = ['+33639980001', '+33639980011', '+33639980002']

  it('returns results in the given order, at engine time, and charges for reachable numbers', async () => {
    const numbers = [unreachable, other, reachable]
    const checked_at = '2026-03-10T12:00:00.000Z'
    expect(await bench.call('messenger.validate', { phone_numbers: numbers })).toMatchObject({
      status: 200,
      body: {
        results: [
          { phone_number: unreachable, reachable: false, checked_at },
          { phone_number: other, reachable: true, checked_at },
          { phone_number: reachable, reachable: true, checked_at },
        ],
      },
      credits: 2,
    })
    expect(await bench.balance()).toBe(998)
  })

  it('charges a duplicate number once', async () => {
    const reply = await bench.call('messenger.validate', { phone_numbers: [reachable, reachable] })
    expect(reply).toMatchObject({ body: { results: [{}, {}] }, credits: 1 })
  })

  it('refuses up front what would cost too much if all numbers were reachable', async () => {
    await bench.admin.setCredits(1)
    const reply = await bench.call('messenger.validate', { phone_numbers: [unreachable, other] })
    expect(reply).toMatchObject({ status: 402, credits: 0 })
    expect(bench.source.asked).toBe(0)
  })
})
