import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../../client/listeners.js'
import { until } from '../../../support/until.js'
import { receiveWebhooks, type WebhookReceiver } from '../../../support/webhook-receiver.js'
import { foreign, post } from '../../call/foreign.js'
import {
  deliverable,
  proxyOf,
  ask as requested,
  type ServingMachine,
  serves,
  servingMachine,
} from '../../call/serving.js'

/** A server that is another program. */
const other = async (answer: Parameters<typeof foreign>[0]) => ({
  ...closeAfterTest(await foreign(answer)),
  key: 'key-of-the-server',
})

const servesPeople = async (...names: string[]) => {
  const rows = names.map((name) => `${name},Known,${name}@known.example,known.example\n`)
  const people = `first_name,last_name,email,company_domain\n${rows.join('')}`
  return closeAfterTest(await servingMachine((here) => here.fill('people', people)))
}

const ask = async (...request: Parameters<typeof requested>) => {
  const { status, json } = await requested(...request)
  return { status, body: json<Record<string, unknown>>() }
}

const spentAt = async ({ machine }: ServingMachine): Promise<Record<string, number>> => {
  const rows = await machine.json<{ operation: string; credits: number }[]>('ledger --by operation')
  return Object.fromEntries(rows.map(({ operation, credits }) => [operation, credits]))
}

const consumedBy = async (server: ServingMachine): Promise<number> => {
  const today = new Date().toISOString().slice(0, 10)
  const { body } = await ask(server, `/credits_consumption?start_date=${today}&end_date=${today}`)
  return body.credits_consumed as number
}

const isDone = (theirs: WebhookReceiver) => () =>
  theirs.arrivals.some(({ body }) => body.includes('.completed"'))

