import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { accepted, refusalOf } from './refusal.js'

// What the specification says of single fields, typed by hand.

const hook = 'https://hooks.example.com/x'
const search = 'https://network.example/sales/search/company?query=(a)'
const people = 'https://network.example/sales/search/people?query=(a)'

type Case = readonly [id: OperationId, input: Record<string, unknown>, status: number, text: string]

const check = async ([id, input, status, text]: Case) =>
  expect(await refusalOf(id, input)).toMatch(new RegExp(`^${status} .*${text}`))

describe('a request without a required field', () => {
  it.each<Case>([
    ['accounts.extract', {}, 400, 'Missing required keys: search_url, name, webhook_url$'],
    ['accounts.extract', { name: 'x' }, 400, 'Missing required keys: search_url, webhook_url$'],
    ['accounts.enrich', {}, 400, 'company_network_url, name, domain'],
    ['accounts.count_profiles', {}, 400, 'company_network_id, company_network_url'],
    [
      'accounts.hiring',
      {},
      400,
      'Provide at least one of: company_domain, company_name, company_network_url$',
    ],
    [
      'accounts.stack',
      {},
      400,
      'Provide at least one of: company_domain, company_name, company_network_url$',
    ],
    ['accounts.headcount', {}, 400, 'company_network_id, company_network_url, company_domain'],
    ['accounts.search', { webhook_url: hook }, 400, 'filter'],
    ['accounts.search_preview', {}, 400, 'filter'],
    ['leads.extract', {}, 400, 'Missing required keys: search_url$'],
    ['leads.advanced_search', { first_name: 'Ada' }, 400, 'Missing required keys: webhook_url$'],
    ['leads.advanced_search_preview', { live: false }, 400, 'filter'],
    ['leads.search', { company_domain: 'a.example' }, 400, 'persona_id'],
    ['leads.search', { job_titles: ['*'] }, 400, 'company_domain'],
    ['leads.enrich', { first_name: 'Ada', last_name: 'Lovelace' }, 400, 'network_url'],
    ['leads.enrich', { first_name: 'Ada', domain: 'a.example' }, 400, 'network_url'],
    ['contacts.enrich', { network_url: 'https://network.example/in/a' }, 400, 'enrichment_type'],
    ['contacts.reverse_lookup', {}, 400, 'Missing required keys: email$'],
    ['intents.stack_preview', {}, 400, 'stacks'],
    ['intents.stack', { stacks: ['react'] }, 400, 'Missing required keys: webhook_url$'],
    ['intents.hiring', {}, 400, 'Missing required keys: webhook_url$'],
    ['intents.growth', { webhook_url: hook }, 400, 'min_headcount_growth_percentage'],
    [
      'intents.growth',
      { webhook_url: hook, min_department_headcount: 3 },
      400,
      'Missing required keys: department$',
    ],
    ['intents.lookalikes', { webhook_url: hook }, 400, 'company_network_url'],
    ['intents.post_engagers', {}, 400, 'Missing required keys: post_url, webhook_url$'],
    ['messenger.validate', {}, 400, 'phone_numbers'],
    ['lists.create', {}, 400, 'Missing required keys: name, companies$'],
    ['personas.create', {}, 400, 'Missing required keys: name$'],
    ['titles.suggest', {}, 400, 'Missing required keys: job_titles$'],
    ['locations.find', {}, 400, 'Missing required keys: name$'],
  ])('is refused by %s: %j', async (...row) => check(row))
})

