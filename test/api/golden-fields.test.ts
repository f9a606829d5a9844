import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { requests } from '../spec/requests.js'
import { casesOf, rowsOf } from '../support/fixtures.js'
import { accepted, refusalOf } from './refusal.js'

// What the specification says of single fields, typed by hand.

const hook = 'https://hooks.example.com/x'

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

  it.each(Object.entries(filters))('%s is accepted with live results alone', async (name, value) => {
    const input = { webhook_url: hook, [name]: value }
    expect(await refusalOf('leads.advanced_search', input)).toBe('accepted')
    const refused = `422 Only with live results: ${name}`
    expect(await refusalOf('leads.advanced_search', { ...input, live: false })).toBe(refused)
  })
})

it.each([
  ['accounts.bulk_enrich', 'accounts'],
  ['leads.bulk_enrich', 'leads'],
  ['contacts.bulk_enrich', 'contacts'],
  ['contacts.check_data_availability', 'contacts'],
] as const)('%s takes at most 100 %s', async (id, field) => {
  const [one] = requests[id][field] as unknown[]
  const refusals = [100, 101].map((count) =>
    refusalOf(id, { ...requests[id], [field]: Array(count).fill(one) }),
  )
  const refused = expect.stringMatching(`^422 ${field} must have .*100 items$`)
  expect(await Promise.all(refusals)).toEqual(['accepted', refused])
})

describe('default values', () => {
  it.each(casesOf<[OperationId, Record<string, unknown>, Record<string, unknown>]>('api/defaults'))(
    'are set by %s for %j',
    async (id, input, expected) => {
      expect(await accepted(id, input)).toMatchObject(expected)
    },
  )
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
