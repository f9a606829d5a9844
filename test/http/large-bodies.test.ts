import { request as httpRequest } from 'node:http'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { type Caller, compose, type Input } from '../../src/api/calls/caller.js'
import { operation } from '../../src/api/operations/table.js'
import type { ReceivedDelivery } from '../../src/api/webhooks/events.js'
import { newSecret, sign } from '../../src/api/webhooks/signature.js'
import { wireRequest } from '../../src/client/connection.js'
import { createProxiedWork, type ProxiedWorkLedger } from '../../src/client/proxied-work.js'
import { guardCaller } from '../../src/engine/request/proxy-guard.js'
import { listCompanies } from '../../src/engine/tables/lists.js'
import { type RequestTask, readRequestOf } from '../../src/http/body.js'
import { performTask } from '../../src/http/body-thread.js'
import { handler } from '../../src/http/handler.js'
import { type Listening, listen } from '../../src/http/listen.js'
import { type DeliveryTask, type ReceiverOptions, receiver, receiverPath } from '../../src/http/receiver.js'
import { type BodyThread, createBodyReader, createBodyThread } from '../../src/http/request-body.js'
import { isLong } from '../support/effort.js'
import { type Bench, openBench } from '../support/engine.js'
import { bundled } from '../support/programs.js'

let program: string
let thread: BodyThread
const open: Listening[] = []
const benches: Bench[] = []

beforeAll(async () => {
  program = await bundled('../src/http/body-thread.ts')
  thread = createBodyThread(program)
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close(0)))
  await Promise.all(benches.splice(0).map((bench) => bench.caller.close()))
})

const json = (apiKey: string) => ({ 'content-type': 'application/json', 'x-api-key': apiKey })
const companies = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `Company ${at}`, domain: `company-${at}.example` }))
const taskOf = (fields: object, more: Partial<RequestTask> = {}): RequestTask => ({
  kind: 'request',
  operation: 'lists.create',
  params: {},
  names: undefined,
  validates: true,
  bytes: new TextEncoder().encode(JSON.stringify(fields)),
  ...more,
})

async function serve(readBody = createBodyReader(thread)) {
  const bench = await openBench()
  benches.push(bench)
  const respond = handler({ caller: bench.caller, version: '1', document: async () => ({}), readBody })
  return { bench, respond }
}

const listRequest = (apiKey: string, body: string, more: Record<string, string> = {}) =>
  new Request('http://localhost:4010/api/v2/lists', {
    method: 'POST',
    headers: { ...json(apiKey), ...more },
    body,
  })

