import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Input } from '../../../src/api/calls/caller.js'
import { type OperationId, operations } from '../../../src/api/operations/table.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import type { Subject } from '../../conformance/caller.js'
import { randomIds } from '../../support/engine.js'
import { unknownId } from '../requests.js'
import * as at from './surroundings.js'

// Rows of the table of observed behaviour, each a test named after it.

const webhook_url = 'https://hooks.example/in'
const search = { webhook_url, keyword: 'known' }

it('marks the operations that were observed and are not specified', () => {
  expect(operations().flatMap(({ id, observed }) => (observed ? [id] : []))).toEqual([
    'intents.track_job_changes',
    'searches.delete',
    'lists.rename',
  ])
})

describe.each(at.surroundings)('%s', (_, open) => {
  let subject: Subject
  const call = (id: OperationId, input: Input, key?: string) => at.call(subject, id, input, key)

  beforeEach(async () => {
    subject = await open()
    await subject.bench.admin.setPlan('Scale')
  })
  afterEach(() => subject.close())

  it('PUT /lists/{id} {name} answers 200 and the list', async () => {
    const id = at.idOf(await call('lists.create', { name: 'Old', companies: [{ domain: 'known.example' }] }))
    subject.bench.clock.advance(5_000)
    const renamed = await call('lists.rename', { id, name: ' New ' })
    expect(renamed).toMatchObject({ status: 200, body: { id, name: 'New', status: 'pending' } })
    const { created_at, updated_at } = renamed.body as Record<string, string>
    expect(Date.parse(updated_at ?? '') - Date.parse(created_at ?? '')).toBe(5_000)
    expect((await call('lists.get', { id })).body).toEqual(renamed.body)
    await at.work(subject.bench)
    expect((await call('lists.get', { id })).body).toMatchObject({ name: 'New', status: 'completed' })
    expect(await subject.bench.balance()).toBe(1_000)
  })

  it('PUT /lists/{id} refuses an unknown list, a missing name and a name that is none', async () => {
    const id = at.idOf(await call('lists.create', { name: 'Old', companies: [{ domain: 'known.example' }] }))
    const refused = [
      await call('lists.rename', { id: unknownId, name: 'New' }),
      await call('lists.rename', { id }),
      await call('lists.rename', { id, name: 7 }),
    ]
    expect(refused.map(({ status, body }) => [status, body])).toEqual([
      [404, { error: 'Not found' }],
      [400, { error: 'Missing required keys: name' }],
      [422, { error: 'name must be text' }],
    ])
  })

  it('POST /lists {name, kind: "account"} without companies answers as with an empty list', async () => {
    for (const companies of [{}, { companies: [] }]) {
      const created = await call('lists.create', { name: 'Later', kind: 'account', ...companies })
      expect(created).toMatchObject({ status: 201, body: { network_list_id: expect.any(Number) } })
      const id = at.idOf(created)
      await at.work(subject.bench)
      expect((await call('lists.get', { id })).body).toMatchObject({ name: 'Later', status: 'completed' })
    }
    expect(await call('lists.create', { name: 'Later' })).toMatchObject({
      ...{ status: 400, body: { error: 'Missing required keys: companies' } },
    })
    expect(await call('lists.create', { name: 'Later', kind: 'lead' })).toMatchObject({
      ...{ status: 422, body: { error: 'kind must be one of: account' } },
    })
  })

  it('POST /intents/leads/track_job_changes is 422 that names lead_list_id, and validates the rest', async () => {
    const track = (input: Input) => call('intents.track_job_changes', input, 'key')
    const refused = [
      await track({ webhook_url, lead_list_id: unknownId }),
      await track({ webhook_url }),
      await track({}),
      await track({ webhook_url: 'ftp://hooks.example', lead_list_id: unknownId }),
      await track({ webhook_url, lead_list_id: 'a b' }),
    ]
    expect(refused.map(({ status, body }) => [status, (body as { error: string }).error])).toEqual([
      [422, 'lead_list_id: there are no lead lists yet'],
      [400, 'Missing required keys: lead_list_id'],
      [400, 'Missing required keys: webhook_url, lead_list_id'],
      [400, expect.stringMatching(/^webhook_url must be/)],
      [422, 'lead_list_id must be an id, without spaces or commas'],
    ])
  })

  it('DELETE /searches/{id} deletes a search of people with its records, and a second call is 404', async () => {
    subject.bench.source.matches = 3
    const id = at.idOf(await call('leads.advanced_search', search))
    await at.work(subject.bench)
    expect((await call('searches.get', { id })).status).toBe(200)
    expect(await call('searches.delete', { id })).toMatchObject({
      status: 200,
      body: { message: 'Search deleted' },
    })
    const gone = { status: 404, body: { error: 404, message: 'Not found' } }
    expect(await call('searches.get', { id })).toMatchObject(gone)
    expect(await call('searches.delete', { id })).toMatchObject(gone)
    expect(await subject.bench.store.read((reads) => reads.countRecords(id))).toBe(0)
  })

  it('DELETE /searches/{id} cancels a running job: what was delivered stays paid, the hold is released', async () => {
    const { bench } = subject
    bench.source.matches = 250
    const id = at.idOf(await call('intents.stack', { webhook_url, stacks: ['react'] }))
    expect(await bench.balance()).toBe(250)
    const ports = { ...bench, ids: randomIds, targets: () => ({ allow: [], loopback: false }) }
    const worker = createWorker(ports)
    let deleted: unknown
    // Deleted while the second hundred is looked up: the worker finds that it has lost the job.
    const ended = await worker.finish(id, ({ done }) => {
      if (done !== 100) return
      bench.source.before = async () => {
        deleted ??= await call('searches.delete', { id })
      }
    })
    expect(deleted).toMatchObject({ status: 200, body: { message: 'Search deleted' } })
    expect(ended).toBeUndefined()
    expect(await bench.balance()).toBe(700)
    expect(await bench.store.read((reads) => reads.position(bench.workspaceId))).toMatchObject({
      ...{ credits: 700, held: 0, spent: 300 },
    })
    expect((await bench.admin.verify()).problems).toEqual([])
  })

  it('DELETE /searches/{id} deletes neither a list nor an enrichment', async () => {
    const list = await call('lists.create', { name: 'Kept', companies: [{ domain: 'known.example' }] })
    const contact = await call('contacts.enrich', {
      ...{ firstname: 'Ada', lastname: 'Byron', domain: 'known.example', enrichment_type: ['email'] },
    })
    const { enrichment_id } = contact.body as { enrichment_id: string }
    for (const id of [unknownId, 'x', at.idOf(list), enrichment_id])
      expect((await call('searches.delete', { id })).status, id).toBe(404)
    expect((await call('lists.get', { id: at.idOf(list) })).status).toBe(200)
    expect((await call('contacts.get', { id: enrichment_id })).status).toBe(200)
  })
})
