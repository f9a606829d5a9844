import { describe, expect, it } from 'vitest'
import { renamedFields } from '../../src/api/calls/wire-names.js'
import { operations } from '../../src/api/operations/table.js'
import { filled, servingMachine, servingWith } from '../cli/call/serving.js'
import { requests } from '../spec/requests.js'
import { perFile } from '../support/each.js'
import { until } from '../support/until.js'
import { receiveWebhooks } from '../support/webhook-receiver.js'
import { remoteTo } from './serving.js'
import { recorderTo } from './wire-recorder.js'

const names = { network: 'linkedin', premium: 'sales_navigator' }
const words = ['--network-name', names.network, '--premium-name', names.premium]

/** The neutral spellings in a text. */
const neutralIn = (text: string): readonly string[] =>
  renamedFields.filter((name) => new RegExp(`(?<![a-z_])${name}(?![a-z_])`, 'i').test(text))

const theirs = perFile(() => receiveWebhooks(() => undefined))
/** Receives deliveries that no test reads. A made-up host would be looked up in the network. */
const unread = perFile(() => receiveWebhooks(() => undefined))
const server = perFile(() =>
  servingMachine(
    async (here) => {
      await here.run('engine plan set Scale')
      await filled(here, 3, 3)
    },
    ...words,
  ),
)
const way = perFile(() => recorderTo(Number(new URL(server.baseUrl).port)))
const proxy = perFile(() =>
  servingWith({ PROSPECT_API_KEY: server.key }, async () => {}, '--upstream', way.baseUrl, ...words),
)
const wayThrough = perFile(() => recorderTo(Number(new URL(proxy.baseUrl).port)))

const known = {
  company_network_url: 'https://www.network.example/company/known',
  network_url: 'https://www.network.example/in/ann-1',
}

/** Requests whose replies contain field names: a valid one, an empty one, and some with wrong or known values. */
const variants = (id: keyof typeof requests, path: string): readonly Record<string, unknown>[] => {
  const hook = 'webhook_url' in requests[id] ? { webhook_url: unread.url } : {}
  const whole = { ...requests[id], ...hook, ...(path.includes('{') ? {} : { custom: { note: 1 } }) }
  const wrong = Object.fromEntries(renamedFields.map((name) => [name, 7]))
  const bare = path.includes('{') ? whole : {}
  return [whole, bare, { ...whole, ...wrong }, { ...whole, ...known }]
}

describe('field names on the wire', () => {
  it.each(operations().map((row) => [row.id, row] as const))(
    'uses only the names of the server on the wire in both directions, and our names in replies: %s',
    async (id, { path, rate }) => {
      const isLimited = JSON.stringify(rate).includes('own')
      for (const [recorder, key] of [
        [way, server.key],
        [wayThrough, proxy.key],
      ] as const) {
        const remote = remoteTo(recorder.baseUrl, { names })
        recorder.taken()
        for (const input of variants(id, path)) {
          // A minute later, no window is full; the proxy keeps to windows in real time, and refuses in words too.
          if (recorder === way && isLimited) await server.machine.run(['engine', 'clock', 'advance', '1m'])
          const { status, body } = await remote.call(id, input, { apiKey: key })
          const usual = [200, 201, 202, 400, 404, 422, ...(recorder === way ? [] : [429])]
          expect(usual, `${id} ${JSON.stringify(body)}`).toContain(status)
          const { sent, answered } = recorder.taken()
          expect(sent).toContain(`${operations().find((row) => row.id === id)?.method} `)
          expect(answered).toMatch(/^HTTP\/1\.1 \d/)
          expect([id, neutralIn(sent), neutralIn(answered)]).toEqual([id, [], []])
          expect(JSON.stringify(body)).not.toMatch(/"[a-z_]*sales_navigator[a-z_]*":|company_linkedin_/)
        }
        await remote.close()
      }
    },
  )

  it('describes the API with the names of the server', async () => {
    for (const { baseUrl } of [server, proxy]) {
      const text = await (await fetch(`${new URL(baseUrl).origin}/openapi.json`)).text()
      expect(neutralIn(text)).toEqual([])
      expect(text).toContain('company_linkedin_url')
    }
  })

  it('answers a client that uses the names of the server in the same names', async () => {
    const ask = async (path: string, body?: object) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': proxy.key }
      const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const response = await fetch(proxy.baseUrl + path, { headers, ...post })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const companies = [{ linkedin_url: 'https://www.network.example/company/x', name: 'X' }]
    const list = await ask('/lists', { name: 'A', companies })
    expect([list.status, Object.keys(list.body).sort()]).toEqual([201, ['id', 'linkedin_list_id']])
    expect((await ask(`/lists/${list.body.id}`)).body).toMatchObject({
      linkedin_list_id: list.body.linkedin_list_id,
    })
    const person = await ask('/leads/single_enrich', { linkedin_url: 'https://www.network.example/in/ann-1' })
    expect([person.status, person.body]).toMatchObject([
      200,
      { linkedin_profile_url: expect.stringContaining('/in/ann-1') },
    ])
    expect(person.body).toHaveProperty('sales_navigator_profile_url')
    const account = await ask('/account')
    expect(account.body.integrations).toEqual({
      linkedin_session_valid: true,
      sales_navigator_session_valid: true,
    })
    const counted = await ask('/accounts/count_profiles', {})
    const missing = expect.stringContaining('company_linkedin_id')
    expect([counted.status, JSON.stringify(counted.body)]).toEqual([400, missing])
  })
})