describe('a large body', () => {
  /** Returns the status of a large refused request, and how many others were answered while it was parsed. */
  async function answeredBeside(inner: BodyThread) {
    let isParsing = false
    const watched: BodyThread = {
      parse: (...given) => {
        isParsing = true
        return inner.parse(...given).finally(() => {
          isParsing = false
        })
      },
    }
    const { bench, respond } = await serve(createBodyReader(watched))
    const server = await listen({ handler: respond, host: '127.0.0.1', port: 0 })
    open.push(server)
    let status: number | undefined
    const sent = httpRequest(`${server.baseUrl}/lists`, { method: 'POST', headers: json(bench.key) })
    const replied = new Promise<void>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => {
        status = response.resume().statusCode
        resolve()
      })
    })
    sent.end(JSON.stringify({ name: 'x', companies: 0, x: Array(250_000).fill({}) }))
    let answered = 0
    while (status === undefined) {
      await (await fetch(`${server.origin}/health`)).arrayBuffer()
      if (isParsing) answered++
    }
    await replied
    return { status, answered }
  }

  it('is parsed while other requests are answered', async () => {
    await shapeOf('lists.create')
    const beside = await answeredBeside(thread)
    expect(beside.status).toBe(400)
    expect(beside.answered).toBeGreaterThan(3)
    // What the thread is for: in that of the event loop, nothing else is answered.
    if (isLong) expect(await answeredBeside({ parse: performTask })).toEqual({ status: 400, answered: 0 })
  })

  it('creates the list that a small one creates', async () => {
    const { bench, respond } = await serve()
    const response = await respond(
      listRequest(bench.key, JSON.stringify({ name: 'x', companies: companies(2_345) })),
    )
    expect(response.status).toBe(201)
    const { id } = (await response.json()) as { id: string }
    const listed = await bench.store.read((tx) => listCompanies(tx, id, 0, 5_000))
    expect(listed.map(({ ordinal, company }) => ({ ordinal, ...company }))).toEqual(
      companies(2_345).map((company, at) => ({ ordinal: at + 1, ...company })),
    )
  })

  it('is answered where its lists are as long as may be', async () => {
    const { bench, respond } = await serve()
    await bench.admin.setCredits(10_000)
    const custom = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`field_${at}`, at]))
    const contacts = companies(100).map(({ domain }) => ({ firstname: 'A', lastname: 'B', domain, custom }))
    const init = (body: object) => ({ method: 'POST', headers: json(bench.key), body: JSON.stringify(body) })
    const bulk = await respond(
      new Request(
        'http://localhost:4010/api/v2/contacts/bulk_enrich',
        init({ enrichment_type: ['email'], contacts }),
      ),
    )
    expect([bulk.status, await bulk.json()]).toEqual([
      operation('contacts.bulk_enrich').ok,
      expect.objectContaining({
        contacts: contacts.map(() => ({ enrichment_id: expect.any(String), custom })),
      }),
    ])
    const words = Array.from({ length: 1_000 }, (_, at) => `${'word '.repeat(15)}${at}`)
    const preview = await respond(
      new Request(
        'http://localhost:4010/api/v2/leads/advanced_search/preview',
        init({ live: false, job_titles: words }),
      ),
    )
    expect([preview.status, Object.keys((await preview.json()) as object)]).toEqual([200, expect.anything()])
  })

  it('has the reply that is stored for the same request in a small one', async () => {
    const { bench, respond } = await serve()
    const fields = JSON.stringify({ name: 'x', companies: companies(3) })
    const key = { 'idempotency-key': 'one' }
    const first = await respond(listRequest(bench.key, fields, key))
    const again = await respond(listRequest(bench.key, `${fields.slice(0, -1)}${' '.repeat(100_000)}}`, key))
    expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true'])
    expect(await again.json()).toEqual(await first.json())
  })

  it('is refused as a small one is', async () => {
    const { bench, respond } = await serve()
    const pad = ' '.repeat(100_000)
    for (const broken of [
      '{',
      '[]',
      '{"name":"x"}',
      '{"name":"","companies":[{"name":"x"}]}',
      '{"name":"x","companies":[{"domain":"a b"},{}]}',
      '{"name":"x","companies":1e400}',
      '{"name":"x","companies":[],"__proto__":{}}',
      `{"name":"x","custom":${'['.repeat(70)}${']'.repeat(70)}}`,
    ]) {
      const [small, large] = [
        await respond(listRequest(bench.key, broken)),
        await respond(listRequest(bench.key, pad + broken)),
      ]
      expect([broken, large.status, await large.json()]).toEqual([broken, small.status, await small.json()])
    }
  })

  it('with too many values is refused before it is parsed', async () => {
    const { bench, respond } = await serve()
    const { values } = operation('lists.create').body ?? { values: 0 }
    const response = await respond(listRequest(bench.key, `{"x":[${'0,'.repeat(values)}0]}`))
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: `The request body has more than ${values} values` },
    ])
  })

  it('with too many fields is refused', async () => {
    const { bench, respond } = await serve()
    const fields = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`field_${at}`, 1]))
    const response = await respond(listRequest(bench.key, JSON.stringify(fields)))
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'The request body has more than 1000 fields' },
    ])
  })

  it('of a key without the scope is not read', async () => {
    const { bench, respond } = await serve()
    const { key } = await bench.admin.createKey({ member: 'me@localhost', scopes: ['credits'] })
    let pulled = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(65_536))
      },
    })
    const init = { method: 'POST', headers: json(key), body, duplex: 'half' } as RequestInit
    const response = await respond(new Request('http://localhost:4010/api/v2/lists', init))
    expect(response.status).toBe(403)
    expect(pulled).toBeLessThanOrEqual(1)
  })
})

describe('what is handed back by the thread', () => {
  it('is only what the handler needs', async () => {
    const parsed = await thread.parse(
      taskOf({ name: 'x', companies: companies(3), other: Array(10_000).fill({}) }),
    )
    expect(parsed).toMatchObject({
      isLive: true,
      result: { fields: JSON.stringify({ name: 'x', companies: companies(3) }) },
    })
    expect(readRequestOf(parsed).checked?.result).toEqual({
      fields: { name: 'x', companies: companies(3) },
    })
  })

  it('is sent on by a proxy as it came', async () => {
    const front = await openBench()
    benches.push(front)
    const sent: unknown[] = []
    const names = { network: 'linkedin', premium: 'navigator' }
    const upstream: Caller = {
      call: async (id, input: Input) => {
        sent.push(JSON.parse(String(wireRequest(operation(id), input, names).body)))
        return { status: 201, body: {}, headers: {}, credits: 0 }
      },
      close: async () => {},
    }
    const ports = { store: front.store, clock: front.clock, apiKey: 'theirs', sleep: async () => {} }
    const respond = handler({
      caller: compose([guardCaller(ports)], upstream),
      version: '1',
      document: async () => ({}),
      names,
      readBody: createBodyReader(thread),
    })
    const given = {
      name: 'x',
      companies: companies(1_200).map((company) => ({ ...company, linkedin_url: 'https://a.example/in/b' })),
      custom: { large: Array(2_000).fill({ id: 1 }) },
      other: 'é',
    }
    expect((await respond(listRequest(front.key, JSON.stringify(given)))).status).toBe(201)
    expect(sent).toEqual([given])
  })
})

