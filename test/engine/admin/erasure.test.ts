import { describe, expect, it } from 'vitest'
import type { Provider } from '../../../src/api/ports/ports.js'
import { eraseFromEngine } from '../../../src/engine/admin/erasure.js'
import { listRecords } from '../../../src/engine/tables/jobs.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { createPersonMatcher } from '../../../src/identity/person-matcher.js'
import { perTest } from '../../support/each.js'
import { idOf, openWorked, portsOf } from '../fake-sender.js'

const bench = perTest(openWorked)

const hook = 'https://hook.example/'
const lead = { webhook_url: hook, keyword: 'known', live: false }

/** The third lead that every search of a bench finds. */
const unknown = { emails: [], phones: [], slugs: [], ids: [], people: [] }
const third = createPersonMatcher({
  ...unknown,
  emails: ['person-2@known.example'],
  slugs: ['jane-doe'],
  people: [{ name: 'jane doe', places: ['domain:known.example'], profiles: ['person:slug:jane-doe'] }],
})

const provider: Provider = {
  name: 'all',
  email: ({ firstName: name }) =>
    name === undefined ? undefined : { email: `${name.toLowerCase()}@known.example`, status: 'valid' },
}
const jane = { firstname: 'Jane', lastname: 'Doe', domain: 'known.example', custom: { row: 1 } }
const others = [
  { ...jane, domain: 'known-2.example', custom: { row: 2 } },
  { ...jane, firstname: 'Ann', lastname: 'Lee', custom: { note: 'Ask person-2@known.example.' } },
]
const bulk = { enrichment_type: ['email'], webhook_url: hook, contacts: [jane, ...others] }

/** How much was erased: nothing but what is given. */
const counts = (some: object = {}) => ({ records: 0, contacts: 0, jobs: 0, replies: 0, mentions: 0, ...some })

const erased = () => eraseFromEngine(bench.database, third, false)

/** Does what was accepted, and delivers nothing yet. */
const found = () => createWorker(portsOf(bench)).drain()

const recordsOf = async (id: string) =>
  (await bench.store.read((tx) => listRecords(tx, id, { after: 0 }, 1_000))).map(({ ordinal }) => ordinal)