// One test after the other: each continues what those before it did.
describe('field names in deliveries', { shuffle: false }, () => {
  it.each([
    ['leads.extract', { search_url: 'https://www.network.example/search/results/people/?keywords=sales' }],
    ['accounts.search', { keyword: 'robots', streaming: true }],
    ['contacts.enrich', { firstname: 'Ann', lastname: 'Number1', domain: 'company-1.example' }],
    ['lists.create', { companies: [{ domain: 'robots-1.example' }] }],
  ] as const)(
    'uses the names of the server in a delivery, and leaves custom as it was given: %s',
    async (id, input) => {
      const before = theirs.arrivals.length
      const custom = { network_url: 'of your own' }
      const name = id.startsWith('contacts') ? { enrichment_type: ['email'] } : { name: 'A' }
      const remote = remoteTo(server.baseUrl, { names })
      const fields = { ...input, ...name, custom, webhook_url: theirs.url }
      const reply = await remote.call(id, fields, { apiKey: server.key })
      await remote.close()
      expect([200, 201, 202], JSON.stringify(reply.body)).toContain(reply.status)
      const isLast = ({ body }: { body: string }) => body.includes('.completed"')
      await until(() => theirs.arrivals.slice(before).some(isLast))
      for (const { body } of theirs.arrivals.slice(before)) {
        const { custom: given, ...rest } = JSON.parse(body) as Record<string, unknown>
        expect(neutralIn(JSON.stringify(rest))).toEqual([])
        if (given !== undefined) expect(given).toEqual(custom)
      }
    },
  )

  it.each([['engine', 'jobs', 'run'], ['worker']])(
    'uses the names of the server in deliveries that another process makes: %s',
    async (...command) => {
      const own = await servingWith({}, (here) => filled(here, 0, 1), '--no-worker', ...words)
      const before = theirs.arrivals.length
      const remote = remoteTo(own.baseUrl, { names })
      const asked = { keyword: 'robots', webhook_url: theirs.url }
      expect((await remote.call('accounts.search', asked, { apiKey: own.key })).status).toBe(202)
      await remote.close()
      const ended = own.machine.run([...command, ...words])
      await until(() => theirs.arrivals.length > before)
      await own.close()
      await ended
      const bodies = theirs.arrivals.slice(before).map(({ body }) => body)
      expect(bodies.flatMap(neutralIn)).toEqual([])
      expect(bodies.join()).toContain('linkedin_url')
    },
  )

  it('translates the deliveries of a waiting command back to our names', async () => {
    const url = 'https://www.network.example/search/results/people/?keywords=sales'
    const argv = ['leads', 'extract', url, '--wait', '--base-url', server.baseUrl, '--json', ...words]
    const { code, json } = await server.machine.run(argv, { env: { PROSPECT_API_KEY: server.key } })
    expect([code, json]).toMatchObject([0, [{ lead: { network_profile_url: expect.any(String) } }, {}, {}]])
  })
})
