import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { readCounter } from '../../src/engine/tables/counters.js'
import { listMembers } from '../../src/engine/tables/members.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { openBench, randomIds } from '../support/engine.js'
import { planRates } from '../support/plan-rates.js'
import { requests } from './requests.js'
import { idOf, openService } from './service.js'

const service = perTest(openService)

const list = async () => (await service.ask('lists.list')).status
const windowHeaders = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']

describe('plan rate limits', () => {
  it.each([...planRates, ['an unlisted plan (the Free limit)', 1] as const])(
    'allow %s %i requests per minute',
    async (plan, most) => {
      await service.admin.setPlan(plan.replace(/ \(.*/, ''))
      const statuses = await Promise.all(Array.from({ length: most }, list))
      expect(new Set(statuses)).toEqual(new Set([200]))
      const { status, headers, body } = await service.ask('lists.list')
      expect([status, ...windowHeaders.map((name) => headers.get(name))]).toEqual([
        429,
        String(most),
        '0',
        '60',
        '60',
      ])
      expect(body).toEqual({ error: 'Rate limit exceeded. Please wait before retrying.' })
    },
  )

  it('count separately for each endpoint group', async () => {
    await service.admin.setPlan('Free')
    expect([await list(), await list()]).toEqual([200, 429])
    expect((await service.ask('searches.list')).status).toBe(200)
    expect((await service.ask('personas.list')).status).toBe(200)
  })

  it.each([
    ['POST /accounts/search', 'POST /accounts/search/preview'],
    ['POST /leads/advanced_search', 'POST /leads/advanced_search/preview'],
  ])('count %s and its preview together', async (search, preview) => {
    await service.admin.setPlan('Basic')
    const statuses = []
    for (const endpoint of [preview, search, preview, search]) {
      statuses.push((await service.at(endpoint)).status)
      service.clock.advance(1_000)
    }
    expect(statuses).toEqual([200, 202, 429, 429])
  })

  it('open a window at its first request and reset it when it ends', async () => {
    await service.admin.setPlan('Basic')
    service.clock.set('2026-03-10T12:00:37.250Z')
    const first = await service.ask('lists.list')
    service.clock.advance(59_999)
    expect([await list(), await list()]).toEqual([200, 429])
    service.clock.advance(1)
    expect(await list()).toBe(200)
    expect(first.headers.get('ratelimit-reset')).toBe('60')
  })

  it('P06: admit exactly their number across the keys of a user, and do not affect another user', async () => {
    const bench = await openBench()
    const second = await bench.admin.createKey({ member: 'me@localhost' })
    await bench.admin.addMember({ email: 'other@localhost' })
    const other = await bench.admin.createKey({ member: 'other@localhost' })
    const keys = [bench.key, second.key]
    const calls = Array.from({ length: 500 }, (_, at) =>
      bench.caller.call('accounts.technologies', {}, { apiKey: keys[at % 2] }),
    )
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
    expect(statuses.filter((status) => status === 429)).toHaveLength(400)
    expect((await bench.caller.call('accounts.technologies', {}, { apiKey: other.key })).status).toBe(200)
  })
})

describe('endpoint-specific limits', () => {
  it.each([
    ['POST /accounts/headcount', 20, '1', {}],
    ['POST /accounts/count_profiles', 20, '1', {}],
    ['POST /accounts/', 20, '60', {}],
    ['POST /leads', 1, '1', {}],
    ['POST /leads/advanced_search', 1, '1', {}],
    ['POST /leads/advanced_search/preview', 1, '1', {}],
    ['POST /leads/advanced_search/preview', 5, '1', { live: false }],
    ['POST /accounts/company_hiring', 5, '1', {}],
  ] as const)('%s allows each user %i requests in %s s, with %j', async (endpoint, limit, seconds, more) => {
    await service.admin.setPlan('Scale')
    const fields = { ...requests[idOf(endpoint)], ...more }
    // The other window of previews has no part in it.
    if (endpoint.endsWith('preview')) await service.at(endpoint, { ...fields, live: 'live' in more })
    for (let count = 0; count < limit; count++)
      expect((await service.at(endpoint, fields)).status).toBeLessThan(300)
    const { key } = await service.admin.createKey({ member: 'me@localhost' })
    const { status, headers } = await service.at(endpoint, fields, { key })
    expect([status, ...windowHeaders.map((name) => headers.get(name))]).toEqual([
      429,
      String(limit),
      '0',
      seconds,
      seconds,
    ])
    expect((await service.at(endpoint, fields, { key: await service.colleague() })).status).toBeLessThan(300)
    service.clock.advance(Number(seconds) * 1_000)
    expect((await service.at(endpoint, fields)).status).toBeLessThan(300)
  })

  it('count in addition to the plan limit', async () => {
    await service.admin.setPlan('Basic')
    const statuses = []
    for (let count = 0; count < 3; count++) statuses.push((await service.ask('accounts.headcount')).status)
    expect(statuses).toEqual([200, 200, 429])
  })
})

describe('exempt from the plan limit', () => {
  const spending = [
    'POST /contacts/single_enrich',
    'POST /contacts/sync_single_enrich',
    'POST /contacts/bulk_enrich',
    'POST /contacts/reverse_lookup',
    'POST /leads/single_enrich',
    'POST /accounts/single_enrich',
    'POST /accounts/company_stack',
    'POST /accounts/company_hiring',
    'POST /intents/accounts/hiring',
    'POST /intents/accounts/stack',
    'POST /messenger_validations',
  ]
  /** Observed and not in the specification; exempt as the single ones are. */
  const inBulk = ['POST /accounts/bulk_enrich', 'POST /leads/bulk_enrich']
  const lookups = [
    'GET /contacts/{id}',
    'GET /contacts/{id}/single_enrich',
    'GET /searches/{id}',
    'GET /lists/{id}',
    'GET /account',
    'GET /credits',
  ]

  /** Two requests of one second, on a plan that allows one a minute. */
  async function twice(endpoint: string, fields = requests[idOf(endpoint)]) {
    await service.admin.setPlan('Free')
    return [(await service.at(endpoint, fields)).status, (await service.at(endpoint, fields)).status]
  }

  it.each([...spending, ...inBulk])('are operations that spend credits: %s', async (endpoint) => {
    const [first = 0, second] = await twice(endpoint)
    expect([first < 300, second]).toEqual([true, first])
  })

  it.each(lookups)('are lookups of status and account: %s', async (endpoint) => {
    const found = endpoint.includes('{') ? 404 : 200
    expect(await twice(endpoint)).toEqual([found, found])
  })

  it.each([
    [{}, 202],
    [{ live: true }, 202],
    [{ live: false }, 429],
  ])('is or is not POST /leads/search with %j', async (live, second) => {
    expect(await twice('POST /leads/search', { ...requests['leads.search'], ...live })).toEqual([202, second])
  })

  it.each(
    operations()
      .map(({ method, path }) => `${method} ${path}`)
      .filter((endpoint) => ![...spending, ...inBulk, ...lookups, 'POST /leads/search'].includes(endpoint)),
  )('nothing else is: %s', async (endpoint) => {
    await service.admin.setPlan('Free')
    const first = await service.at(endpoint)
    service.clock.advance(1_000)
    expect([first.status === 429, (await service.at(endpoint)).status]).toEqual([false, 429])
  })
})

describe('P07: honest headers', () => {
  it('admit a client that waits for Retry-After, whatever the pattern of arrivals', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40_000), { minLength: 3, maxLength: 12 }), async (gaps) => {
        const bench = await openBench()
        await bench.admin.setPlan('Basic')
        let remaining = Number.POSITIVE_INFINITY
        let resetAt = 0
        for (const gap of gaps) {
          bench.clock.advance(gap)
          let reply = await bench.call('accounts.technologies', {})
          if (reply.status === 429) {
            expect(reply.headers['retry-after']).toBe(reply.headers['ratelimit-reset'])
            bench.clock.advance(Number(reply.headers['retry-after']) * 1_000)
            reply = await bench.call('accounts.technologies', {})
          }
          expect(reply.status).toBe(200)
          const left = Number(reply.headers['ratelimit-remaining'])
          const reset = Number(reply.headers['ratelimit-reset'])
          expect(reply.headers['ratelimit-limit']).toBe('2')
          expect(reset).toBeGreaterThanOrEqual(1)
          expect(reset).toBeLessThanOrEqual(60)
          if (bench.clock.now() < resetAt) expect(left).toBeLessThan(remaining)
          else resetAt = bench.clock.now() + reset * 1_000
          remaining = left
        }
        await bench.caller.close()
      }),
      { numRuns: tries(20, 80) },
    )
  })

  it('state to the millisecond when a window ends, as of the end of the work', async () => {
    const bench = await openBench()
    const saidAfter = async (workMs: number) => {
      bench.source.before = () => bench.clock.advance(workMs)
      const { headers } = await bench.call('accounts.hiring', { company_domain: 'known.example' })
      return [headers['x-ratelimit-reset-after'], headers['ratelimit-reset'], headers['ratelimit-remaining']]
    }
    expect(await saidAfter(1)).toEqual(['0.999', '1', '4'])
    expect(await saidAfter(250)).toEqual(['0.749', '1', '3'])
    expect(await saidAfter(2_000)).toEqual(['0.000', '1', '2'])
    expect(await saidAfter(0)).toEqual(['1.000', '1', '4'])
  })

  it('state the end of the window also with a refusal, as of its reply, however slow the database is', async () => {
    const { clock, key, source, store } = await openBench()
    // Its use is noted already, so that no other transaction takes time.
    await store.transaction((tx) => tx.run('UPDATE keys SET used_at = ?', clock.now()))
    const transaction: Driver['transaction'] = async (...work) => {
      const done = await store.transaction(...work)
      clock.advance(100)
      return done
    }
    const slow = createEngine({ store: { ...store, transaction }, source, clock, ids: randomIds })
    const replies = []
    for (let count = 0; count < 6; count++)
      replies.push(await slow.call('accounts.hiring', { company_domain: 'nobody.example' }, { apiKey: key }))
    expect(replies.map(({ status, headers }) => [status, headers['x-ratelimit-reset-after']])).toEqual([
      ...['0.900', '0.800', '0.700', '0.600', '0.500'].map((left) => [404, left]),
      [429, '0.400'],
    ])
  })

  it('are sent with refusals of fields too, and with no exempt operation', async () => {
    const bench = await openBench()
    const invalid = await bench.call('credits.consumption', {})
    expect(invalid.status).toBe(422)
    expect(invalid.headers['ratelimit-remaining']).toBe('99')
    expect((await bench.call('credits.show', {})).headers).toEqual({})
  })

  it('do not count a refused request', async () => {
    const bench = await openBench()
    await bench.admin.setPlan('Scale')
    for (let count = 0; count < 10; count++) await bench.call('leads.extract', {})
    bench.clock.advance(1_000)
    const reply = await bench.call('leads.extract', {})
    expect(reply.status).toBe(400)
    // One of the first second and one of the next were counted by the plan; nine were refused by the own limit.
    const plan = await bench.store.read(async (tx) => {
      const [member] = await listMembers(tx, bench.workspaceId)
      return await readCounter(tx, `user:${member?.id}`, 'plan:leads.extract')
    })
    expect(plan?.count).toBe(2)
  })
})
