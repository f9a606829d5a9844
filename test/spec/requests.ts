import type { OperationId } from '../../src/api/operations/table.js'

export type Fields = Readonly<Record<string, unknown>>

/** An id of nothing. */
export const unknownId = '7f6f2d0e-5d0c-4d8e-9b0a-2f6f3f0f1a11'

const webhook_url = 'https://hooks.example/in'
const network = 'https://www.network.example'
const ada = { firstname: 'Ada', lastname: 'Byron', domain: 'known.example' }
const email = { enrichment_type: ['email'] }

/** A valid request of every operation; those about one thing ask for one that is not there. */
export const requests: Readonly<Record<OperationId, Fields>> = {
  'accounts.extract': {
    search_url: `${network}/sales/search/company?query=(keywords:known)`,
    name: 'Known',
    webhook_url,
  },
  'accounts.search': { webhook_url, keyword: 'known' },
  'accounts.search_preview': { keyword: 'known' },
  'accounts.enrich': { domain: 'known.example' },
  'accounts.bulk_enrich': { accounts: [{ domain: 'known.example' }, { domain: 'nobody.example' }] },
  'accounts.count_profiles': { company_network_url: `${network}/company/known` },
  'accounts.headcount': { company_domain: 'known.example' },
  'accounts.hiring': { company_domain: 'known.example' },
  'accounts.stack': { company_domain: 'known.example' },
  'accounts.technologies': {},
  'leads.extract': { search_url: `${network}/search/results/people/?keywords=known`, name: 'Known' },
  'leads.advanced_search': { webhook_url, keyword: 'known' },
  'leads.advanced_search_preview': { keyword: 'known' },
  'leads.search': { company_domain: 'known.example', job_titles: ['*'] },
  'leads.enrich': { network_url: `${network}/in/ada` },
  'leads.bulk_enrich': {
    leads: [{ network_url: `${network}/in/ada` }, { network_url: `${network}/in/max` }],
  },
  'contacts.enrich': { ...ada, ...email },
  'contacts.enrich_sync': { ...ada, ...email },
  'contacts.bulk_enrich': { contacts: [ada, { ...ada, firstname: 'Max' }], ...email },
  'contacts.get': { id: unknownId },
  'contacts.get_enrichment': { id: unknownId },
  'contacts.reverse_lookup': { email: 'ada@known.example' },
  'contacts.check_data_availability': { contacts: [ada] },
  'intents.hiring': { webhook_url, selected_titles: ['Engineer'] },
  'intents.stack': { webhook_url, stacks: ['react'] },
  'intents.stack_preview': { stacks: ['react'] },
  'intents.growth': { webhook_url, min_headcount_growth_percentage: 10 },
  'intents.lookalikes': { webhook_url, company_network_url: `${network}/company/known` },
  'intents.post_engagers': { webhook_url, post_url: `${network}/posts/1` },
  'messenger.validate': { phone_number: '+33639980001' },
  'searches.list': {},
  'searches.get': { id: unknownId },
  'searches.delete': { id: unknownId },
  'lists.create': { name: 'Known', companies: [{ domain: 'known.example' }] },
  'lists.list': {},
  'lists.get': { id: unknownId },
  'lists.rename': { id: unknownId, name: 'Renamed' },
  'personas.list': {},
  'personas.get': { uuid: unknownId },
  'personas.create': { name: 'Buyers' },
  'personas.delete': { uuid: unknownId },
  'titles.suggest': { job_titles: ['Head of Sales'] },
  'locations.find': { name: 'Lyon' },
  'credits.show': {},
  'credits.consumption': { start_date: '2026-03-01', end_date: '2026-03-31' },
  'account.show': {},
}
