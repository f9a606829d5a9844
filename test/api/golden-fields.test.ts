import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { rowsOf } from '../support/fixtures.js'
import { accepted, refusalOf } from './refusal.js'

// What the specification says of single fields, typed by hand.

const hook = 'https://hooks.example.com/x'
const search = 'https://network.example/sales/search/company?query=(a)'

it.each(rowsOf('api/refused.tsv'))(
  'a request is refused by %s without a field or with a wrong value: %s',
  async (id, input = '', status, text) => {
    expect(await refusalOf(id as OperationId, JSON.parse(input))).toMatch(new RegExp(`^${status} .*${text}`))
  },
)

describe('a filter that only the network supports', () => {
  const filters = {
    connections_of_profile: 'https://network.example/in/ada',
    relationship: ['F'],
    follows_your_company: true,
    viewed_your_profile: true,
    with_shared_experiences: true,
    posted_on_linkedin: true,
    past_colleague: true,
  }

  it.each(Object.entries(filters))('%s is refused with live: false', async (name, value) => {
    const input = { webhook_url: hook, keyword: 'x', live: false, [name]: value }
    expect(await refusalOf('leads.advanced_search', input)).toMatch(new RegExp(`^422 .*${name}$`))
  })

  it.each(Object.entries(filters))('%s is accepted with live results', async (name, value) => {
    expect(await refusalOf('leads.advanced_search', { webhook_url: hook, [name]: value })).toBe('accepted')
  })
})

describe('default values', () => {
  it.each<[OperationId, Record<string, unknown>, Record<string, unknown>]>([
    ['accounts.enrich', { name: 'x' }, { live: true }],
    ['accounts.extract', { search_url: search, name: 'x', webhook_url: hook }, { streaming: false }],
    ['accounts.hiring', { company_name: 'x' }, { limit: 100, full_description: false }],
    ['accounts.technologies', {}, { limit: 20 }],
    [
      'contacts.enrich',
      { network_url: 'network.example/in/a', enrichment_type: ['phone'] },
      { phone_type: ['all'] },
    ],
    ['intents.stack_preview', { stacks: ['react'] }, { stack_match: 'or' }],
    ['locations.find', { name: 'Lyon' }, { source: 'live' }],
    ['searches.list', {}, { enriched: true, per_page: 100 }],
    ['lists.list', { per_page: 501 }, { per_page: 500 }],
    ['lists.list', { per_page: 500 }, { per_page: 500 }],
  ])('are set by %s for %j', async (id, input, expected) => {
    expect(await accepted(id, input)).toMatchObject(expected)
  })
})

describe('enumerated values', () => {
  it.each<[OperationId, string]>([
    ['lists.get', '["pending","completed","failed"]'],
    ['contacts.enrich_sync', '["valid","risky","invalid"]'],
    ['contacts.enrich_sync', '["mobile","fixed_or_mobile","fixed_line","voip","toll_free"'],
    ['titles.suggest', '["INCLUDED","EXCLUDED"]'],
    ['leads.extract', '"processing"'],
  ])('of %s are described: %s', async (id, words) => {
    const { output } = await shapeOf(id)
    expect(JSON.stringify(output.toJSONSchema())).toContain(words)
  })
})
