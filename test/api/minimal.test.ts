import { describe, expect, it } from 'vitest'
import { type OperationId, operations } from '../../src/api/operations/table.js'
import { refusalOf } from './refusal.js'

const webhook_url = 'https://hooks.example.com/x'
const profile = 'https://network.example/in/ada'
const company = 'https://network.example/company/acme'
const uuid = '3f1d2c4e-8a55-4a59-9a51-3f5f5d8f4f10'

/** The least that each operation accepts, in every way it may be asked. */
const least: Readonly<Record<OperationId, readonly Record<string, unknown>[]>> = {
  'accounts.extract': [
    { search_url: 'https://network.example/sales/search/company', name: 'x', webhook_url },
  ],
  'accounts.search': [
    { webhook_url, keyword: 'a AND b' },
    { webhook_url, min_revenue: 1 },
    { webhook_url, min_revenue: 1, max_revenue: 1 },
  ],
  'accounts.search_preview': [{ company_size: ['10001+'] }, { max_revenue: 5, live: false }],
  'accounts.enrich': [{ company_network_url: company }, { name: 'Acme' }, { domain: 'acme.example' }],
  'accounts.count_profiles': [{ company_network_id: '7' }, { company_network_url: company }],
  'accounts.headcount': [
    { company_network_id: '7' },
    { company_network_url: company },
    { company_domain: 'a.example' },
  ],
  'accounts.hiring': [
    { company_domain: 'a.example' },
    { company_name: 'Acme', limit: 1 },
    { company_network_url: company },
  ],
  'accounts.stack': [
    { company_domain: 'a.example' },
    { company_name: 'Acme' },
    { company_network_url: company },
  ],
  'accounts.technologies': [{}, { query: 'react' }],
  'leads.extract': [{ search_url: 'https://network.example/search/results/people/?keywords=x', limit: 1 }],
  'leads.advanced_search': [
    { webhook_url, first_name: 'Ada' },
    { webhook_url, last_name: 'Lovelace', live: false },
  ],
  'leads.advanced_search_preview': [
    { seniority_levels: ['220'], years_of_experience: ['5'], company_type: ['P'] },
  ],
  'leads.search': [
    { company_network_id: '7', persona_id: uuid },
    { company_domain: 'a.example', job_titles: ['*'] },
    { company_network_url: company, functions: ['25'], live: false },
    { company_domain: 'a.example', persona_id: uuid, seniority_levels: ['220'] },
  ],
  'leads.enrich': [
    { network_url: profile },
    { first_name: 'Ada', last_name: 'Lovelace', company_name: 'Acme' },
    { first_name: 'Ada', last_name: 'Lovelace', domain: 'acme.example' },
  ],
  'contacts.enrich': [
    { enrichment_type: ['email'], firstname: 'Ada', lastname: 'Lovelace', company_name: 'Acme' },
    { enrichment_type: ['email', 'phone', 'personal_email'], network_url: profile, phone_type: ['mobile'] },
  ],
  'contacts.enrich_sync': [{ enrichment_type: ['phone'], network_url: profile, phone_country_codes: ['FR'] }],
  'contacts.bulk_enrich': [
    {
      enrichment_type: ['email'],
      contacts: [{ network_url: profile, custom: { row: 1 } }, { network_url: profile }],
    },
  ],
  'contacts.get': [{ id: uuid }, { id: 'no-uuid' }],
  'contacts.get_enrichment': [{ id: uuid }],
  'contacts.reverse_lookup': [{ email: 'ada@acme.example' }],
  'intents.hiring': [{ webhook_url }],
  'intents.stack': [
    { webhook_url, stacks: ['react'] },
    { webhook_url, countries: ['FR'] },
  ],
  'intents.stack_preview': [{ excluded_stacks: ['react'] }, { company_size: ['1-10'], stack_match: 'and' }],
  'intents.growth': [
    { webhook_url, min_headcount_growth_percentage: 10 },
    { webhook_url, max_headcount_growth_percentage: -5 },
    { webhook_url, department: 'Sales', max_department_headcount: 5 },
  ],
  'intents.lookalikes': [
    { webhook_url, company_network_url: company },
    { webhook_url, company_network_urls: [company, company, company] },
  ],
  'intents.post_engagers': [{ webhook_url, post_url: 'https://network.example/posts/x' }],
  'accounts.bulk_enrich': [{ accounts: [{ name: 'Acme' }, { domain: 'a.example' }] }],
  'leads.bulk_enrich': [
    {
      leads: [
        { network_url: 'https://network.example/in/a' },
        { first_name: 'A', last_name: 'B', domain: 'a.example' },
      ],
    },
  ],
  'contacts.check_data_availability': [
    { contacts: [{ firstname: 'A', lastname: 'B', domain: 'a.example' }] },
  ],
  'intents.track_job_changes': [{ webhook_url, lead_list_id: uuid }],
  'messenger.validate': [{ phone_number: '+33612345678' }, { phone_numbers: ['+33612345678'] }],
  'searches.list': [{}, { page: 2 }, { cursor: 'abc', per_page: 1, enriched: false }],
  'searches.get': [{ id: uuid }, { id: uuid, status: 'disqualified', page: 1 }],
  'searches.delete': [{ id: uuid }],
  'lists.create': [
    { name: 'x', companies: [{ name: 'Acme' }, { domain: 'a.example' }, { network_url: company }] },
  ],
  'lists.list': [{}],
  'lists.get': [{ id: uuid }],
  'lists.rename': [{ id: uuid, name: 'x' }],
  'personas.list': [{}],
  'personas.get': [{ uuid }],
  'personas.create': [{ name: 'x' }],
  'personas.delete': [{ uuid }],
  'titles.suggest': [{ job_titles: ['CEO'] }],
  'locations.find': [{ name: 'Île-de-France' }],
  'credits.show': [{}],
  'credits.consumption': [{ start_date: '2026-01-01', end_date: '2026-01-01' }],
  'account.show': [{}],
}

describe.each(operations())('$id', ({ id }) => {
  it.each(least[id])('accepts %j', async (input) => {
    expect(await refusalOf(id, input)).toBe('accepted')
  })
})
