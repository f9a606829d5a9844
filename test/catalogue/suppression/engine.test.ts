import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OperationId, operations } from '../../../src/api/operations/table.js'
import { toSuppressible } from '../../../src/catalogue/suppression/identifiers.js'
import { suppressionsOf } from '../../../src/catalogue/suppression/suppressions.js'
import { createAdmin } from '../../../src/engine/admin/admin.js'
import { createEngine } from '../../../src/engine/request/engine.js'
import { openEngineDatabase } from '../../../src/engine/tables/schema.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { FakeSender, idOf, portsOf } from '../../engine/fake-sender.js'
import { requests } from '../../spec/requests.js'
import { perFile } from '../../support/each.js'
import { type Bench, openBench, personOf, randomIds } from '../../support/engine.js'
import { newFolder } from '../../support/new-folder.js'
import { freshSchema } from '../../support/postgres.js'

/** What only people at the suppressed company have. */
const canary = /@known\.example|\/in\/(?:ada|person-)|"full_name":"/

const databases = {
  SQLite: async () => {
    const { at, remove } = newFolder()
    return { url: at('engine.db'), drop: remove }
  },
  PostgreSQL: freshSchema,
}

/** What is asked for: everything that may find the canary. */
const asked = operations().filter(({ id }) => !/^(?:personas|credits|account|titles|locations)\./.test(id))
const accepting = asked.filter(({ starts }) => starts !== undefined)

describe.each(Object.entries(databases))('an engine over %s that suppresses a company', (_, create) => {
  const database = perFile<{ url: string; drop(): unknown }>(create)
  let bench: Bench
  const sender = new FakeSender()
  const ids = new Map<OperationId, string>()

  const callAll = async (key?: string) => {
    const texts: string[] = []
    for (const { id } of asked) {
      const options = key === undefined ? {} : { idempotencyKey: `${key}-${id}` }
      const reply = await bench.call(id, requests[id], options)
      texts.push(`${id} ${reply.status} ${JSON.stringify(reply.body)}`)
      if (reply.status < 300 && accepting.some((row) => row.id === id)) ids.set(id, idOf(reply.body))
    }
    return texts
  }

  beforeAll(async () => {
    bench = await openBench(database.url)
    bench.source.matches = 3
    bench.source.openJobs = 1
    const { source: known } = bench
    const person = known.person.bind(known)
    known.person = (query) =>
      query.url?.includes('/in/person-') ? personOf('person', 'known.example') : person(query)
    expect((await callAll('before')).join('\n')).toMatch(canary)
    // What was found before is delivered after.
    sender.answer = () => ({ status: 503, error: 'busy' })
    const worker = createWorker(portsOf(bench, { sender }))
    await worker.drain()
    expect(sender.attempts.map(({ body }) => body).join('\n')).toMatch(canary)
    sender.attempts.length = 0
    sender.answer = () => undefined
    const domain = toSuppressible('https://www.known.example/about')
    if (!domain) throw new Error('no domain')
    await suppressionsOf(bench.store, bench.workspaceId).add([domain], 'asked', 0)
    await bench.database.close()
    const store = await openEngineDatabase(database.url)
    const { source, clock, key } = bench
    const caller = createEngine({ store, source, clock, ids: randomIds })
    const admin = createAdmin({ store, clock, ids: randomIds })
    const call: Bench['call'] = (id, input, options) => caller.call(id, input, { apiKey: key, ...options })
    bench = { ...bench, caller, store, database: store, admin, call }
  })

  afterAll(() => bench.database.close())

  it('answers every request about them as if nothing was found, and charges nothing', async () => {
    const free = asked.filter(({ id }) =>
      /^(?:accounts\.(?!search|extract)|leads\.(?:bulk_)?enrich|contacts\.)/.test(id),
    )
    const replies = []
    for (const { id } of free) replies.push([id, await bench.call(id, requests[id])] as const)
    expect(JSON.stringify(replies.map(([, { body }]) => body))).not.toMatch(canary)
    expect(replies.filter(([, reply]) => reply.credits > 0)).toEqual([])
    const status = Object.fromEntries(replies.map(([id, reply]) => [id, reply.status]))
    expect(status).toMatchObject({
      'accounts.enrich': 404,
      'accounts.hiring': 404,
      'accounts.stack': 404,
      'accounts.headcount': 404,
      'leads.enrich': 404,
      'leads.bulk_enrich': 200,
      'contacts.enrich_sync': 200,
      'contacts.reverse_lookup': 404,
    })
  })

  it('leaves them out of stored replies, searches, contacts and lists', async () => {
    const texts = [...(await callAll('before')), ...(await callAll())]
    for (const id of ids.values())
      for (const [operation, input] of [
        ['searches.get', { id }],
        ['contacts.get', { id }],
        ['lists.get', { id }],
      ] as const)
        texts.push(JSON.stringify((await bench.call(operation, input)).body))
    expect(texts.filter((text) => canary.test(text))).toEqual([])
  })

  it('leaves them out of deliveries of what was found before, and of what is found now', async () => {
    bench.clock.advance(3_600_000)
    await createWorker(portsOf(bench, { sender })).drain()
    const bodies = sender.attempts.map(({ body }) => body)
    expect(bodies.length).toBeGreaterThan(5)
    expect(bodies.filter((body) => canary.test(body))).toEqual([])
  })

  it('leaves them out of the records and deliveries that its owner looks at', async () => {
    const texts: string[] = []
    for (const { id } of await bench.admin.jobs(100)) {
      for (const { record } of await bench.admin.jobRecords(id, 0, 10)) texts.push(record)
      for (const delivery of await bench.admin.deliveries({ jobId: id }, 10))
        texts.push(JSON.stringify((await bench.admin.delivery(delivery.id)).body))
    }
    expect(texts.length).toBeGreaterThan(5)
    expect(texts.filter((text) => canary.test(text))).toEqual([])
  })
})