describe('the thread', () => {
  it('answer as parsing in this thread does', async () => {
    for (const task of [
      taskOf({ name: 'x', companies: companies(4) }),
      taskOf({}),
      taskOf({}, { validates: false }),
    ])
      expect(await thread.parse(task)).toEqual(await performTask(task))
  })
})

describe('the room for large bodies', () => {
  it('takes no more of a workspace, or of all, while too many are read', async () => {
    const waiting: (() => void)[] = []
    const held: BodyThread = {
      parse: (task) => new Promise((resolve) => waiting.push(() => resolve(performTask(task)))),
    }
    const body = JSON.stringify({ name: 'x', companies: companies(2_000) })
    const max = { own: 2 * body.length, all: 10 * body.length }
    const { bench, respond } = await serve(createBodyReader(held, max))
    const ask = () => respond(listRequest(bench.key, body, { 'content-length': String(body.length) }))
    const replies = [ask(), ask()]
    while (waiting.length < 2) await new Promise(setImmediate)
    const refused = await ask()
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      503,
      '1',
      { error: 'Too many large requests at once' },
    ])
    for (const go of waiting.splice(0)) go()
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([201, 201])
    const next = ask()
    while (waiting.length === 0) await new Promise(setImmediate)
    waiting[0]?.()
    expect((await next).status).toBe(201)
  })
})

describe('a large delivery', () => {
  const secrets = [newSecret(new Uint8Array(24).fill(1)), newSecret(new Uint8Array(24).fill(2))]
  const pad = ' '.repeat(70_000)
  const now = Date.parse('2026-03-10T12:00:00Z')

  /** Delivers a body; returns the response, what was stored of it, and what the thread was given. */
  async function deliver(body: string, signing: readonly string[], more: Partial<ReceiverOptions> = {}) {
    const kept: ReceivedDelivery[] = []
    const given: DeliveryTask[] = []
    const take = receiver({
      token: 'x',
      secrets: [],
      clock: { now: () => now },
      inbox: { keep: async (one) => kept.push(one) > 0 },
      parse: (task) => {
        given.push(task)
        return thread.parse(task)
      },
      ...more,
    })
    const headers = {
      'content-type': 'application/json',
      ...(signing.length > 0 ? sign('id', now, body, signing) : {}),
    }
    const request = new Request(`http://localhost:4011${receiverPath('x')}`, {
      method: 'POST',
      headers,
      body,
    })
    const response = await take(request)
    return { status: response.status, reply: await response.json(), kept, given }
  }

  it.each([
    ['an event', '{"event":"lead_search.record","id":"s","lead":{"id":9007199254740993}}', [], {}],
    ['a signed one', '{"event":"lead_search.record"}', secrets.slice(1), { secrets }],
    ['one that a known secret signed', '{"id":7}', secrets.slice(1), { known: async () => secrets }],
    ['one that another secret signed', '{}', secrets.slice(0, 1), { secrets: secrets.slice(1) }],
    ['one without a signature', '[]', [], { secrets }],
    ['no object', '7', [], {}],
    ['no JSON', '{', [], {}],
    ['one nested too deep', '['.repeat(70), [], {}],
  ])('is taken or refused as a small one is: %s', async (_, text, signing, more) => {
    const small = await deliver(text, signing, more)
    const large = await deliver(pad + text, signing, more)
    expect([small.given.length, large.given.length]).toEqual([0, 1])
    const of = ({ status, reply, kept }: typeof small) => ({
      status,
      reply,
      kept: kept.map((one) => ({ ...one, id: '', headers: {}, body: one.body.trim() })),
    })
    expect(of(large)).toEqual(of(small))
    expect(large.kept.map(({ body }) => body)).toEqual(large.status === 200 ? [pad + text] : [])
  })

  it('of proxied work is counted', async () => {
    const leads = Array.from({ length: 1_200 }, (_, ordinal) => ({
      ordinal,
      account: { domain: 'a.example' },
    }))
    const counted: number[] = []
    const ledger: ProxiedWorkLedger = {
      start: async () => {},
      operationOf: async () => undefined,
      hold: async () => {},
      finish: async () => {},
      count: async (_, __, records) => void counted.push(records.length),
    }
    const onError = (error: unknown) => expect(error).toBeUndefined()
    const { recordDelivery } = createProxiedWork(ledger, onError, undefined, thread.parse)
    const delivery = { event: 'account_search.completed', search: 's', path: 'p' }
    await recordDelivery('intents.stack', { ...delivery, body: pad + JSON.stringify({ accounts: leads }) })
    expect(counted).toEqual([1_200])
  })
})
