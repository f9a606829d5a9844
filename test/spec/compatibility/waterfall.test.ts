import { describe, expect, it } from 'vitest'
import { proxyOf } from '../../cli/call/serving.js'
import { answers, closeAfterTest, received } from '../../client/listeners.js'
import { type Served, served } from '../../client/serving.js'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { call, targets, work } from './targets.js'

const engine = async (): Promise<Served> => closeAfterTest(await served())

const contact = {
  network_url: 'https://www.network.example/in/ada',
  enrichment_type: ['email'],
}

async function post(url: string, key: string, body: object = contact) {
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** A server that records where requests came and with which key, and answers every waterfall. */
async function recording() {
  const asked: string[] = []
  const { origin } = await answers(async (request, response) => {
    await received(request)
    asked.push(`${request.url} ${request.headers['x-api-key'] ?? ''}`)
    response.end(JSON.stringify({ enrichment_id: 'one', status: 'finished', email: 'ada@known.example' }))
  })
  return { origin, asked: () => asked.filter((at) => !at.includes('health')) }
}

describe.each(targets)('a waterfall: %s', (_, open) => {
  it('is accepted with 201, one in bulk with 202 and the status queued; nothing found is phone: []', async () => {
    const subject = closeAfterTest(await open())
    const types = { enrichment_type: ['email', 'phone'] }
    const single = await call(subject, 'contacts.enrich', { ...contact, ...types })
    expect(single).toMatchObject({ status: 201, body: { status: 'pending' } })
    const { network_url } = contact
    const many = { ...types, contacts: [{ network_url }, { network_url }] }
    const bulk = await call(subject, 'contacts.bulk_enrich', many)
    expect(bulk).toMatchObject({ status: 202, body: { status: 'queued', contacts: [{}, {}] } })
    const sync = await call(subject, 'contacts.enrich_sync', { ...contact, ...types })
    expect(sync).toMatchObject({
      status: 200,
      body: { status: 'finished', email: null, phone: [], phones: [], phone_status: null },
    })
    await work(subject.bench)
    const { enrichment_id } = single.body as { enrichment_id: string }
    expect(await call(subject, 'contacts.get', { id: enrichment_id })).toMatchObject({
      status: 200,
      body: { status: 'finished', phone: [], message: 'No data found' },
    })
  })
})

describe('the synchronous waterfall of a server', () => {
  const here = perTest(() => machine())
  const line = `contacts waterfall --sync --profile team --network-url ${contact.network_url} --enrichment-type email`

  it('is answered below /v2 as well, where no other operation is', async () => {
    const { server, bench } = await engine()
    for (const path of ['single_enrich', 'sync_single_enrich']) {
      const { status, body } = await post(`${server.origin}/v2/contacts/${path}`, bench.key)
      expect([status, body.status]).toEqual([200, 'finished'])
    }
    expect((await post(`${server.origin}/v2/contacts/bulk_enrich`, bench.key)).status).toBe(404)
    expect((await fetch(`${server.origin}/v2/credits`)).status).toBe(404)
  })

  it('has the numbers in phones as well, with a phone_status, and only where phones were requested', async () => {
    const { server, bench } = await engine()
    bench.source.ladder = [
      { name: 'test', phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }] },
    ]
    const url = `${server.baseUrl}/contacts/sync_single_enrich`
    const { body } = await post(url, bench.key, { ...contact, enrichment_type: ['phone'] })
    const phones = ['+33639980001']
    expect(body).toMatchObject({ phone: phones, phones, phone_status: 'valid', credits_used: 30 })
    const { body: addresses } = await post(url, bench.key)
    expect(Object.keys(addresses).filter((name) => name.startsWith('phone'))).toEqual([])
  })

  it('is called at sync_base_url with the stored key when the origin is the same', async () => {
    const { origin, asked } = await recording()
    await here.json(`profiles add team --base-url ${origin}/api/v2`)
    await here.json(`config set sync_base_url ${origin}/v2 --profile team`)
    for (const more of ['', '--direct'])
      await here.run(`${line} ${more}`, { env: { PROSPECT_API_KEY: 'key-of-the-server' } })
    expect(asked()).toEqual(Array(2).fill('/v2/contacts/single_enrich key-of-the-server'))
  })

  it('has its own login where the origin is another, and never gets the key of the first', async () => {
    const [main, sync] = [await recording(), await recording()]
    await here.json(`profiles add team --base-url ${main.origin}/api/v2`)
    await here.json(`config set sync_base_url ${sync.origin}/v2 --profile team`)
    const run = () => here.run(line, { env: { PROSPECT_API_KEY: 'key-of-the-first' } })
    const without = await run()
    expect([without.code, without.stderr.includes('prospect login --sync')]).toEqual([3, true])
    const stored = await here.run('login --sync --profile team --api-key-stdin', {
      stdin: 'key-of-the-second',
    })
    expect(stored.json).toEqual({ origin: sync.origin, stored: true, credits: null })
    expect((await run()).code).toBe(0)
    expect([main.asked(), sync.asked()]).toEqual([[], ['/v2/contacts/single_enrich key-of-the-second']])
  })

  it('is called at sync_base_url by a governed proxy', async () => {
    const { origin, asked } = await recording()
    const proxy = await proxyOf(
      { baseUrl: `${origin}/api/v2`, key: 'key-of-the-server' },
      '',
      async (one) => {
        await one.json('config', 'set', 'base_url', `${origin}/api/v2`)
        await one.json('config', 'set', 'sync_base_url', `${origin}/v2`)
      },
    )
    const { status } = await post(`${proxy.baseUrl}/contacts/sync_single_enrich`, proxy.key)
    expect([status, asked()]).toEqual([200, ['/v2/contacts/single_enrich key-of-the-server']])
  })

  it.each([
    ['config set base_url https://api.example.com/v2', 'sync_base_url'],
    ['config set sync_base_url https://api.example.com/api/v2', 'must end in /v2'],
  ])('%s is refused with %s', async (words, said) => {
    await ends(here.run(words), 2, said)
  })
})
