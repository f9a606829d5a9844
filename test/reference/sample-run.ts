import { type OperationId, operations } from '../../src/api/operations/table.js'
import { type EventName, eventNames } from '../../src/api/webhooks/events.js'
import { type Exchange, type Fields, openSampleEngine, type SampleEngine } from './sample-engine.js'

/** What the engine answered to one request of each operation, and one body of each event. */
export interface SampleRun {
  readonly exchanges: readonly Exchange[]
  readonly events: readonly (readonly [name: EventName, body: unknown])[]
  /** All bodies that were delivered; those of jobs that are done side by side come in any order. */
  readonly delivered: readonly unknown[]
}

const webhook_url = 'https://hooks.example/prospect'
const network = 'https://www.network.example'
const custom = { campaign: 'spring' }
const lenya = { firstname: 'Lenya', lastname: 'Hertel', domain: 'acme-robotics.example' }

/** Work that is done later. */
const accepted = {
  'accounts.extract': {
    search_url: `${network}/sales/search/company?query=(keywords:coffee)`,
    name: 'Coffee',
    webhook_url,
    limit: 2,
    custom,
  },
  'accounts.search': { keyword: 'coffee AND NOT books', company_size: ['1001-5000'], webhook_url },
  'leads.extract': {
    search_url: `${network}/search/results/people/?keywords=Robotics`,
    name: 'Robotics',
    webhook_url,
    limit: 2,
    custom,
  },
  'leads.advanced_search': {
    job_titles: ['Head of Sales'],
    company_size: ['201-500'],
    name: 'Heads of sales',
    webhook_url,
    limit: 2,
    scale: true,
  },
  'contacts.enrich': { ...lenya, enrichment_type: ['email'], webhook_url, custom },
  'contacts.bulk_enrich': {
    contacts: [lenya, { network_url: `${network}/in/lenya-hertel-0000`, custom: { row: 2 } }],
    enrichment_type: ['email'],
    webhook_url,
  },
  'intents.hiring': {
    selected_titles: ['VP Engineering'],
    included_industries: ['96'],
    limit: 1,
    webhook_url,
  },
  'intents.stack': { stacks: ['react', 'kubernetes'], stack_match: 'and', limit: 1, webhook_url },
  'intents.growth': {
    min_headcount_growth_percentage: 10,
    company_size: ['10001+'],
    included_industries: ['Automotive'],
    limit: 1,
    webhook_url,
  },
  'intents.lookalikes': {
    company_network_url: `${network}/company/acme-robotics`,
    company_size: ['201-500'],
    limit: 1,
    webhook_url,
  },
  'intents.post_engagers': {
    post_url: `${network}/posts/7000001`,
    engagement: 'comments',
    limit: 2,
    webhook_url,
  },
  'lists.create': {
    name: 'Robots',
    companies: [{ domain: 'acme-robotics.example' }, { name: 'Grünwald Logistik', country_code: 'DE' }],
    webhook_url,
  },
} satisfies Partial<Record<OperationId, Fields>>

/** Answered at once. */
const direct = {
  'accounts.search_preview': { keyword: 'coffee AND NOT books', company_size: ['1001-5000'] },
  'accounts.enrich': { domain: 'acme-robotics.example' },
  'accounts.bulk_enrich': { accounts: [{ domain: 'acme-robotics.example' }, { name: 'Nobody Knows It' }] },
  'accounts.count_profiles': {
    company_network_url: `${network}/company/acme-robotics`,
    title_to_include: ['Operations'],
  },
  'accounts.headcount': { company_domain: 'acme-robotics.example', departments: ['Sales'] },
  'accounts.hiring': { company_domain: 'acme-robotics.example', limit: 1 },
  'accounts.stack': { company_domain: 'acme-robotics.example' },
  'accounts.technologies': { query: 'react' },
  'leads.advanced_search_preview': { last_name: 'Hertel' },
  'leads.enrich': { first_name: 'Lenya', last_name: 'Hertel', domain: 'acme-robotics.example' },
  'leads.bulk_enrich': {
    leads: [
      { network_url: `${network}/in/lenya-hertel-0000` },
      { first_name: 'Nobody', last_name: 'Known', domain: 'acme-robotics.example' },
    ],
  },
  'contacts.enrich_sync': {
    network_url: `${network}/in/lenya-hertel-0000`,
    enrichment_type: ['email', 'personal_email', 'phone'],
  },
  'contacts.check_data_availability': { contacts: [lenya] },
  'contacts.reverse_lookup': { email: 'lenya.hertel@acme-robotics.example' },
  'intents.stack_preview': { stacks: ['c++'], countries: ['DE'], company_size: ['201-500'] },
  'intents.track_job_changes': { webhook_url, lead_list_id: '2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11' },
  'messenger.validate': { phone_numbers: ['+493023125233', '+12125550107'] },
  'titles.suggest': { job_titles: ['Head of Sales'] },
  'locations.find': { name: 'Nantes', source: 'database' },
  'account.show': {},
  'credits.show': {},
  'credits.consumption': { start_date: '2026-03-01', end_date: '2026-03-31' },
  'personas.create': { name: 'Buyers', job_titles: ['Head of Sales'], seniority_levels: ['220'] },
  'personas.list': {},
} satisfies Partial<Record<OperationId, Fields>>

