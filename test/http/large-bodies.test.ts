import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { compose, type Input } from '../../src/api/calls/caller.js'
import { operation } from '../../src/api/operations/table.js'
import { toCanonicalJson, toJson } from '../../src/api/values/json.js'
import { type ReceivedDelivery, receiverPath } from '../../src/api/webhooks/events.js'
import { newSecret, sign } from '../../src/api/webhooks/signature.js'
import { wireRequest } from '../../src/client/connection.js'
import { createProxiedWork } from '../../src/client/proxied-work.js'
import { guardCaller } from '../../src/engine/request/proxy-guard.js'
import { listCompanies } from '../../src/engine/tables/lists.js'
import { type RequestTask, readRequestOf } from '../../src/http/body.js'
import { performTask } from '../../src/http/body-thread.js'
import { handler } from '../../src/http/handler.js'
import { listen } from '../../src/http/listen.js'
import { type DeliveryTask, type ReceiverOptions, receiver } from '../../src/http/receiver.js'
import { type BodyThread, createBodyReader, createBodyThread } from '../../src/http/request-body.js'
import { notingLedger } from '../client/serving.js'
import { answering } from '../support/answering.js'
import { isLong } from '../support/effort.js'
import { openBench } from '../support/engine.js'
import { bundled } from '../support/programs.js'

