import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest, freePort, received } from '../../../client/listeners.js'
import { until } from '../../../support/until.js'
import { receiveWebhooks, type WebhookReceiver } from '../../../support/webhook-receiver.js'
import { foreign, post } from '../../call/foreign.js'
import { ask, deliverable, proxyOf, serves } from '../../call/serving.js'

const search = { search_url: 'https://www.network.example/search/results/people/?keywords=sales', name: 'A' }

let theirs: WebhookReceiver
let secret: string | undefined
beforeEach(async () => {
  secret = undefined
  theirs = closeAfterTest(await receiveWebhooks(() => secret))
})
/** A proxy that receives the deliveries of a server. */
async function proxy(server: { readonly baseUrl: string; readonly key?: string }, env = {}) {
  const key = server.key ?? 'key-of-the-server'
  const one = await proxyOf({ ...server, key }, await deliverable(), undefined, env)
  secret = (await one.machine.json<{ secret: string }>('engine webhooks secret')).secret
  return one
}

const extract = (baseUrl: string, key: string, body: object) =>
  ask({ baseUrl, key }, '/leads', { ...search, ...body })

describe('re-targeted webhooks', () => {
  it('receives the deliveries of the server, and forwards them with its own signature', async () => {
    const server = await serves(3, 0)
    const { baseUrl, key, machine } = await proxy(server)
    const reply = await extract(baseUrl, key, { streaming: true, webhook_url: theirs.url })
    expect(reply.status).toBe(202)
    await until(() => theirs.arrivals.length === 4)
    expect(theirs.arrivals.every(({ verified }) => verified)).toBe(true)
    const events = theirs.arrivals.map(({ body }) => (JSON.parse(body) as { event: string }).event)
    expect(events.sort()).toEqual(['lead_search.completed', ...Array(3).fill('lead_search.record')])
    await until(() => theirs.arrivals.length === 4)
    expect(await machine.json('events list')).toHaveLength(4)
    const [job] = await server.machine.json<{ webhook_url: string }[]>('engine jobs list')
    expect(JSON.stringify(job)).not.toContain(theirs.url)
  })

  it('delivers to a command that waits behind the proxy', async () => {
    const server = await serves(0, 3)
    const { baseUrl, key, machine } = await proxy(server)
    const { code, json } = await machine.run(
      `accounts search --keyword robots --wait --base-url ${baseUrl}`,
      { env: { PROSPECT_API_KEY: key } },
    )
    expect([code, (json as unknown[]).length]).toEqual([0, 3])
  })

  it('verifies deliveries when the secret of the server is known', async () => {
    const server = await serves(1, 0)
    const known = await server.machine.json<{ secret: string }>('engine webhooks secret')
    const one = await proxy(server, { PROSPECT_WEBHOOK_SECRET: known.secret })
    await extract(one.baseUrl, one.key, { webhook_url: theirs.url })
    await until(() => theirs.arrivals.length === 1)
    expect(await one.machine.json('events list')).toMatchObject([{ verified: true }])
  })
})

it('delivers the other records in order while a receiver fails once, and retries the failed one', async () => {
  const server = await serves(12, 0)
  const { baseUrl, key, machine } = await proxy(server)
  const got: (number | 'end')[] = []
  let failures = 1
  const fickle = closeAfterTest(
    await answering(async (request, response) => {
      const { body } = await received(request)
      const { event, ordinal } = JSON.parse(body) as { event: string; ordinal: number }
      if (ordinal === 2 && failures-- > 0) return void response.writeHead(500).end()
      got.push(event === 'lead_search.completed' ? 'end' : ordinal)
      response.end()
    }),
  )
  const webhook_url = `http://127.0.0.1:${fickle.port}/in`
  expect((await extract(baseUrl, key, { streaming: true, webhook_url })).status).toBe(202)
  await until(() => got.length === 13)
  const records = [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  expect(got.filter((one) => one !== 2)).toEqual([...records, 'end'])
  expect(got.indexOf(2)).toBeGreaterThan(0)
  expect(await machine.json('events list')).toHaveLength(13)
})

it('re-targets webhooks to the setting public_url without an option', async () => {
  const server = await serves(1, 0)
  const port = await freePort()
  const { baseUrl, key, machine } = await proxyOf(server, `--port ${port}`, (here) =>
    here.run(`config set public_url http://127.0.0.1:${port}`),
  )
  expect((await extract(baseUrl, key, { webhook_url: theirs.url })).status).toBe(202)
  await until(() => theirs.arrivals.length === 1)
  expect(await machine.json('events list')).toHaveLength(1)
})

describe('the address of a re-targeted webhook', () => {
  it('creates the same address for the same idempotency key, and a new one without', async () => {
    const addresses: unknown[] = []
    const server = closeAfterTest(
      await foreign(({ path, body }) => {
        if (path === '/health') return {}
        addresses.push(body.webhook_url)
        return { id: 'one' }
      }),
    )
    const { baseUrl, key } = await proxy(server)
    // A search that has no limit per second.
    const people = { company_domain: 'known.example', job_titles: ['*'], webhook_url: theirs.url }
    const same = { 'idempotency-key': 'once' }
    for (const more of [same, same, {}, {}]) await ask({ baseUrl, key }, '/leads/search', people, more)
    expect(addresses[0]).toBe(addresses[1])
    expect(new Set(addresses).size).toBe(3)
    const origin = new URL(baseUrl).origin
    expect(addresses.every((one) => String(one).startsWith(`${origin}/hooks/`))).toBe(true)
  })

  it('forwards a delivery once, and refuses forged addresses', async () => {
    let address = ''
    const server = closeAfterTest(
      await foreign(({ path, body }) => {
        if (path === '/health') return {}
        address = String(body.webhook_url)
        return { id: 'one' }
      }),
    )
    const { baseUrl, key } = await proxy(server)
    await extract(baseUrl, key, { webhook_url: theirs.url })
    const [head = '', tail = ''] = address.split('.').slice(-2)
    const elsewhere = Buffer.from('http://127.0.0.1:1/other').toString('base64url')
    const forged = [
      address.replace(`.${tail}`, `.${elsewhere}`),
      address.replace(head.slice(-4), 'AAAA'),
      `${address}x`,
    ]
    const statuses = await Promise.all(forged.map((one) => post(one, { a: 1 })))
    expect(statuses.flat()).toEqual([404, 404, 404])
    expect(await post(address, { leads: [] }, { leads: [] })).toEqual([200, 200])
    await until(() => theirs.arrivals.length > 0)
    expect(theirs.arrivals.map(({ body, verified }) => [body, verified])).toEqual([['{"leads":[]}', true]])
  })

  it('refuses a webhook to a forbidden target before calling the server', async () => {
    const server = closeAfterTest(await foreign(() => ({ id: 'one' })))
    const { baseUrl, key } = await proxy(server)
    const reply = await extract(baseUrl, key, { webhook_url: 'http://169.254.169.254/latest' })
    expect([reply.status, server.requests.filter(({ path }) => path === '/leads')]).toEqual([400, []])
  })
})
