import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { foreign, post, receiving } from '../../cli/call/foreign.js'
import { filled, servingMachine } from '../../cli/call/serving.js'
import { closeAfterTest } from '../../client/listeners.js'
import { machine } from '../../support/command.js'
import { receiveWebhooks } from '../../support/webhook-receiver.js'

const people = 'https://www.network.example/search/results/people/?keywords=sales'
const words = ['--network-name', 'linkedin', '--premium-name', 'sales_navigator']

/** Runs a waiting command against a server that delivers these bodies to its webhook, and returns what it printed. */
async function delivered(command: readonly string[], ...bodies: unknown[]): Promise<unknown> {
  const server = closeAfterTest(
    await foreign(({ body }) => {
      void post(body.webhook_url, ...bodies)
      return { message: 'ok', id: 'one', status: 'processing' }
    }),
  )
  const { code, stdout, stderr } = await server.run([...command, '--wait', ...words], await receiving())
  expect([code, stderr]).toEqual([0, expect.any(String)])
  return JSON.parse(stdout)
}

describe('deliveries of a server in the flat shape', () => {
  const leads = ['leads', 'extract', '--search-url', people]
  const flat = (name: string) => ({ first_name: name, linkedin_profile_url: `https://x.example/${name}` })
  const lead = (name: string) => ({ first_name: name, network_profile_url: `https://x.example/${name}` })

  it('are taken with the fields of a lead at the top level', async () => {
    expect(await delivered([...leads, '--streaming', '--limit', '2'], flat('Ann'), flat('Bob'))).toEqual([
      { lead: lead('Ann'), company: null },
      { lead: lead('Bob'), company: null },
    ])
  })

  it('are taken with the company beside the fields of a lead', async () => {
    const company = { name: 'Acme' }
    expect(await delivered([...leads, '--streaming', '--limit', '1'], { ...flat('Ann'), company })).toEqual([
      { lead: lead('Ann'), company },
    ])
  })

  it('are taken as a bare array', async () => {
    expect(await delivered(leads, [flat('Ann'), flat('Bob')])).toEqual([
      { lead: lead('Ann'), company: null },
      { lead: lead('Bob'), company: null },
    ])
    expect(await delivered(['accounts', 'search', '--keyword', 'x'], [{ name: 'A' }])).toEqual([
      { name: 'A' },
    ])
  })

  it('are taken as a final body with leads', async () => {
    expect(await delivered(leads, { status: 'done', leads: [flat('Ann')] })).toEqual([
      { lead: lead('Ann'), company: null },
    ])
  })
})

describe('serve --delivery-shape flat', () => {
  it.each([[[]], [['--streaming']]])(
    'delivers what a waiting command reads as the nested shape, with options %j',
    async (options) => {
      const there = closeAfterTest(
        await servingMachine((one) => filled(one, 3, 3), '--delivery-shape', 'flat', ...words),
      )
      const here = machine()
      const env = { PROSPECT_BASE_URL: there.baseUrl, PROSPECT_API_KEY: there.key }
      for (const command of [
        ['leads', 'extract', people],
        ['intents', 'stack', '--stacks', 'react'],
      ]) {
        const far = await here.run(
          [...command, ...options, '--wait', '-o', 'far.csv', ...words, ...(await receiving())],
          { env },
        )
        const near = await there.machine.run([...command, '--wait', '-o', 'near.csv', '--local'])
        expect([far.code, near.code]).toEqual([0, 0])
        expect(readFileSync(join(here.home, 'far.csv'), 'utf8')).toBe(
          readFileSync(join(there.machine.home, 'near.csv'), 'utf8'),
        )
      }
      here.remove()
    },
  )

  it('carries the fields of a record at the top level, signed as they are sent', async () => {
    let secret = ''
    const receiver = closeAfterTest(await receiveWebhooks(() => secret))
    const there = closeAfterTest(
      await servingMachine((one) => filled(one, 1, 1), '--delivery-shape', 'flat', ...words),
    )
    secret = (await there.machine.json<{ secret: string }>('engine', 'webhooks', 'secret')).secret
    const headers = { 'content-type': 'application/json', 'x-api-key': there.key }
    for (const [path, fields] of [
      ['/leads', { search_url: people, name: 'L' }],
      ['/intents/accounts/stack', { stacks: ['react'] }],
    ] as const) {
      const body = JSON.stringify({ ...fields, webhook_url: receiver.url, streaming: true, custom: { a: 1 } })
      expect((await fetch(there.baseUrl + path, { method: 'POST', headers, body })).status).toBe(202)
    }
    await expect.poll(() => receiver.arrivals.length, { timeout: 20_000 }).toBe(4)
    expect(receiver.arrivals.every(({ verified }) => verified)).toBe(true)
    const bodies = receiver.arrivals.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    expect(bodies.find(({ event }) => event === 'lead_search.record')).toMatchObject({
      first_name: 'Ann',
      custom: { a: 1 },
      ordinal: 1,
      linkedin_profile_url: 'https://www.network.example/in/ann-0',
      company: { domain: 'company-0.example' },
    })
    const company = bodies.find(({ event }) => event === 'stack_import.record')
    expect(company).toMatchObject({ domain: 'robots-0.example', account_id: expect.any(String) })
    expect(company?.account).toBeUndefined()
  })
})
