import { describe, expect, it } from 'vitest'
import type { OperationId } from '../../../src/api/operations/table.js'
import type { Provider } from '../../../src/api/ports/ports.js'
import { type EventName, eventBody, eventNames } from '../../../src/api/webhooks/events.js'
import { perTest } from '../../support/each.js'
import { sample } from '../../support/effort.js'
import { jobOf } from '../../support/engine.js'
import { casesOf } from '../../support/fixtures.js'
import { idOf, openWorked } from '../fake-sender.js'

const bench = perTest(openWorked)

const hook = { webhook_url: 'https://hook.example/' }
const peopleSearch = 'https://www.network.example/sales/search/people?query=(keywords:known)'
const custom = { custom: { of: 'mine', nested: { a: [1, null] } } }
const ada = { firstname: 'Ada', lastname: 'Byron', domain: 'known.example' }

/** A request of every operation that starts an import of records. */
const imports = casesOf<[OperationId, string, object]>('engine/jobs/events/imports')

const ladder: Provider = {
  name: 'test',
  email: ({ lastName }) =>
    lastName === 'Nobody' ? undefined : { email: 'ada@known.example', status: 'valid' },
  phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }],
}

/**
 * Bodies of all deliveries of a request, once its work is done; `harm` may spoil that work. Each says what its schema says,
 * to the last field.
 */
async function delivered(id: OperationId, input: object, harm: (asked: number) => void = () => {}) {
  const { sender, source, worker } = bench
  bench.clock.advance(60_000)
  sender.attempts.length = 0
  source.matches = 101
  source.before = () => {}
  source.ladder = [ladder]
  const { body, status } = await bench.call(id, { ...hook, ...input, ...('contacts' in input ? {} : custom) })
  expect([status, body]).toEqual([expect.toSatisfy((code) => code === 201 || code === 202), body])
  let asked = 0
  source.before = () => harm(++asked)
  source.providers = () => {
    harm(++asked)
    return source.ladder
  }
  await worker.finish(idOf(body))
  const bodies = sender.bodies()
  for (const one of bodies) {
    expect(eventNames()).toContain(one.event)
    expect(eventBody(one.event as EventName).parse(one)).toEqual(one)
  }
  return { bodies, reply: body }
}

const unplugged = (after: number) => (asked: number) => {
  if (asked > after) throw new Error('unplugged')
}

describe('every event is what its schema says', () => {
  it.each(sample(imports, 3))('%s: %s matches its schema', async (id, kind, input) => {
    for (const streaming of [false, true]) {
      const { bodies } = await delivered(id, { ...input, streaming })
      for (const body of bodies) expect(body).toMatchObject(custom)
      const last = bodies.at(-1) as Record<string, unknown>
      expect(last).toMatchObject({ event: `${kind}.completed`, total: 101, truncated: false })
      const [found] = [last.leads, last.accounts].filter(Array.isArray) as { ordinal: number }[][]
      const numbers = Array.from({ length: 101 }, (_, at) => at + 1)
      expect(found?.map(({ ordinal }) => ordinal)).toEqual(streaming ? [] : numbers)
      expect(bodies.slice(0, -1).map(({ ordinal }) => ordinal)).toEqual(streaming ? numbers : [])
    }
  })

  it.each(sample(imports, 3, 1))('%s matches its schema when the work fails', async (id, kind, input) => {
    const { bodies } = await delivered(id, input, unplugged(1))
    expect(bodies).toMatchObject([{ event: `${kind}.failed`, error: 'Internal error', ...custom }])
  })

  it('hiring: jobs are delivered with their company', async () => {
    const { record } = bench.source
    bench.source.record = (search, ordinal) => ({ ...(record(search, ordinal) as object), jobs: [jobOf(1)] })
    const { bodies } = await delivered('intents.hiring', { limit: 1 })
    expect(bodies).toMatchObject([{ accounts: [{ ordinal: 1, jobs: [{ job_title: 'Job 1' }] }] }])
  })

  it('a list: completed and failed match their schemas', async () => {
    const input = { name: 'Mine', companies: [{ domain: 'known.example' }, { name: 'Nobody' }] }
    for (const [harm, event, status] of [
      [undefined, 'list_import.completed', 'completed'],
      [unplugged(1), 'list_import.failed', 'failed'],
    ] as const) {
      const { bodies, reply } = await delivered('lists.create', input, harm)
      expect(bodies).toMatchObject([{ event, id: idOf(reply), list: { id: idOf(reply), status } }])
    }
  })

  it('a contact matches its schema', async () => {
    for (const enrichment_type of [['email'], ['phone'], ['email', 'phone']]) {
      const asked = { ...ada, network_url: 'https://www.network.example/in/ada', enrichment_type }
      const { bodies, reply } = await delivered('contacts.enrich', asked)
      expect(bodies).toMatchObject([{ event: 'contact_enrichment.completed', id: idOf(reply), ...custom }])
    }
  })

  it('contacts in bulk are delivered one by one, under their own ids', async () => {
    const contacts = Array.from({ length: 45 }, (_, at) => ({
      ...ada,
      lastname: at % 3 === 0 ? 'Nobody' : 'Byron',
      ...(at % 2 === 0 ? { custom: { at } } : {}),
    }))
    const input = { contacts, enrichment_type: ['email'] }
    const { bodies, reply } = await delivered('contacts.bulk_enrich', input)
    const { contacts: each } = reply as { contacts: { enrichment_id: string; custom?: object }[] }
    expect(bodies.map(({ id, custom }) => ({ enrichment_id: id, ...(custom ? { custom } : {}) }))).toEqual(
      each,
    )
  })

  it('contacts in bulk that fail deliver what was found, and a failure for each of the others', async () => {
    const contacts = Array.from({ length: 45 }, (_, at) => ({ ...ada, custom: { at } }))
    const { bodies, reply } = await delivered(
      'contacts.bulk_enrich',
      { contacts, enrichment_type: ['email'] },
      unplugged(2),
    )
    const { contacts: each } = reply as { contacts: { enrichment_id: string }[] }
    expect(bodies.map(({ id }) => id)).toEqual(each.map(({ enrichment_id }) => enrichment_id))
    expect(bodies.map(({ custom }) => custom)).toEqual(contacts.map((contact) => contact.custom))
    const events = bodies.map(({ event }) => event)
    expect(events.filter((event) => event === 'contact_enrichment.completed')).toHaveLength(40)
    expect(events.filter((event) => event === 'contact_enrichment.failed')).toHaveLength(5)
  })

  it('nothing is sent when the caller reads the results from the store', async () => {
    const search = { keyword: 'known', streaming: true, webhook_url: 'https://prospect.invalid/own' }
    expect((await delivered('leads.advanced_search', search)).bodies).toEqual([])
  })

  it('nothing is sent where no webhook is named', async () => {
    const search = { search_url: peopleSearch, name: 'Mine', webhook_url: undefined }
    expect((await delivered('leads.extract', search)).bodies).toEqual([])
  })
})
