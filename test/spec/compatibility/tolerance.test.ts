import { describe, expect, it } from 'vitest'
import type { OperationId } from '../../../src/api/operations/table.js'
import { foreign, post, receiving } from '../../cli/call/foreign.js'
import { closeAfterTest } from '../../client/listeners.js'
import { perFile } from '../../support/each.js'
import { sample } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'
import { requests } from '../requests.js'
import { openPlentiful, targets } from './targets.js'

describe.each(sample(targets, 2, 1))('by way of %s', (_, open) => {
  const way = perFile(() => openPlentiful(open))

  it.each(casesOf<[OperationId, string, unknown[]]>('spec/compatibility/tolerance/integer-ids-in-a'))(
    'integer ids in a list are text: %s, %s %j',
    async (id, name, ids) => {
      const ask = (list: readonly unknown[]) => way.ask(id, { ...requests[id], [name]: list })
      const [asText, asNumber] = [await ask(ids.map(String)), await ask(ids)]
      expect(asText.status).toBeLessThan(300)
      expect(asNumber.status).toBe(asText.status)
      if (id === 'accounts.count_profiles' || id === 'personas.create')
        expect(asNumber.body).toMatchObject({ [name]: ids.map(String) })
    },
  )

  it.each([
    ['accounts.search', 'included_locations', [1.5]],
    ['accounts.search', 'included_locations', [true]],
    ['leads.search', 'job_titles', [7]],
    ['leads.advanced_search', 'functions', [99]],
  ] as const)('other values in a list are refused as before: %s, %s %j', async (id, name, list) => {
    expect((await way.ask(id, { ...requests[id], [name]: list })).status).toBe(422)
  })

  it('query stands for name in /locations', async () => {
    const source = 'database'
    const named = await way.ask('locations.find', { name: 'Lyon', source })
    const queried = await way.ask('locations.find', { query: 'Lyon', source })
    expect([queried.status, queried.body]).toEqual([200, named.body])
  })

  it('a persona has its id and its uuid', async () => {
    const { body } = await way.ask('personas.create', { name: 'Buyers' })
    const { id, uuid } = body as { id: string; uuid: string }
    expect(uuid).toBe(id)
    expect((await way.ask('personas.get', { uuid })).body).toMatchObject({ id, uuid })
    const { personas } = (await way.ask('personas.list', {})).body as {
      personas: { id: string; uuid: string }[]
    }
    expect(personas.filter((one) => one.id !== one.uuid)).toEqual([])
  })

  it('GET /account has the plan with the account, too', async () => {
    expect((await way.ask('account.show', {})).body).toMatchObject({
      account: { plan: 'Scale' },
      workspace: { plan: 'Scale' },
    })
  })
})

describe('replies of another server', () => {
  const server = async (reply: unknown) =>
    closeAfterTest(await foreign(({ path }) => (path === '/health' ? {} : reply)))

  const ada = '--network-url https://www.network.example/in/ada'
  const sync = `contacts waterfall --sync ${ada} --enrichment-type email,phone --json`

  it.each(casesOf<[string, unknown, string[], object]>('spec/compatibility/tolerance/replies'))(
    'are read in our shape: %s',
    async (_, reply, words, shown) => {
      const { stdout } = await (await server(reply)).run(words)
      expect(JSON.parse(stdout)).toMatchObject(shown)
    },
  )

  it('N/A in place of an address or number is none, and costs nothing', async () => {
    const none = { email: 'N/A', email_status: 'N/A', phone: 'N/A' }
    const { run } = await server({ enrichment_id: 'one', status: 'finished', ...none })
    const { code, json } = await run(sync)
    expect([code, json]).toMatchObject([9, { email: null, email_status: null, phone: null }])
    expect((await run('ledger --json')).stdout).toMatch(/"credits": 0|\[\]/)
  })

  it('the status in a delivery is read in the same way', async () => {
    const { run } = closeAfterTest(
      await foreign(({ path, body }) => {
        if (path !== '/leads') return {}
        const lead = { full_name: 'Ada', most_probable_email_status: 'catch-all' }
        const leads = [{ lead, company: null }]
        void post(body.webhook_url, { event: 'lead_search.completed', id: 'one', leads })
        return { id: 'one', status: 'processing' }
      }),
    )
    const url = 'https://www.network.example/search/results/people/?keywords=x'
    const { json } = await run(`leads extract ${url} --name x --wait --json`, await receiving())
    expect(json).toMatchObject([{ lead: { most_probable_email_status: 'risky' } }])
  })

  it('a bare list is a listing whose ids are printed, also by the uuid of a persona', async () => {
    const { run } = await server([{ uuid: 'one' }, { uuid: 'two' }])
    expect((await run('personas list --all --format ids')).stdout).toBe('one\ntwo\n')
  })

  it.each([
    ['as text', ['+33639980001'], undefined],
    ['with their kinds', [{ number: '+33639980001', type: 'mobile' }], [{ type: 'mobile' }]],
  ])(
    'a synchronous waterfall with phones %s has them in phone, and is paid for them',
    async (_, phones, details) => {
      const { run } = await server({ status: 'success', email: 'a@b.example', phones, phone_status: 'valid' })
      const { phone, phone_details } = (await run(sync)).json as Record<string, unknown>
      expect({ phone, phone_details }).toMatchObject({ phone: ['+33639980001'], phone_details: details })
      expect((await run('ledger')).json).toMatchObject([{ credits: 33 }])
    },
  )
})
