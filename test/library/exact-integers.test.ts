import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { handler, type OpenedEngine, openEngine, remote, type TypedCaller } from '../../src/index.js'
import { answering, type Listener, received } from '../client/listeners.js'

/** Beyond 2^53: the nearest number is 9007199254740992. */
const digits = '9007199254740993'
const custom = `{"row":${digits},"rows":[-${digits}],"deep":{"n":123456789012345678901234567890}}`
const search = `{"company_domain":"known.example","job_titles":["*"],"webhook_url":"http://127.0.0.1:1/x","custom":${custom}}`

let engine: OpenedEngine
let key: string
const open: { close(): Promise<void> }[] = []
beforeEach(async () => {
  engine = await openEngine({ targets: { allow: ['127.0.0.0/8'], loopback: true } })
  open.push(engine)
  key = (await engine.admin.init()).key ?? ''
  await engine.admin.setPlan('Scale')
  await engine.catalogue.importRecords('companies', [{ name: 'Known', domain: 'known.example' }])
  await engine.catalogue.importRecords('people', [
    { first_name: 'A', last_name: 'B', company_domain: 'known.example', email: 'a@known.example' },
  ])
})
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** Sends a request in its very bytes; answers those of the reply. */
async function send(caller: TypedCaller, path: string, body: string, more: Record<string, string> = {}) {
  const headers = { 'content-type': 'application/json', 'x-api-key': key, ...more }
  const serve = handler({ caller })
  const response = await serve(
    new Request(`http://127.0.0.1/api/v2${path}`, { method: 'POST', headers, body }),
  )
  return { status: response.status, text: await response.text() }
}

const upstream = async (answer: (body: string) => string): Promise<Listener & { seen: string[] }> => {
  const seen: string[] = []
  const listener = await answering(async (request, response) => {
    const { body } = await received(request)
    if (body !== '') seen.push(body)
    response.end(answer(body))
  })
  open.push(listener)
  return { ...listener, seen }
}

const remoteOf = async (port: number, names?: { network: string; premium: string }) => {
  const caller = await remote({ baseUrl: `http://127.0.0.1:${port}/api/v2`, ...(names ? { names } : {}) })
  open.push(caller)
  return caller
}

describe('an integer beyond 2^53', () => {
  it('is returned by the engine as it was given, also in a replay', async () => {
    const once = { 'idempotency-key': 'once' }
    const first = await send(engine.caller, '/leads/search', search, once)
    expect([first.status, first.text]).toEqual([202, expect.stringContaining(`"custom":${custom}`)])
    expect((await send(engine.caller, '/leads/search', search, once)).text).toBe(first.text)
  })

  it('makes two requests different when only their last digit differs', async () => {
    const once = { 'idempotency-key': 'once' }
    expect((await send(engine.caller, '/leads/search', search, once)).status).toBe(202)
    const other = search.replace(digits, '9007199254740992')
    expect((await send(engine.caller, '/leads/search', other, once)).status).toBe(409)
  })

  it('has the wrong type for a text or a small number', async () => {
    const bodies = [`{"domain":${digits}}`, `{"domain":"known.example","live":${digits}}`]
    for (const body of bodies)
      expect((await send(engine.caller, '/accounts/single_enrich', body)).status).toBe(422)
    const limit = await send(
      engine.caller,
      '/accounts/company_hiring',
      `{"company_domain":"x","limit":${digits}}`,
    )
    expect(limit.status).toBe(422)
  })

  it('passes through another server and back, digit by digit', async () => {
    const server = await upstream(
      () => `{"id":"7f6f2d0e-5d0c-4d8e-9b0a-2f6f3f0f1a11","network_list_id":${digits}}`,
    )
    const { status, text } = await send(
      await remoteOf(server.port),
      '/lists',
      `{"name":"A","companies":[{"name":"X","domain":"x.example"}],"custom":${custom}}`,
    )
    expect(server.seen.at(-1)).toContain(custom)
    expect([status, text]).toEqual([200, expect.stringContaining(`"network_list_id":${digits}`)])
  })

  it('passes through when the other server uses other field names, too', async () => {
    const names = { network: 'linkedin', premium: 'sales_navigator' }
    const server = await upstream(() => `{"id":"a","linkedin_list_id":${digits},"custom":${custom}}`)
    const caller = await remoteOf(server.port, names)
    const serve = handler({ caller, names })
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    const body = `{"company_linkedin_url":"u","custom":${custom}}`
    const request = new Request('http://127.0.0.1/api/v2/lists', { method: 'POST', headers, body })
    const text = await (await serve(request)).text()
    expect(server.seen.at(-1)).toBe(body)
    expect(text).toBe(`{"id":"a","linkedin_list_id":${digits},"custom":${custom}}`)
  })

  it('is delivered in the custom fields of a webhook', async () => {
    const bodies: string[] = []
    const server = await answering(async (request, response) => {
      bodies.push((await received(request)).body)
      response.end()
    })
    const reply = await send(
      engine.caller,
      '/leads/search',
      search.replace('127.0.0.1:1/', `127.0.0.1:${server.port}/`),
    )
    await engine.worker.finish((JSON.parse(reply.text) as { id: string }).id)
    await engine.worker.drain()
    await server.close()
    expect(bodies).toEqual([expect.stringContaining(`"custom":${custom}`)])
  })
})
