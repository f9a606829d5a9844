import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Caller, Input } from '../../../src/api/calls/caller.js'
import { compose } from '../../../src/api/calls/caller.js'
import { type OperationId, operations } from '../../../src/api/operations/table.js'
import { toSuppressible } from '../../../src/catalogue/suppression/identifiers.js'
import { suppressionsOf } from '../../../src/catalogue/suppression/suppressions.js'
import { createSuppressor, keptFrom } from '../../../src/catalogue/suppression/suppressor.js'
import { thisMachine } from '../../../src/cli/context/open-databases.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { openState } from '../../../src/storage/state/open.js'
import { remoteTo, served } from '../../client/serving.js'
import { requests } from '../../spec/requests.js'

let server: Awaited<ReturnType<typeof served>>
let state: Driver
let remote: Caller
let caller: Caller
/** What was sent. */
const sent: { id: OperationId; input: Input }[] = []

const suppress = async (...texts: string[]) => {
  const entries = texts.map((text) => toSuppressible(text)).filter((entry) => entry !== undefined)
  await suppressionsOf(state, thisMachine).add(entries, null, 0)
}

beforeAll(async () => {
  server = await served()
  server.bench.source.matches = 3
  state = await openState(':memory:')
  remote = remoteTo(server.server.baseUrl)
  const open = async () =>
    (await suppressionsOf(state, thisMachine).isEmpty()) ? undefined : createSuppressor(state, thisMachine)
  const noting = (inner: Caller): Caller => ({
    ...inner,
    call: (id, input, options) => {
      sent.push({ id, input })
      return inner.call(id, input, options)
    },
  })
  caller = compose([keptFrom(open), noting], remote)
})

afterAll(async () => {
  await remote.close()
  await state.close()
  await server.close()
})

const call = (id: OperationId, input: Input) => caller.call(id, input, { apiKey: server.bench.key })

// One test after the other: each continues what those before it did.
describe('a server', { shuffle: false }, () => {
  it('gets every request as it is while nobody is suppressed', async () => {
    const input = { leads: [{ network_url: 'https://www.network.example/in/ada' }, { network_url: 'x' }] }
    await call('leads.bulk_enrich', input)
    expect(sent.pop()?.input).toBe(input)
  })

  it('gets nothing about a suppressed company and its people, and nothing about them is passed on', async () => {
    await suppress(
      'known.example',
      'https://www.network.example/company/known',
      'https://www.network.example/in/ada',
    )
    await suppress('+33639980021')
    sent.length = 0
    const replies = []
    for (const { id } of operations()) replies.push([id, await call(id, requests[id])] as const)
    expect(JSON.stringify(sent)).not.toMatch(/known\.example|\/company\/known|\/in\/ada|33639980021/)
    const shown = replies.map(([id, { body }]) => `${id} ${JSON.stringify(body)}`)
    expect(shown.filter((text) => /@known\.example|\/in\/ada/.test(text))).toEqual([])
    const status = Object.fromEntries(replies.map(([id, reply]) => [id, reply.status]))
    expect(status).toMatchObject({
      'accounts.enrich': 404,
      'leads.enrich': 404,
      'contacts.enrich': 404,
      'contacts.reverse_lookup': 404,
      'leads.search': 404,
      'lists.create': 404,
      'messenger.validate': 200,
      'credits.show': 200,
    })
  })

  it('gets the other items of a request, whose answers keep their places', async () => {
    sent.length = 0
    const { bench } = server
    const [one, two] = [{ domain: 'known-1.example' }, { domain: 'known-2.example' }]
    const accounts = [{ domain: 'www.known.example' }, one, two]
    const { body, credits } = await call('accounts.bulk_enrich', { accounts })
    expect(body).toMatchObject({ results: [null, one, two] })
    expect(credits).toBe(2)
    // Servers take two or more.
    const single = await call('accounts.bulk_enrich', { accounts: accounts.slice(0, 2) })
    expect(single.body).toMatchObject({ results: [null, one] })
    const contacts = [
      { firstname: 'A', lastname: 'B', domain: 'known.example', custom: { row: 1 } },
      { firstname: 'A', lastname: 'B', ...one },
    ]
    const bulk = await call('contacts.bulk_enrich', { contacts, enrichment_type: ['email'] })
    expect(bulk.body).toMatchObject({ contacts: [{ custom: { row: 1 } }, {}] })
    const numbers = await call('messenger.validate', { phone_numbers: ['+33639980021', '+33639980011'] })
    expect(numbers.body).toMatchObject({
      results: [{ phone_number: '+33639980021', reachable: false }, { phone_number: '+33639980011' }],
    })
    await call('leads.advanced_search', {
      keyword: 'known',
      excluded_companies: ['known.example'],
      live: false,
    })
    await call('leads.advanced_search', {
      keyword: 'known',
      included_companies: ['known.example', 'known-1.example'],
      live: false,
    })
    expect(sent.map(({ input }) => input)).toMatchObject([
      { accounts: [one, two] },
      one,
      { contacts: [one] },
      { phone_numbers: ['+33639980011'] },
      { keyword: 'known' },
      { included_companies: ['known-1.example'] },
    ])
    expect(JSON.stringify(sent)).not.toContain('"known.example"')
    expect(await bench.balance()).toBeGreaterThan(0)
  })
})