describe('a request with a wrong value', () => {
  const company = { company_domain: 'a.example' }
  it.each<Case>([
    [
      'accounts.extract',
      { search_url: 'nonsense', name: 'x', webhook_url: hook },
      400,
      'search_url must be a valid company search URL',
    ],
    [
      'accounts.extract',
      { search_url: search, name: 'x', webhook_url: 'ftp://a.example/' },
      400,
      'webhook_url',
    ],
    [
      'accounts.extract',
      { search_url: search, name: 'x', webhook_url: 'https://u:p@a.example/' },
      400,
      'webhook_url',
    ],
    [
      'accounts.extract',
      { search_url: search, name: 'x', webhook_url: 'https://a.example/#x' },
      400,
      'webhook_url',
    ],
    ['accounts.extract', { search_url: 7, name: 'x', webhook_url: hook }, 422, 'search_url must be text'],
    ['leads.extract', { search_url: people, limit: 0 }, 422, 'limit must be a whole number of 1 or more'],
    ['leads.extract', { search_url: people, limit: 1.5 }, 422, 'limit'],
    ['accounts.hiring', { ...company, limit: 0 }, 422, 'limit must be a whole number from 1 to 100'],
    ['accounts.hiring', { ...company, limit: 101 }, 422, 'limit must be a whole number from 1 to 100'],
    [
      'accounts.hiring',
      { ...company, job_country_codes: ['FRA'] },
      422,
      'job_country_codes.0 must be an ISO 3166-1 alpha-2 code',
    ],
    ['accounts.enrich', { name: 'x', live: 'yes' }, 422, 'live must be true or false'],
    ['accounts.enrich', { name: 'x', live: null }, 422, 'live must be true or false'],
    ['accounts.enrich', { name: 'x', country: 'QQ' }, 422, 'country must be an ISO 3166-1 alpha-2 code'],
    ['accounts.enrich', { company_network_url: 'not a url' }, 422, 'company_network_url'],
    ['accounts.enrich', { name: 5 }, 422, 'name must be text'],
    [
      'accounts.count_profiles',
      { company_network_id: '1', company_network_url: 'https://network.example/company/a' },
      422,
      'only one of',
    ],
    ['accounts.search', { webhook_url: hook, min_revenue: 3, max_revenue: 2 }, 422, 'min_revenue'],
    [
      'intents.stack_preview',
      { stacks: ['react'], stack_match: 'xor' },
      422,
      'stack_match must be one of: or, and',
    ],
    [
      'intents.stack_preview',
      { company_size: ['2-9'] },
      422,
      'company_size.0 must be one of: Self-employed, 1-10',
    ],
    ['intents.stack_preview', { stacks: 'react' }, 422, 'stacks must be a list'],
    [
      'leads.search',
      { ...company, persona_id: 'p', job_titles: ['x'] },
      422,
      'persona_id cannot be combined with job_titles',
    ],
    ['leads.search', { ...company, persona_id: 'p', excluded_job_titles: ['x'] }, 422, 'excluded_job_titles'],
    [
      'leads.search',
      { ...company, functions: ['25', '99'] },
      422,
      'unknown ids: 99. Known functions: 1 Accounting.*25 Sales',
    ],
    [
      'leads.search',
      { ...company, seniority_levels: ['1'] },
      422,
      'unknown ids: 1. Known seniority levels: 100 In Training',
    ],
    [
      'leads.advanced_search_preview',
      { keyword: 'x', years_of_experience: ['9'] },
      422,
      'years_of_experience.0',
    ],
    ['locations.find', { name: 'Lyon', source: 'map' }, 422, 'source must be one of: live, database, hiring'],
    [
      'contacts.enrich',
      { enrichment_type: ['fax'] },
      422,
      'enrichment_type.0 must be one of: email, phone, personal_email',
    ],
    ['contacts.enrich', { enrichment_type: [] }, 422, 'enrichment_type must have at least one item'],
    ['contacts.enrich', { enrichment_type: ['email'] }, 400, 'network_url, or firstname and lastname'],
    [
      'contacts.enrich',
      { enrichment_type: ['phone'], firstname: 'A', lastname: 'B', domain: 'a.example' },
      400,
      'Missing required keys: network_url$',
    ],
    [
      'contacts.enrich',
      { enrichment_type: ['email', 'personal_email'], firstname: 'A' },
      400,
      'Missing required keys: network_url$',
    ],
    [
      'contacts.bulk_enrich',
      { enrichment_type: ['email'], contacts: [] },
      422,
      'contacts must have 1 to 100 items',
    ],
    [
      'contacts.bulk_enrich',
      { enrichment_type: ['email'], contacts: [{}, {}] },
      400,
      'contacts.0: Provide network_url',
    ],
    ['contacts.reverse_lookup', { email: 'ada' }, 422, 'email must be an email address'],
    [
      'messenger.validate',
      { phone_numbers: ['0612345678'] },
      422,
      'phone_numbers.0 must be a phone number in E.164',
    ],
    ['messenger.validate', { phone_numbers: [] }, 422, 'phone_numbers must have at least one item'],
    [
      'intents.growth',
      { webhook_url: hook, min_headcount_growth_percentage: 9, max_headcount_growth_percentage: 1 },
      422,
      'must not be above',
    ],
    [
      'lists.create',
      { name: 'x', companies: [{ name: 'A' }, {}] },
      400,
      'companies.1: Provide at least one of: name, domain, network_url',
    ],
    [
      'lists.create',
      { name: 'x', companies: [{ name: 'A', country_code: 'fr' }, { name: true }] },
      422,
      'companies.1.name must be text',
    ],
    ['credits.consumption', {}, 422, 'start_date is required; end_date is required'],
    [
      'credits.consumption',
      { start_date: '2026-02-30', end_date: '2026-03-01' },
      422,
      'start_date must be a date written YYYY-MM-DD',
    ],
    [
      'credits.consumption',
      { start_date: '2026-03-02', end_date: '2026-03-01' },
      422,
      'start_date must not be after end_date',
    ],
    ['searches.list', { per_page: 0 }, 422, 'per_page must be a whole number of 1 or more'],
    ['searches.list', { per_page: 'x' }, 422, 'per_page must be a whole number of 1 or more'],
    ['searches.list', { page: 0 }, 422, 'page must be a whole number of 1 or more'],
    ['searches.list', { page: 2, cursor: 'c' }, 400, 'cursor or page'],
    ['lists.list', { page: 1, cursor: 'c' }, 400, 'cursor or page'],
    ['searches.get', { id: 'x', page: 1, cursor: 'c' }, 400, 'cursor or page'],
    ['searches.get', { id: 'x', status: 'maybe' }, 422, 'status must be one of: qualified, disqualified'],
  ])('is refused by %s: %j', async (...row) => check(row))
})

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