let thread: BodyThread
beforeAll(async () => {
  thread = createBodyThread(await bundled('../src/http/body-thread.ts'))
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

/** Answers a request; its body is JSON. */
async function answer(respond: ReturnType<typeof handler>, apiKey: string, body: string, more: Sent = {}) {
  const { path = '/lists', headers = {} } = more
  const init = { method: 'POST', headers: { ...json(apiKey), ...headers }, body }
  const response = await respond(new Request(`http://localhost:4010/api/v2${path}`, init))
  return {
    status: response.status,
    body: await response.json(),
    headers: Object.fromEntries(response.headers),
  }
}
interface Sent {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

async function serve(readBody = createBodyReader(thread)) {
  const bench = await openBench()
  const respond = handler({ caller: bench.caller, version: '1', document: async () => ({}), readBody })
  return { bench, respond, post: (body: string, more?: Sent) => answer(respond, bench.key, body, more) }
}

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
    onTestFinished(() => server.close(0))
    const body = JSON.stringify({ name: 'x', companies: 0, x: Array(250_000).fill({}) })
    let status: number | undefined
    const replied = fetch(`${server.baseUrl}/lists`, { method: 'POST', headers: json(bench.key), body })
    void replied.then((response) => {
      status = response.status
    })
    let answered = 0
    while (status === undefined) {
      await (await fetch(`${server.origin}/health`)).arrayBuffer()
      if (isParsing) answered++
    }
    return { status, answered }
  }

  it('is parsed while other requests are answered', async () => {
    await shapeOf('lists.create')
    const beside = await answeredBeside(thread)
    expect(beside.status).toBe(422)
    expect(beside.answered).toBeGreaterThan(3)
    // What the thread is for: in that of the event loop, nothing else is answered.
    if (isLong) expect(await answeredBeside({ parse: performTask })).toEqual({ status: 422, answered: 0 })
  })

  it('creates the list that a small one creates', async () => {
    const { bench, post } = await serve()
    const { status, body } = await post(JSON.stringify({ name: 'x', companies: companies(2_345) }))
    expect(status).toBe(201)
    const { id } = body as { id: string }
    const listed = await bench.store.read((tx) => listCompanies(tx, id, 0, 5_000))
    expect(listed.map(({ ordinal, company }) => ({ ordinal, ...company }))).toEqual(
      companies(2_345).map((company, at) => ({ ordinal: at + 1, ...company })),
    )
  })

  it('is answered where its lists are as long as may be', async () => {
    const { bench, post } = await serve()
    await bench.admin.setCredits(10_000)
    const custom = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`field_${at}`, at]))
    const contacts = companies(100).map(({ domain }) => ({ firstname: 'A', lastname: 'B', domain, custom }))
    const bulk = JSON.stringify({ enrichment_type: ['email'], contacts })
    expect(await post(bulk, { path: '/contacts/bulk_enrich' })).toMatchObject({
      status: operation('contacts.bulk_enrich').ok,
      body: { contacts: contacts.map(() => ({ enrichment_id: expect.any(String), custom })) },
    })
    const words = Array.from({ length: 1_000 }, (_, at) => `${'word '.repeat(15)}${at}`)
    const people = JSON.stringify({ live: false, job_titles: words })
    expect((await post(people, { path: '/leads/advanced_search/preview' })).status).toBe(200)
  })

  it('has the reply that is stored for the same request in a small one', async () => {
    const { post } = await serve()
    const fields = JSON.stringify({ name: 'x', companies: companies(3) })
    const headers = { 'idempotency-key': 'one' }
    const first = await post(fields, { headers })
    const again = await post(`${fields.slice(0, -1)}${' '.repeat(100_000)}}`, { headers })
    expect([first.status, again.status, again.headers['idempotent-replayed']]).toEqual([201, 201, 'true'])
    expect(again.body).toEqual(first.body)
  })

  it('is refused as a small one is', async () => {
    const { post } = await serve()
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
      const [small, large] = [await post(broken), await post(pad + broken)]
      expect([broken, large.status, large.body]).toEqual([broken, small.status, small.body])
    }
  })

  it('with too many values is refused before it is parsed', async () => {
    const { post } = await serve()
    const { values } = operation('lists.create').body ?? { values: 0 }
    const error = `The request body has more than ${values} values`
    expect(await post(`{"x":[${'0,'.repeat(values)}0]}`)).toMatchObject({ status: 413, body: { error } })
  })

  it('with too many fields is refused', async () => {
    const { post } = await serve()
    const fields = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`field_${at}`, 1]))
    const error = 'The request body has more than 1000 fields'
    expect(await post(JSON.stringify(fields))).toMatchObject({ status: 400, body: { error } })
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

  it.each([
    ['in its words', { network: 'linkedin', premium: 'navigator' }],
    ['in ours', undefined],
  ])(
    'is sent on by a proxy as it came, under the key of an equal request: to a server %s',
    async (_, names) => {
      const front = await openBench()
      const upstream = answering({ status: 201 })
      const ports = { store: front.store, clock: front.clock, apiKey: 'theirs', sleep: async () => {} }
      const respond = handler({
        caller: compose([guardCaller(ports)], upstream),
        version: '1',
        document: async () => ({}),
        names,
        readBody: createBodyReader(thread),
      })
      const network = names?.network ?? 'network'
      const given = {
        name: 'x',
        companies: companies(1_200).map((company) => ({
          ...company,
          [`${network}_url`]: 'https://a.example/in/b',
        })),
        custom: { large: Array(2_000).fill({ second: 2, first: 1 }) },
        ids: [12345678901234567890n, 9007199254740993n, 1],
        nothing: null,
        other: 'é',
      }
      expect((await answer(respond, front.key, toJson(given))).status).toBe(201)
      const [{ id, input } = { id: 'lists.create' as const, input: {} }] = upstream.asked
      expect(wireRequest(operation(id), input, names).body).toBe(toJson(given))
      expect(toCanonicalJson(input)).toBe(toCanonicalJson(names ? structuredClone(input) : given))
      // What this machine does not know of stays as it came, and has no value here.
      expect(Array.isArray((input as Input).ids)).toBe(names !== undefined)
    },
  )

  it('has the fields that an operation takes inside of another one', async () => {
    const account = { domain: 'known.example', notes: Array(20_000).fill('note') }
    const parsed = await thread.parse(taskOf({ account }, { operation: 'intents.growth', validates: false }))
    expect(readRequestOf(parsed).input).toEqual({ account })
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
    const { post } = await serve(createBodyReader(held, max))
    const ask = () => post(body, { headers: { 'content-length': String(body.length) } })
    const replies = [ask(), ask()]
    while (waiting.length < 2) await new Promise(setImmediate)
    expect(await ask()).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { error: 'Too many large requests at once' },
    })
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
    const signed = signing.length > 0 ? sign('id', now, body, signing) : {}
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...signed }, body }
    const response = await take(new Request(`http://localhost:4011${receiverPath('x')}`, init))
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
    const { ledger, noted } = notingLedger()
    const onError = (error: unknown) => expect(error).toBeUndefined()
    const { recordDelivery } = createProxiedWork(ledger, onError, undefined, thread.parse)
    const delivery = { event: 'account_search.completed', search: 's', path: 'p' }
    await recordDelivery('intents.stack', { ...delivery, body: pad + JSON.stringify({ accounts: leads }) })
    expect(noted.at(-1)).toEqual(['finish', 'intents.stack', [{ id: 's', price: 3, credits: 3_600 }]])
  })
})
