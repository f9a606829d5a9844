import { describe, expect, it } from 'vitest'
import { foreign, post, receiving } from '../../cli/call/foreign.js'
import { serves } from '../../cli/call/serving.js'
import { closeAfterTest } from '../../client/listeners.js'
import { machine } from '../../support/command.js'
import { receiveWebhooks } from '../../support/webhook-receiver.js'

const people = 'https://www.network.example/search/results/people/?keywords=sales'
const words = ['--network-name', 'linkedin', '--premium-name', 'sales_navigator']
const flatShape = ['--delivery-shape', 'flat', ...words]

/** Runs a waiting command against a server that delivers this to its webhook, and returns what it printed. */
async function delivered(command: readonly string[], delivery: unknown): Promise<unknown> {
  const server = closeAfterTest(
    await foreign(({ body }) => {
      void post(body.webhook_url, delivery)
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

  const streamed = [...leads, '--streaming', '--limit', '1']
  const company = { name: 'Acme' }
  const [ann, bob] = ['Ann', 'Bob'].map((name) => ({ lead: lead(name), company: null }))

  it.each<[string, string[], unknown, unknown[]]>([
    ['with the fields of a lead at the top level', streamed, flat('Ann'), [ann]],
    ['with the company beside them', streamed, { ...flat('Ann'), company }, [{ lead: lead('Ann'), company }]],
    ['as a bare array of people', leads, [flat('Ann'), flat('Bob')], [ann, bob]],
    ['as a bare array of companies', ['accounts', 'search', '--keyword', 'x'], [company], [company]],
    ['as a final body with leads', leads, { status: 'done', leads: [flat('Ann')] }, [ann]],
  ])('are taken %s', async (_, command, body, found) => {
    expect(await delivered(command, body)).toEqual(found)
  })
})

describe('serve --delivery-shape flat', () => {
  it.each([[[]], [['--streaming']]])(
    'delivers what a waiting command reads as the nested shape, with options %j',
    async (options) => {
      const there = await serves(3, 3, flatShape)
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
        expect(here.read('far.csv')).toBe(there.machine.read('near.csv'))
      }
      here.remove()
    },
  )

  it('carries the fields of a record at the top level, signed as they are sent', async () => {
    let secret = ''
    const receiver = closeAfterTest(await receiveWebhooks(() => secret))
    const there = await serves(1, 1, flatShape)
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
