import { rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import type { Caller, Input } from '../../src/api/calls/caller.js'
import { compose } from '../../src/api/calls/caller.js'
import { operation } from '../../src/api/operations/table.js'
import { PackedJson } from '../../src/api/values/json.js'
import { newSecret, sign } from '../../src/api/webhooks/signature.js'
import { wireRequest } from '../../src/client/connection.js'
import { createProxiedWork, type ProxiedWorkLedger } from '../../src/client/proxied-work.js'
import { guardCaller } from '../../src/engine/request/proxy-guard.js'
import { listCompanies } from '../../src/engine/tables/lists.js'
import { performTask } from '../../src/http/body-tasks.js'
import { type BodyThreads, createBodyThreads } from '../../src/http/body-threads.js'
import { handler } from '../../src/http/handler.js'
import type { ReceivedDelivery } from '../../src/http/inbox.js'
import { type Listening, listen } from '../../src/http/listen.js'
import { type RequestTask, readRequestOf } from '../../src/http/parse-body.js'
import { type DeliveryTask, type ReceiverOptions, receiver, receiverPath } from '../../src/http/receiver.js'
import { createBodyReader } from '../../src/http/request-body.js'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { remoteTo } from '../client/serving.js'
import { isLong } from '../support/effort.js'
import { type Bench, openBench } from '../support/engine.js'
import { bundled } from '../support/processes.js'

let program: string
let threads: BodyThreads
const open: Listening[] = []
const benches: Bench[] = []

beforeAll(async () => {
  program = await bundled('../src/http/body-thread.ts')
  threads = createBodyThreads(program, 1)
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close(0)))
  await Promise.all(benches.splice(0).map((bench) => bench.caller.close()))
})
afterAll(() => rmSync(program))

const json = (apiKey: string) => ({ 'content-type': 'application/json', 'x-api-key': apiKey })
const companies = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `Company ${at}`, domain: `company-${at}.example` }))
const never = new AbortController().signal
const taskOf = (fields: object, more: Partial<RequestTask> = {}): RequestTask => ({
  ...{ kind: 'request', operation: 'lists.create', params: {}, names: undefined, validates: true },
  pieces: [new TextEncoder().encode(JSON.stringify(fields))],
  ...more,
})