/** What was made before, by its id. */
type Made = ReadonlyMap<OperationId, unknown>

/** About things that were made: the persona is deleted last. */
const about = (made: Made): Partial<Record<OperationId, Fields>> => ({
  'leads.search': {
    company_domain: 'acme-robotics.example',
    persona_id: idOf(made, 'personas.create'),
    live: false,
  },
  'contacts.get': { id: idOf(made, 'contacts.bulk_enrich') },
  'contacts.get_enrichment': { id: idOf(made, 'contacts.enrich') },
  'searches.list': { per_page: 1 },
  'searches.get': { id: idOf(made, 'leads.extract'), per_page: 1 },
  'lists.list': { per_page: 1 },
  'lists.get': { id: idOf(made, 'lists.create') },
  'lists.rename': { id: idOf(made, 'lists.create'), name: 'Robots and logistics' },
  'searches.delete': { id: idOf(made, 'leads.advanced_search') },
  'personas.get': { uuid: idOf(made, 'personas.create') },
  'personas.delete': { uuid: idOf(made, 'personas.create') },
})

function idOf(made: Made, id: OperationId): string {
  const body = made.get(id) as { id?: string; enrichment_id?: string; message?: { id?: string } }
  return body.id ?? body.enrichment_id ?? body.message?.id ?? ''
}

/** Sends one request of every operation, in the order in which they make sense; answers them in that of the table. */
export async function sampleRun(...how: Parameters<typeof openSampleEngine>): Promise<SampleRun> {
  const engine = await openSampleEngine(...how)
  try {
    const exchanges: Exchange[] = []
    const askAll = async (requests: Partial<Record<OperationId, Fields>>) => {
      for (const [id, input] of Object.entries(requests))
        exchanges.push(await engine.ask(id as OperationId, input))
    }
    await askAll(accepted)
    await engine.work()
    await askAll(direct)
    await askAll(about(new Map(exchanges.map(({ id, body }) => [id, body]))))
    await engine.work()
    const order = operations().map(({ id }) => id)
    exchanges.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
    const events = await eventsOf(engine)
    return numbered({ exchanges, events, delivered: engine.delivered })
  } finally {
    await engine.close()
  }
}

/** The first body of each event: what was delivered, then streamed, then told of failures. */
async function eventsOf(engine: SampleEngine): Promise<SampleRun['events']> {
  const again = async (more: Fields) => {
    for (const [id, input] of Object.entries(accepted))
      await engine.ask(id as OperationId, { ...input, ...more })
  }
  await again({ streaming: true })
  await engine.work()
  await again({})
  engine.unplug()
  await engine.work()
  return eventNames().flatMap((name) => {
    const body = engine.delivered.find(({ event }) => event === name)
    return body ? [[name, body] as const] : []
  })
}

/**
 * The run with its identifiers numbered as they come, and cursors and numbers of lists replaced: these are random, and
 * an example that is recorded must not change with how many of them were made before.
 */
function numbered(run: SampleRun): SampleRun {
  const known = new Map<string, string>()
  const numberOf = (id: string) => {
    if (!known.has(id)) known.set(id, `2f1f7c7e-0000-4000-8000-${String(known.size + 1).padStart(12, '0')}`)
    return known.get(id) ?? id
  }
  const text = JSON.stringify(run)
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, numberOf)
    .replace(/"next_cursor":"[\w-]+"/g, '"next_cursor":"kC3vZg0xQm5leHQ"')
    .replace(/"network_list_id":\d+/g, '"network_list_id":7001')
  return JSON.parse(text) as SampleRun
}