describe('erasing a person from accepted work', () => {
  it('deletes their record, and delivers the rest of a search with the right number of leads', async () => {
    bench.source.matches = 4
    const { body } = await bench.call('leads.advanced_search', lead)
    await found()
    expect(await erased()).toEqual(counts({ records: 1 }))
    expect(await recordsOf(idOf(body))).toEqual([1, 2, 4])
    await bench.worker.drain()
    const [told] = bench.sender.bodies() as { leads: { ordinal: number }[]; total: number }[]
    expect([told?.total, told?.leads.map(({ ordinal }) => ordinal)]).toEqual([4, [1, 2, 4]])
    expect((await bench.call('searches.list', { enriched: 'false' })).body).toMatchObject({
      searches: [{ leads_count: 4 }],
    })
    expect(JSON.stringify(bench.sender.bodies())).not.toContain('person-2@')
  })

  it('cancels the delivery of their streamed record, and makes the others', async () => {
    bench.source.matches = 4
    await bench.call('leads.advanced_search', { ...lead, streaming: true })
    await found()
    await erased()
    await bench.worker.drain()
    expect(bench.sender.bodies().map(({ ordinal }) => ordinal)).toEqual([1, 2, 4, undefined])
    expect(await bench.admin.deliveries({ state: 'failed' }, 10)).toMatchObject([{ first: 3, attempts: 1 }])
  })

  it('stores no result for them when the erasure happens while the work runs', async () => {
    bench.source.matches = 4
    const { body } = await bench.call('leads.advanced_search', lead)
    const release = bench.source.hold()
    const running = createWorker(portsOf(bench)).finish(idOf(body))
    const go = await release
    await erased()
    go()
    expect(await running).toBeUndefined()
    expect(await recordsOf(idOf(body))).toEqual([])
    // Whoever takes the work up next asks a source that has forgotten them.
    bench.source.matches = 2
    await bench.worker.drain()
    expect(await recordsOf(idOf(body))).toEqual([1, 2])
  })

  it('removes them from an unfinished waterfall, and looks up nobody instead', async () => {
    bench.source.ladder = [provider]
    const { body } = await bench.call('contacts.bulk_enrich', bulk, { idempotencyKey: 'k' })
    const removed = counts({ contacts: 1, jobs: 1, mentions: 2 })
    expect(await eraseFromEngine(bench.database, third, true)).toEqual(removed)
    expect(await erased()).toEqual(removed)
    await bench.worker.drain()
    const { contacts } = (await bench.call('contacts.get', { id: idOf(body) })).body as {
      contacts: Record<string, unknown>[]
    }
    expect(contacts).toMatchObject([
      { status: 'finished', first_name: null, last_name: null, email: null, credits_used: 0 },
      { first_name: 'Jane', email: 'jane@known.example', credits_used: 3, custom: { row: 2 } },
      { first_name: 'Ann', email: 'ann@known.example', custom: { note: null } },
    ])
    expect(contacts[0]).not.toHaveProperty('custom')
    expect(await bench.admin.verify()).toMatchObject({ ok: true })
    expect(await bench.balance()).toBe(994)
  })

  it('keeps of a finished contact only that it existed, and does not deliver it', async () => {
    bench.source.ladder = [provider]
    const { body } = await bench.call('contacts.bulk_enrich', bulk)
    await found()
    expect(await erased()).toMatchObject({ records: 1, contacts: 1, mentions: 1 })
    const { contacts } = (await bench.call('contacts.get', { id: idOf(body) })).body as { contacts: object[] }
    expect(contacts).toMatchObject([
      { status: 'finished', first_name: null, network_profile_url: null, message: 'No data found' },
      { first_name: 'Jane', custom: { row: 2 } },
      { first_name: 'Ann', custom: { note: null } },
    ])
    await bench.worker.drain()
    expect(bench.sender.bodies().map(({ first_name }) => first_name)).toEqual(['Jane', 'Ann'])
    expect(await bench.admin.deliveries({ state: 'failed' }, 10)).toMatchObject([{ first: 1 }])
  })

  it('deletes the stored reply about them, and no other', async () => {
    const call = (email: string, idempotencyKey: string) =>
      bench.call('contacts.reverse_lookup', { email }, { idempotencyKey })
    await call('person-2@known.example', 'a')
    await call('person-3@known.example', 'b')
    expect(await erased()).toMatchObject({ replies: 1 })
    const kept = await call('person-3@known.example', 'b')
    expect(kept.headers).toMatchObject({ 'idempotent-replayed': 'true' })
    expect((await call('person-2@known.example', 'a')).headers).not.toHaveProperty('idempotent-replayed')
  })

  it('takes only their record out of the stored reply to a bulk request, which stays paid', async () => {
    const find = () => {
      const known = { last_name: 'Known' }
      const leads = bulk.contacts.map(({ firstname, domain }) => ({
        first_name: firstname,
        ...known,
        domain,
      }))
      return bench.call('leads.bulk_enrich', { leads }, { idempotencyKey: 'a' })
    }
    const { body } = await find()
    const subject = createPersonMatcher({ ...unknown, emails: ['jane@known.example'] })
    expect(await eraseFromEngine(bench.database, subject, false)).toEqual(counts({ mentions: 1 }))
    const again = await find()
    expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true' })
    const [, ...kept] = (body as { results: unknown[] }).results
    expect(again.body).toEqual({ results: [null, ...kept] })
    expect(await bench.balance()).toBe(997)
  })

  it('empties what a list, a persona and another job say of them, and changes nothing else', async () => {
    const companies = [{ domain: 'known.example', name: 'Ask person-2@known.example' }]
    const { body } = await bench.call('lists.create', { name: 'Old', companies })
    await bench.call('lists.rename', { id: idOf(body), name: 'Of person-2@known.example' })
    const persona = { name: 'As PERSON-2@known.example', job_titles: ['Buyer', 'person-2@known.example'] }
    await bench.call('personas.create', persona)
    await erased()
    expect((await bench.call('lists.get', { id: idOf(body) })).body).toMatchObject({ name: '' })
    expect((await bench.call('personas.list', {})).body).toMatchObject({
      personas: [{ name: '', job_titles: ['Buyer'] }],
    })
    const listed = await bench.store.read((tx) => tx.all('SELECT company FROM list_companies'))
    expect(listed).toEqual([{ company: '{"domain":"known.example"}' }])
  })

  it('lets a search that asks for them find nobody else instead, and ends it', async () => {
    bench.source.matches = 4
    const asking = { ...lead, keyword: 'person-2@known.example', name: 'For Jane' }
    const { body } = await bench.call('leads.advanced_search', asking)
    expect(await erased()).toEqual(counts({ jobs: 1 }))
    await bench.worker.drain()
    expect((await bench.call('searches.get', { id: idOf(body) })).body).toMatchObject({
      search: { name: '', status: 'FINISHED', leads_count: 0 },
      leads: [],
    })
    expect(await bench.admin.verify()).toMatchObject({ ok: true })
  })

  it('leaves a row of a run paid, and answers it again without them', async () => {
    const row = { run: 'r', ordinal: 0, fresh: true }
    const call = (fresh: boolean) =>
      bench.call('contacts.reverse_lookup', { email: 'person-2@known.example' }, { row: { ...row, fresh } })
    await call(true)
    expect(await erased()).toMatchObject({ replies: 1 })
    const body = { error: 'forgotten' }
    expect(await call(false)).toMatchObject({ status: 404, body, credits: 0, replayed: 1 })
    expect(await bench.balance()).toBe(999)
  })

  it('changes nothing the second time', async () => {
    bench.source.matches = 4
    await bench.call('leads.advanced_search', { ...lead, custom: { for: 'Mail person-2@known.example' } })
    await bench.worker.drain()
    expect(await erased()).toEqual(counts({ records: 1, mentions: 1 }))
    expect(await erased()).toEqual(counts())
  })
})