describe('the ledger of a governed proxy', () => {
  it.each([true, false])("records the price of an import's records, streaming: %s", async (streaming) => {
    const theirs = closeAfterTest(await receiveWebhooks(() => undefined))
    const server = await serves(0, 4)
    const one = await proxyOf(server, await deliverable())
    const reply = await ask(one, '/intents/accounts/stack', {
      stacks: ['react'],
      webhook_url: theirs.url,
      streaming,
      limit: 3,
    })
    expect(reply.status).toBe(202)
    await until(isDone(theirs))
    expect(await spentAt(one)).toEqual({ 'intents.stack': 9 })
    expect(await consumedBy(server)).toBe(9)
  })

  it('records a contact once when it is both delivered and polled, and no contact of others', async () => {
    const theirs = closeAfterTest(await receiveWebhooks(() => undefined))
    const server = await servesPeople('Ann', 'Bob', 'Cid')
    const one = await proxyOf(server, await deliverable())
    const contact = (firstname: string) => ({ firstname, lastname: 'Known', domain: 'known.example' })
    const email = { enrichment_type: ['email'] }
    const bulk = { contacts: [contact('Ann'), contact('Bob')], ...email, webhook_url: theirs.url }
    const mine = await ask(one, '/contacts/bulk_enrich', bulk)
    const others = await ask(server, '/contacts/single_enrich', { ...contact('Cid'), ...email })
    await until(() => theirs.arrivals.length === 2)
    const id = String(mine.body.enrichment_id)
    for (let times = 0; times < 2; times++) {
      expect((await ask(one, `/contacts/${id}`)).body).toMatchObject({ status: 'finished' })
      expect((await ask(one, `/contacts/${others.body.enrichment_id}`)).status).toBe(200)
    }
    expect(await spentAt(one)).toEqual({ 'contacts.bulk_enrich': 6 })
  })

  it.each([true, false])(
    'records an import of companies once that is polled, and delivered: %s',
    async (isDelivered) => {
      const theirs = closeAfterTest(await receiveWebhooks(() => undefined))
      const server = await serves(0, 4)
      const one = await proxyOf(server, isDelivered ? await deliverable() : '')
      // The placeholder passes the proxy unchanged: nothing is ever delivered to it.
      const webhook_url = isDelivered ? theirs.url : 'https://prospect.invalid/own'
      const { status, body } = await ask(one, '/intents/accounts/stack', { stacks: ['react'], webhook_url })
      expect(status).toBe(202)
      if (isDelivered) await until(isDone(theirs))
      const read = () => ask(one, `/searches/${body.id}?per_page=3`)
      await until(async () => ((await read()).body.search as { status: string }).status === 'FINISHED')
      const { accounts, pagination } = (await read()).body as {
        accounts: object[]
        pagination: Record<string, string>
      }
      expect(accounts).toHaveLength(3)
      await ask(one, `/searches/${body.id}?per_page=3&cursor=${pagination.next_cursor}`)
      expect(await spentAt(one)).toEqual({ 'intents.stack': 12 })
      expect(await consumedBy(server)).toBe(12)
    },
  )

  it.each([true, false])(
    'has accepted contacts count at their cost once their results have passed, and names the member: %s',
    async (isDelivered) => {
      const theirs = closeAfterTest(await receiveWebhooks(() => undefined))
      const server = await servesPeople('Ann')
      const one = await proxyOf(server, isDelivered ? await deliverable() : '')
      await one.machine.run('engine members set me@localhost --weekly-limit 6')
      const contact = (firstname: string) => ({ firstname, lastname: 'Known', domain: 'known.example' })
      const single = { ...contact('Bob'), enrichment_type: ['email'] }
      const { body, status } = await ask(one, '/contacts/bulk_enrich', {
        contacts: [contact('Ann'), contact('Nobody')],
        enrichment_type: ['email'],
        ...(isDelivered ? { webhook_url: theirs.url } : {}),
      })
      expect(status).toBe(202)
      if (isDelivered) await until(() => theirs.arrivals.length === 2)
      else {
        expect((await ask(one, '/contacts/single_enrich', single)).status).toBe(403)
        const read = () => ask(one, `/contacts/${body.enrichment_id}`)
        await until(async () => (await read()).body.status === 'finished')
        await read()
      }
      expect((await ask(one, '/contacts/single_enrich', single)).status).toBe(201)
      // What the team has paid for costs nothing, also where the week has nothing left.
      expect((await ask(one, '/contacts/single_enrich', { ...single, ...contact('Ann') })).status).toBe(201)
      const other = { ...single, ...contact('Cid') }
      expect((await ask(one, '/contacts/single_enrich', other)).status).toBe(403)
      expect(await one.machine.json('ledger --by member')).toEqual([
        { member: 'me@localhost', calls: 1, credits: 3, suspect: 0 },
      ])
      const there = { server: server.baseUrl, spent: 6 }
      const members = 'engine members list'
      expect(await one.machine.json(members)).toMatchObject([
        { email: 'me@localhost', spent_this_week: 0, spent_at_servers: 6, servers: [there] },
      ])
      expect(await one.machine.json('limits')).toMatchObject({
        weekly: { limit: 6, spent: 0, left: 6, servers: [{ ...there, left: 0 }] },
      })
      const { host } = new URL(server.baseUrl)
      const terminal = { terminal: true, columns: 110 }
      const table = (await one.machine.run(members, terminal)).stdout
      const limits = (await one.machine.run('limits', terminal)).stdout
      expect(table).toMatch(/Spent at servers .*\n.*me@localhost +6 +0 +6 /)
      expect(limits).toContain(`At ${host}  0 left of 6: 6 spent\n`)
    },
  )

  it.each([
    ['what it found', []],
    // A server that says less than it has handed over has charged for what it handed over.
    ['the records that have passed where that is more', [1, 2, 3, 4]],
  ])('has an accepted import count at %s once a reply says that it ended', async (_, passed) => {
    const found = passed.length || 2
    const search = { id: 'import-1', name: 'x', status: 'FINISHED', accounts_count: 2 }
    const accounts = passed.map((at) => ({ domain: `a${at}.example`, ordinal: at }))
    const server = await other(({ path, method }) => {
      if (path === '/intents/accounts/hiring' && method === 'POST') return { id: 'import-1' }
      return path === '/searches/import-1' ? { search, accounts, pagination: {} } : undefined
    })
    const one = await proxyOf(server)
    await one.machine.run('engine members set me@localhost --weekly-limit 10')
    const webhook_url = 'https://prospect.invalid/own'
    const start = async (limit: number) =>
      (await ask(one, '/intents/accounts/hiring', { selected_titles: ['CTO'], webhook_url, limit })).status
    expect([await start(10), await start(1)]).toEqual([200, 403])
    for (let times = 0; times < 2; times++) await ask(one, '/searches/import-1')
    const left = 10 - found
    expect([await start(left + 1), await start(left), await start(1)]).toEqual([403, 200, 403])
  })

  it('records a contact that was only polled', async () => {
    const result = { enrichment_id: 'e-1', status: 'finished', email: 'a@x.example', email_status: 'valid' }
    const server = await other(({ method, path }) => {
      if (method === 'POST') return { enrichment_id: 'e-1', status: 'pending' }
      return path === '/contacts/e-1' ? result : undefined
    })
    const one = await proxyOf(server)
    const contact = { firstname: 'A', lastname: 'B', domain: 'x.example', enrichment_type: ['email'] }
    expect((await ask(one, '/contacts/single_enrich', contact)).status).toBe(200)
    for (let times = 0; times < 3; times++) expect((await ask(one, '/contacts/e-1')).status).toBe(200)
    expect(await spentAt(one)).toEqual({ 'contacts.enrich': 3 })
  })

  it('records a delivery that is repeated under another id once', async () => {
    let address = ''
    const server = await other(({ path, body }) => {
      if (path === '/health') return {}
      address = String(body.webhook_url)
      return { id: 'import-1' }
    })
    const one = await proxyOf(server, await deliverable())
    const theirs = closeAfterTest(await receiveWebhooks(() => undefined))
    await ask(one, '/intents/accounts/hiring', { selected_titles: ['CTO'], webhook_url: theirs.url })
    const company = { domain: 'x.example', name: 'X' }
    const record = { event: 'record', id: 'import-1', account: company, ordinal: 1 }
    expect(await post(address, record, { ...record, note: 'again' })).toEqual([200, 200])
    expect(await post(address, { accounts: [{ ordinal: 2, domain: 'y.example' }], id: 'import-1' })).toEqual([
      200,
    ])
    expect(await spentAt(one)).toEqual({ 'intents.hiring': 2 })
  })
})
