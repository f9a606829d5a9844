import { type OperationId, operations } from '../../src/api/operations/table.js'
import { type EventName, eventNames } from '../../src/api/webhooks/events.js'
import { casesOf } from '../support/fixtures.js'
import { type Exchange, type Fields, openSampleEngine, type SampleEngine } from './sample-engine.js'

/** What the engine answered to one request of each operation, and one body of each event. */
export interface SampleRun {
  readonly exchanges: readonly Exchange[]
  readonly events: readonly (readonly [name: EventName, body: unknown])[]
  /** All bodies that were delivered; those of jobs that are done side by side come in any order. */
  readonly delivered: readonly unknown[]
}

/** A request of an operation. */
type Asked = readonly [id: OperationId, input: Fields]

/** Requests of work that is done later, and those that are answered at once. */
const accepted = casesOf<Asked>('reference/accepted')
const direct = casesOf<Asked>('reference/direct')

/** What was made before, by its id. */
type Made = ReadonlyMap<OperationId, unknown>

/** About things that were made: the persona is deleted last. */
const about = (made: Made): Asked[] => [
  [
    'leads.search',
    {
      company_domain: 'acme-robotics.example',
      persona_id: idOf(made, 'personas.create'),
      live: false,
    },
  ],
  ['contacts.get', { id: idOf(made, 'contacts.bulk_enrich') }],
  ['contacts.get_enrichment', { id: idOf(made, 'contacts.enrich') }],
  ['searches.list', { per_page: 1 }],
  ['searches.get', { id: idOf(made, 'leads.extract'), per_page: 1 }],
  ['lists.list', { per_page: 1 }],
  ['lists.get', { id: idOf(made, 'lists.create') }],
  ['lists.rename', { id: idOf(made, 'lists.create'), name: 'Robots and logistics' }],
  ['searches.delete', { id: idOf(made, 'leads.advanced_search') }],
  ['personas.get', { uuid: idOf(made, 'personas.create') }],
  ['personas.delete', { uuid: idOf(made, 'personas.create') }],
]

function idOf(made: Made, id: OperationId): string {
  const body = made.get(id) as { id?: string; enrichment_id?: string; message?: { id?: string } }
  return body.id ?? body.enrichment_id ?? body.message?.id ?? ''
}

/** Sends one request of every operation, in the order in which they make sense; answers them in that of the table. */
export async function sampleRun(...how: Parameters<typeof openSampleEngine>): Promise<SampleRun> {
  const engine = await openSampleEngine(...how)
  try {
    const exchanges: Exchange[] = []
    const askAll = async (requests: readonly Asked[]) => {
      for (const [id, input] of requests) exchanges.push(await engine.ask(id, input))
    }
    await askAll(accepted)
    await engine.work()
    await askAll(direct)
    await askAll(about(new Map(exchanges.map(({ id, body }) => [id, body]))))
    await engine.work()
    const order = operations().map(({ id }) => id)
    exchanges.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
    const events = await eventsOf(engine)
    return numbered({ exchanges, events, delivered: engine.delivered() })
  } finally {
    await engine.close()
  }
}

/** The first body of each event: what was delivered, then streamed, then told of failures. */
async function eventsOf(engine: SampleEngine): Promise<SampleRun['events']> {
  const again = async (more: Fields) => {
    for (const [id, input] of accepted) await engine.ask(id, { ...input, ...more })
  }
  await again({ streaming: true })
  await engine.work()
  await again({})
  engine.unplug()
  await engine.work()
  return eventNames().flatMap((name) => {
    const body = engine.delivered().find(({ event }) => event === name)
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