async function serve(readBody = createBodyReader(threads)) {
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
  async function answeredBeside(inner: BodyThreads) {
    let isParsing = false
    const watched: BodyThreads = {
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
    const beside = await answeredBeside(threads)
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
    const parsed = await threads.parse(
      taskOf({ name: 'x', companies: companies(3), other: Array(10_000).fill({}) }),
      'w',
      never,
    )
    expect(parsed).toMatchObject({
      isLive: true,
      result: { fields: { packed: {} } },
    })
    expect(readRequestOf(parsed).checked?.result).toEqual({
      fields: { name: 'x', companies: companies(3) },
    })
    expect(parsed).toHaveProperty(
      'result.fields.plain.length',
      JSON.stringify({ name: 'x', companies: companies(3) }).length,
    )
  })

  it('is packed where it is long', async () => {
    const parsed = await threads.parse(taskOf({ name: 'x', companies: companies(1_200) }), 'w', never)
    const { checked } = readRequestOf(parsed)
    const { companies: packed } = (checked as unknown as { result: { fields: { companies: PackedJson } } })
      .result.fields
    expect([packed.length, packed.parts.length]).toEqual([1_200, 3])
    expect([...packed]).toEqual(companies(1_200))
    expect(JSON.parse(Buffer.concat(packed.pieces).toString())).toEqual(companies(1_200))
  })

  it('is packed where a proxy sends it on and it is long, but not what the proxy itself reads', async () => {
    const fields = {
      ...Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`list_${at}`, Array(300).fill(at)])),
      text: 'x'.repeat(5_000_000),
      live: false,
      webhook_url: 'https://a.example/hook',
    }
    const parsed = await performTask(taskOf(fields, { validates: false }))
    const { input } = readRequestOf(parsed)
    expect(input).toMatchObject({ live: false, webhook_url: 'https://a.example/hook' })
    const packed = Object.values(input).filter((value) => value instanceof PackedJson)
    expect(packed.length).toBeGreaterThan(800)
    expect(input.text).toBeInstanceOf(PackedJson)
    expect(
      JSON.parse(
        Buffer.concat(wireRequest(operation('lists.create'), input).body as Uint8Array[]).toString(),
      ),
    ).toEqual(fields)
  })

  it('is sent to another server in pieces, with their length', async () => {
    const fields = { name: 'x', companies: companies(1_200) }
    const { input } = readRequestOf(await performTask(taskOf(fields, { validates: false })))
    const got: { readonly length: unknown; readonly body: string }[] = []
    const server = closeAfterTest(
      await answering(async (request, response) => {
        const { body } = await received(request)
        got.push({ length: request.headers['content-length'], body })
        response.writeHead(201).end('{"id":"a"}')
      }),
    )
    const remote = closeAfterTest(remoteTo(`http://127.0.0.1:${server.port}/api/v2`))
    await remote.call('lists.create', input, { apiKey: 'k' })
    expect(got.map(({ length, body }) => [length, JSON.parse(body)])).toEqual([
      [String(got[0]?.body.length), fields],
    ])
  })

  it('is sent on by a proxy as it came', async () => {
    const front = await openBench()
    benches.push(front)
    const sent: unknown[] = []
    const upstream: Caller = {
      call: async (id, input: Input) => {
        sent.push(
          JSON.parse(Buffer.concat(wireRequest(operation(id), input).body as Uint8Array[]).toString()),
        )
        return { status: 201, body: {}, headers: {}, credits: 0 }
      },
      close: async () => {},
    }
    const ports = { store: front.store, clock: front.clock, apiKey: 'theirs', sleep: async () => {} }
    const respond = handler({
      ...{ caller: compose([guardCaller(ports)], upstream), version: '1', document: async () => ({}) },
      names: { network: 'linkedin', premium: 'navigator' },
      readBody: createBodyReader(threads),
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

describe('the threads', () => {
  it('serve the owners in turn, whatever one of them has queued', async () => {
    const order: string[] = []
    const large = () => taskOf({ name: 'x', companies: companies(5_000) })
    const done = (name: string, owner: string) =>
      threads.parse(large(), owner, never).then(() => void order.push(name))
    await Promise.all([
      ...Array.from({ length: 4 }, (_, at) => done(`greedy ${at}`, 'greedy')),
      done('other', 'other'),
    ])
    expect(order.indexOf('other')).toBeLessThanOrEqual(2)
  })

  it('take no body of a client that has left', async () => {
    await expect(threads.parse(taskOf({}), 'w', AbortSignal.abort())).rejects.toThrow('given up')
  })

  it('give up a body whose client left, and go on with the next', async () => {
    const leaving = new AbortController()
    const left = threads.parse(taskOf({ x: Array(250_000).fill({}) }), 'w', leaving.signal)
    const queued = threads.parse(taskOf({ name: 'x', companies: companies(1) }), 'w', never)
    leaving.abort()
    await expect(left).rejects.toThrow('given up')
    expect(await queued).toHaveProperty('result.fields')
  })

  it('answer as parsing in this thread does', async () => {
    for (const task of [
      taskOf({ name: 'x', companies: companies(4) }),
      taskOf({}),
      taskOf({}, { validates: false }),
    ])
      expect(
        await threads.parse({ ...task, pieces: task.pieces.map((one) => one.slice()) }, 'w', never),
      ).toEqual(await performTask(task))
  })
})

describe('the room for large bodies', () => {
  /** Threads that parse when they are told to. */
  function held() {
    const waiting: (() => void)[] = []
    const threads: BodyThreads = {
      parse: (task) => new Promise((resolve) => waiting.push(() => resolve(performTask(task)))),
    }
    return { threads, waiting }
  }
  const settled = async () => {
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  }
  const body = JSON.stringify({ name: 'x', companies: companies(2_000) })
  const declared = { 'content-length': String(body.length) }
  const limits = { ownBytes: 2 * body.length, allBytes: 3 * body.length, ownWaiting: 1, allWaiting: 2 }

  it('holds two of a workspace, lets one wait unread, and refuses the next', async () => {
    const { threads, waiting } = held()
    const { bench, respond } = await serve(createBodyReader(threads, limits))
    const requests = Array.from({ length: 4 }, () => listRequest(bench.key, body, declared))
    const replies = requests.map(respond)
    await settled()
    expect([waiting.length, requests.map(({ bodyUsed }) => bodyUsed)]).toEqual([
      2,
      [true, true, false, false],
    ])
    const refused = await replies[3]
    expect([refused?.status, refused?.headers.get('retry-after'), await refused?.json()]).toEqual([
      503,
      '1',
      { error: 'Too many large requests at once' },
    ])
    for (let at = 0; at < 3; at++) {
      waiting[at]?.()
      await settled()
    }
    expect((await Promise.all(replies.slice(0, 3))).map(({ status }) => status)).toEqual([201, 201, 201])
  })

  it('forgets a client that leaves while it waits', async () => {
    const { threads, waiting } = held()
    const { bench, respond } = await serve(createBodyReader(threads, limits))
    const leaving = new AbortController()
    const replies = [0, 1].map(() => respond(listRequest(bench.key, body, declared)))
    await settled()
    const left = respond(new Request(listRequest(bench.key, body, declared), { signal: leaving.signal }))
    await settled()
    leaving.abort()
    expect((await left).status).toBe(400)
    const next = respond(listRequest(bench.key, body, declared))
    await settled()
    for (let at = 0; at < 3; at++) {
      waiting[at]?.()
      await settled()
    }
    expect((await Promise.all([...replies, next])).map(({ status }) => status)).toEqual([201, 201, 201])
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
      ...{
        token: 'x',
        secrets: [],
        clock: { now: () => now },
        inbox: { keep: async (one) => kept.push(one) > 0 },
      },
      parse: (task, ...rest) => {
        given.push(task)
        return threads.parse(task, ...rest)
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
      ...{ status, reply },
      kept: kept.map((one) => ({ ...one, id: '', headers: {}, body: one.body.trim() })),
    })
    expect(of(large)).toEqual(of(small))
    expect(large.kept.map(({ body }) => body)).toEqual(large.status === 200 ? [pad + text] : [])
  })

  it('of proxied work is counted in parts', async () => {
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
      onError: (error) => expect(error).toBeUndefined(),
    }
    const { recordDelivery } = createProxiedWork(ledger, undefined, threads.parse)
    const delivery = { event: 'account_search.completed', search: 's', path: 'p' }
    await recordDelivery('intents.stack', { ...delivery, body: pad + JSON.stringify({ accounts: leads }) })
    expect(counted).toEqual([500, 500, 200])
  })
})
