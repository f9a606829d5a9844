import { beforeEach, describe, expect, it } from 'vitest'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import type { Input } from '../../../src/api/calls/caller.js'
import type { OperationId } from '../../../src/api/operations/table.js'
import { listMovements, readBalances } from '../../../src/engine/credits/ledger.js'
import { countRecords } from '../../../src/engine/tables/jobs.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { portsOf } from '../../engine/fake-sender.js'
import { perTest } from '../../support/each.js'
import { sample } from '../../support/effort.js'
import { requests, unknownId } from '../requests.js'
import * as at from './targets.js'

// Rows of the table of observed behaviour, each a test named after it. Which values of fields are refused is told in test/api.

describe.each(sample(at.targets, 3))('%s', (_, open) => {
  const subject = perTest(open)
  const call = (id: OperationId, input: Input = requests[id], key?: string) =>
    at.call(subject, id, input, key)
  beforeEach(() => subject.bench.admin.setPlan('Scale'))

  it('PUT /lists/{id} {name} answers 200 and the list', async () => {
    const id = at.idOf(await call('lists.create'))
    subject.bench.clock.advance(5_000)
    const renamed = await call('lists.rename', { id, name: ' New ' })
    expect(renamed).toMatchObject({ status: 200, body: { id, name: 'New', status: 'pending' } })
    const { created_at, updated_at } = renamed.body as Record<string, string>
    expect(Date.parse(updated_at ?? '') - Date.parse(created_at ?? '')).toBe(5_000)
    expect((await call('lists.get', { id })).body).toMatchObject(renamed.body as object)
    await at.work(subject.bench)
    expect((await call('lists.get', { id })).body).toMatchObject({ name: 'New', status: 'completed' })
    expect(await subject.bench.balance()).toBe(1_000)
  })

  it('GET /lists/{id} has the companies of the list in pages, as given and with what they were matched to', async () => {
    const companies = [
      { domain: 'known.example' },
      { name: 'Nobody', country_code: 'fr' },
      { network_url: 'https://www.network.example/company/known' },
    ]
    const id = at.idOf(await call('lists.create', { name: 'Mine', companies }))
    const pending = (await call('lists.get', { id })).body as { companies: object[] }
    expect(pending).toMatchObject({ status: 'pending', pagination: { page: 1, total_count: 3 } })
    expect(pending.companies.map((one) => Object.values(one).at(-1))).toEqual([null, null, null])
    await at.work(subject.bench)
    const first = await call('lists.get', { id, per_page: 2 })
    const { output } = await shapeOf('lists.get')
    expect(output.parse(first.body)).toEqual(first.body)
    const none = { name: null, domain: null, network_url: null, country_code: null, account_id: null }
    const account_id = expect.any(String)
    expect(first.body).toMatchObject({
      id,
      name: 'Mine',
      status: 'completed',
      pagination: { per_page: 2, has_more: true },
      companies: [
        { ...none, ordinal: 1, domain: 'known.example', account_id },
        { ...none, ordinal: 2, name: 'Nobody', country_code: 'FR' },
      ],
    })
    const last = { companies: [{ ordinal: 3, network_url: companies[2]?.network_url, account_id }] }
    const { next_cursor: cursor } = (first.body as { pagination: { next_cursor: string } }).pagination
    for (const place of [{ cursor }, { page: 2 }])
      expect((await call('lists.get', { id, per_page: 2, ...place })).body).toMatchObject({
        ...last,
        pagination: { total_count: 3, has_more: false },
      })
    const other = at.idOf(await call('lists.create', { name: 'Other', companies }))
    expect((await call('lists.get', { id: other, cursor })).status).toBe(400)
  })

  it('POST /lists {name, kind: "account"} without companies answers as with an empty list', async () => {
    for (const companies of [{}, { companies: [] }]) {
      const created = await call('lists.create', { name: 'Later', kind: 'account', ...companies })
      expect(created).toMatchObject({ status: 201, body: { network_list_id: expect.any(Number) } })
      const id = at.idOf(created)
      await at.work(subject.bench)
      expect((await call('lists.get', { id })).body).toMatchObject({ name: 'Later', status: 'completed' })
    }
  })

  it('POST /accounts/search without webhook_url, and POST /leads/search, answer an id and a status, and are polled', async () => {
    subject.bench.source.matches = 2
    for (const [id, input, found] of [
      ['accounts.search', { keyword: 'known' }, 'accounts'],
      ['leads.search', requests['leads.search'], 'leads'],
    ] as const) {
      const reply = await call(id, input)
      expect(reply).toMatchObject({ status: 202, body: { id: expect.any(String), status: 'processing' } })
      await at.work(subject.bench)
      const { body } = await call('searches.get', { id: at.idOf(reply) })
      expect(body).toMatchObject({ search: { status: 'FINISHED' }, [found]: [{}, {}] })
    }
  })

  it('POST /intents/accounts/growth takes its fields inside account, as beside it', async () => {
    const fields: Input = { ...requests['intents.growth'], limit: 5 }
    const beside = await call('intents.growth', fields, 'key')
    expect(await call('intents.growth', { account: fields }, 'key')).toMatchObject({
      status: 202,
      body: beside.body,
      headers: { 'idempotent-replayed': 'true' },
    })
    const { webhook_url, ...account } = fields
    expect((await call('intents.growth', { webhook_url, account })).status).toBe(202)
  })

  const bulk = [
    [
      'accounts.bulk_enrich',
      'accounts',
      { domain: 'known.example' },
      { company_network_url: 'https://www.network.example/company/nobody' },
    ],
    [
      'leads.bulk_enrich',
      'leads',
      { network_url: 'https://www.network.example/in/ada' },
      { first_name: 'Max', last_name: 'Roe', domain: 'nobody.example' },
    ],
  ] as const

  it.each(bulk)(
    'POST %s {%s} answers 200 and a record or null for each item in order, and charges for what it resolved',
    async (id, field, known, unknown) => {
      const { bench } = subject
      const single = await call(id.replace('bulk_', '') as OperationId, known)
      const reply = await call(id, { [field]: [unknown, known, unknown, known] })
      expect(reply).toMatchObject({ status: 200, body: { results: [null, single.body, null, single.body] } })
      expect(await bench.balance()).toBe(1_000 - 1 - 2)
      const nothing = await call(id, { [field]: [unknown, unknown] })
      expect(nothing).toMatchObject({ status: 200, body: { results: [null, null] } })
      expect(await bench.balance()).toBe(997)
      const movements = await bench.store.read((tx) => listMovements(tx, bench.workspaceId, 0, 99))
      expect(movements.map(({ operation, amount }) => [operation, amount]).slice(-1)).toEqual([[id, 2]])
      const { body } = await call(id.replace('bulk_', '') as OperationId, { ...known, live: false })
      const offline = await call(id, { [field]: [known, known], live: false })
      expect(offline).toMatchObject({ status: 200, body: { results: [body, body] } })
    },
  )

  it('POST /contacts/check_data_availability answers 200 and booleans in order, free, without any value', async () => {
    const { bench } = subject
    bench.source.ladder = [
      {
        name: 'test',
        email: ({ firstName }) => {
          if (firstName === 'Ada') return { email: 'ada@known.example', status: 'valid' }
          return firstName === 'Max' ? { email: 'max@known.example', status: 'invalid' } : undefined
        },
        phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }],
        personalEmail: () => ({ email: 'ada@home.example', status: 'risky' }),
      },
    ]
    const reply = await call('contacts.check_data_availability', {
      contacts: [
        { firstname: 'Ada', lastname: 'Byron', domain: 'known.example' },
        { first_name: 'Max', lastname: 'Byron', domain: 'known.example' },
        { linkedin_url: 'https://www.network.example/in/x' },
      ],
    })
    const results = [
      { email: true, phone: false, personal_email: false },
      { email: false, phone: false, personal_email: false },
      { email: false, phone: true, personal_email: true },
    ]
    expect(reply).toMatchObject({ status: 200, body: { results } })
    expect(JSON.stringify(reply.body)).not.toMatch(/@|\+33/)
    expect(await bench.balance()).toBe(1_000)
  })

  it.each([
    'accounts.extract',
    'accounts.search',
    'intents.growth',
    'intents.lookalikes',
    'intents.hiring',
    'intents.stack',
  ] as const)('GET /searches/{id} of %s works like one of people, so that it can be polled', async (id) => {
    const { bench } = subject
    bench.source.matches = 5
    const work = at.idOf(await call(id))
    const before = await call('searches.get', { id: work })
    expect(before).toMatchObject({
      status: 200,
      body: {
        search: { id: work, status: 'NOT_STARTED', accounts_count: 0, truncated: false },
        accounts: [],
      },
    })
    await at.work(bench)
    const first = await call('searches.get', { id: work, per_page: 3 })
    const { search: done, accounts, pagination } = first.body as Record<string, Record<string, unknown>>
    expect(done).toMatchObject({ status: 'FINISHED', accounts_count: 5 })
    expect(done).not.toHaveProperty('leads_count')
    expect(accounts).toMatchObject(
      [0, 1, 2].map((at) => ({ ordinal: at + 1, domain: `known-${at}.example` })),
    )
    expect(pagination).toMatchObject({ total_count: 5, has_more: true, per_page: 3 })
    const rest = await call('searches.get', { id: work, per_page: 3, cursor: pagination?.next_cursor })
    expect(rest.body).toMatchObject({
      accounts: [{ ordinal: 4 }, { ordinal: 5 }],
      pagination: { has_more: false },
    })
    const { output } = await shapeOf('searches.get')
    expect(output.parse(rest.body)).toEqual(rest.body)
    if (id === 'intents.stack')
      expect(accounts?.[0]).toMatchObject({ technologies_found: [{ technology_name: 'React' }] })
  })

  it('DELETE /searches/{id} deletes a search of people with its records, and a second call is 404', async () => {
    subject.bench.source.matches = 3
    const id = at.idOf(await call('leads.advanced_search'))
    await at.work(subject.bench)
    expect((await call('searches.get', { id })).status).toBe(200)
    expect(await call('searches.delete', { id })).toMatchObject({
      status: 200,
      body: { message: 'Search deleted' },
    })
    const gone = { status: 404, body: { error: 404, message: 'Not found' } }
    expect(await call('searches.get', { id })).toMatchObject(gone)
    expect(await call('searches.delete', { id })).toMatchObject(gone)
    expect(await subject.bench.store.read((tx) => countRecords(tx, id))).toBe(0)
  })

  it('DELETE /searches/{id} cancels a running job: what was delivered stays paid, the hold is released', async () => {
    const { bench } = subject
    bench.source.matches = 250
    const id = at.idOf(await call('intents.stack'))
    expect(await bench.balance()).toBe(250)
    const worker = createWorker(portsOf(bench))
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
    expect(await bench.store.read((tx) => readBalances(tx, bench.workspaceId))).toMatchObject({
      credits: 700,
      held: 0,
      spent: 300,
    })
    expect((await bench.admin.verify()).problems).toEqual([])
  })

  it('DELETE /searches/{id} deletes neither a list nor an enrichment', async () => {
    const [list, contact] = [at.idOf(await call('lists.create')), at.idOf(await call('contacts.enrich'))]
    for (const id of [unknownId, 'x', list, contact])
      expect((await call('searches.delete', { id })).status, id).toBe(404)
    expect((await call('lists.get', { id: list })).status).toBe(200)
    expect((await call('contacts.get', { id: contact })).status).toBe(200)
  })
})
