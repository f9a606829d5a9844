import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OperationId } from '../../src/api/operations/table.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { readCounter } from '../../src/engine/tables/counters.js'
import { listMembers } from '../../src/engine/tables/members.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { rowsOf } from '../support/fixtures.js'
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
      expect([status, ...windowHeaders.map((name) => headers[name])]).toEqual([
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
    expect(first.headers['ratelimit-reset']).toBe('60')
  })

  it('P06: admit exactly their number across the keys of a user, and do not affect another user', async () => {
    const { key } = await service.admin.createKey({ member: 'me@localhost' })
    const status = async (apiKey: string) =>
      (await service.call('accounts.technologies', {}, { apiKey })).status
    const keys = Array.from({ length: 250 }, () => [service.key, key]).flat()
    const statuses = await Promise.all(keys.map(status))
    expect(statuses.filter((one) => one === 200)).toHaveLength(100)
    expect(statuses.filter((one) => one === 429)).toHaveLength(400)
    expect(await status(await service.colleague())).toBe(200)
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
    expect([status, ...windowHeaders.map((name) => headers[name])]).toEqual([
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
  /** Two requests, a second apart, on a plan that allows one a minute. */
  async function twice(id: OperationId, fields = requests[id]) {
    await service.admin.setPlan('Free')
    const first = await service.ask(id, fields)
    service.clock.advance(1_000)
    return [first.status, (await service.ask(id, fields)).status]
  }

  it.each(rowsOf('api/operations.tsv').map((row) => [row[0] as OperationId, row[6] ?? ''] as const))(
    'is what the decision table says: %s counts: %s',
    async (id, plan) => {
      const [first, second] = await twice(id)
      expect([first === 429, second]).toEqual([false, plan.startsWith('yes') ? 429 : first])
    },
  )

  it.each([
    [{}, 202],
    [{ live: true }, 202],
    [{ live: false }, 429],
  ])('is or is not POST /leads/search with %j', async (live, second) => {
    expect(await twice('leads.search', { ...requests['leads.search'], ...live })).toEqual([202, second])
  })
})

describe('P07: honest headers', () => {
  it('admit a client that waits for Retry-After, whatever the pattern of arrivals', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40_000), { minLength: 3, maxLength: 12 }), async (gaps) => {
        await service.admin.setPlan('Basic')
        // What came before is over.
        service.clock.advance(60_000)
        let remaining = Number.POSITIVE_INFINITY
        let resetAt = 0
        for (const gap of gaps) {
          service.clock.advance(gap)
          let reply = await service.call('accounts.technologies', {})
          if (reply.status === 429) {
            expect(reply.headers['retry-after']).toBe(reply.headers['ratelimit-reset'])
            service.clock.advance(Number(reply.headers['retry-after']) * 1_000)
            reply = await service.call('accounts.technologies', {})
          }
          expect(reply.status).toBe(200)
          const left = Number(reply.headers['ratelimit-remaining'])
          const reset = Number(reply.headers['ratelimit-reset'])
          expect(reply.headers['ratelimit-limit']).toBe('2')
          expect(reset).toBeGreaterThanOrEqual(1)
          expect(reset).toBeLessThanOrEqual(60)
          if (service.clock.now() < resetAt) expect(left).toBeLessThan(remaining)
          else resetAt = service.clock.now() + reset * 1_000
          remaining = left
        }
      }),
      { numRuns: tries(20, 80) },
    )
  })

  it('state to the millisecond when a window ends, as of the end of the work', async () => {
    const saidAfter = async (workMs: number) => {
      service.source.before = () => service.clock.advance(workMs)
      const { headers } = await service.call('accounts.hiring', { company_domain: 'known.example' })
      return [headers['x-ratelimit-reset-after'], headers['ratelimit-reset'], headers['ratelimit-remaining']]
    }
    expect(await saidAfter(1)).toEqual(['0.999', '1', '4'])
    expect(await saidAfter(250)).toEqual(['0.749', '1', '3'])
    expect(await saidAfter(2_000)).toEqual(['0.000', '1', '2'])
    expect(await saidAfter(0)).toEqual(['1.000', '1', '4'])
  })

  it('state the end of the window also with a refusal, as of its reply, however slow the database is', async () => {
    const { clock, key, source, store } = service
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
    const invalid = await service.call('credits.consumption', {})
    expect(invalid.status).toBe(422)
    expect(invalid.headers['ratelimit-remaining']).toBe('99')
    expect((await service.call('credits.show', {})).headers).toEqual({})
  })

  it('do not count a refused request', async () => {
    await service.admin.setPlan('Scale')
    for (let count = 0; count < 10; count++) await service.call('leads.extract', {})
    service.clock.advance(1_000)
    const reply = await service.call('leads.extract', {})
    expect(reply.status).toBe(400)
    // One of the first second and one of the next were counted by the plan; nine were refused by the own limit.
    const plan = await service.store.read(async (tx) => {
      const [member] = await listMembers(tx, service.workspaceId)
      return await readCounter(tx, `user:${member?.id}`, 'plan:leads.extract')
    })
    expect(plan?.count).toBe(2)
  })
})
