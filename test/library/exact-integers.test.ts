import { beforeEach, describe, expect, it } from 'vitest'
import { handler, openEngine, remote, type TypedCaller } from '../../src/index.js'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { perTest } from '../support/each.js'

/** Beyond 2^53: the nearest number is 9007199254740992. */
const digits = '9007199254740993'
const custom = `{"row":${digits},"rows":[-${digits}],"deep":{"n":123456789012345678901234567890}}`
const search = `{"company_domain":"known.example","job_titles":["*"],"webhook_url":"http://127.0.0.1:1/x","custom":${custom}}`

const engine = perTest(() => openEngine({ targets: { allow: ['127.0.0.0/8'], loopback: true } }))
let key: string
beforeEach(async () => {
  key = (await engine.admin.init()).key ?? ''
  await engine.admin.setPlan('Scale')
  await engine.catalogue.importRecords('companies', [{ name: 'Known', domain: 'known.example' }])
  await engine.catalogue.importRecords('people', [
    { first_name: 'A', last_name: 'B', company_domain: 'known.example', email: 'a@known.example' },
  ])
})

/** Sends a request in its very bytes; answers those of the reply. */
async function send(
  caller: TypedCaller,
  path: string,
  body: string,
  more: Record<string, string> = {},
  names?: { network: string; premium: string },
) {
  const headers = { 'content-type': 'application/json', 'x-api-key': key, ...more }
  const serve = handler({ caller, ...(names ? { names } : {}) })
  const response = await serve(
    new Request(`http://127.0.0.1/api/v2${path}`, { method: 'POST', headers, body }),
  )
  return { status: response.status, text: await response.text() }
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
    const limit = `{"company_domain":"x","limit":${digits}}`
    expect((await send(engine.caller, '/accounts/company_hiring', limit)).status).toBe(422)
  })

  it('passes through another server and back, also when that uses other field names', async () => {
    const names = { network: 'linkedin', premium: 'sales_navigator' }
    const answer = `{"id":"a","linkedin_list_id":${digits},"custom":${custom}}`
    const seen: string[] = []
    const server = closeAfterTest(
      await answering(async (request, response) => {
        seen.push((await received(request)).body)
        response.end(answer)
      }),
    )
    const caller = closeAfterTest(await remote({ baseUrl: `${server.origin}/api/v2`, names }))
    const body = `{"company_linkedin_url":"u","custom":${custom}}`
    const { text } = await send(caller, '/lists', body, {}, names)
    expect([seen.at(-1), text]).toEqual([body, answer])
  })

  it('is delivered in the custom fields of a webhook', async () => {
    const bodies: string[] = []
    const server = await answering(async (request, response) => {
      bodies.push((await received(request)).body)
      response.end()
    })
    const body = search.replace('127.0.0.1:1/', `127.0.0.1:${server.port}/`)
    const reply = await send(engine.caller, '/leads/search', body)
    await engine.worker.finish((JSON.parse(reply.text) as { id: string }).id)
    await engine.worker.drain()
    await server.close()
    expect(bodies).toEqual([expect.stringContaining(`"custom":${custom}`)])
  })
})
