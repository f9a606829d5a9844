import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEngine } from '../../../src/engine/request/engine.js'
import { readCounter } from '../../../src/engine/tables/counters.js'
import { listMembers } from '../../../src/engine/tables/members.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { tries } from '../../support/effort.js'
import { openBench, randomIds } from '../../support/engine.js'

describe('P06: exact admission', () => {
  it('admits exactly the plan limit across the keys of a user, and does not affect another user', async () => {
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

  it('keeps live and database previews in two windows', async () => {
    const bench = await openBench()
    const preview = async (live: boolean) =>
      (await bench.call('leads.advanced_search_preview', { live })).status
    const statuses = []
    for (const live of [true, true, false, false, false, false, false, false])
      statuses.push(await preview(live))
    expect(statuses.map((status) => status === 429)).toEqual([
      false,
      true,
      false,
      false,
      false,
      false,
      false,
      true,
    ])
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

  it('grant no additional requests when the clock goes back', async () => {
    const bench = await openBench()
    await bench.admin.setPlan('Basic')
    await bench.call('accounts.technologies', {})
    await bench.call('accounts.technologies', {})
    await bench.admin.advanceClock(-3_600_000)
    const refused = await bench.call('accounts.technologies', {})
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBe(60)
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
