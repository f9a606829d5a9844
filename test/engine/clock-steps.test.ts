import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { takeQuota } from '../../src/engine/credits/quotas.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { findWorkspace } from '../../src/engine/tables/members.js'
import { perTest } from '../support/each.js'
import { openBench, randomIds } from '../support/engine.js'

const second = 1_000
const hour = 3_600_000
const day = 24 * hour

const bench = perTest(openBench)
const preview = () => bench.call('accounts.technologies', {})
const enrich = async () => (await bench.call('accounts.enrich', { domain: 'known.example' })).status
const limits = () => bench.admin.limits(bench.key)
const companies = async () => (await limits()).quotas.daily_company_import

const takeCompany = () =>
  bench.store.transaction(async (tx) => {
    const workspace = await findWorkspace(tx)
    return workspace && (await takeQuota(tx, workspace, 'companies', 1, bench.clock.now()))
  })

/** Takes the plan Free, whose window of a minute is full after one request. */
async function fill(): Promise<void> {
  await bench.admin.setPlan('Free')
  expect((await preview()).status).toBe(200)
  expect((await preview()).status).toBe(429)
}

describe('P49: a clock that steps back', () => {
  it('leaves a full window that is full, begins now and ends one length later', async () => {
    await fill()
    bench.clock.advance(-hour)
    const refused = await preview()
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60'])
    bench.clock.advance(20 * second)
    expect((await preview()).headers['retry-after']).toBe('40')
    bench.clock.advance(40 * second)
    expect((await preview()).status).toBe(200)
  })

  it('restarts windows when the engine clock is set to the past, though nothing is asked until later', async () => {
    await fill()
    await bench.admin.setClock(bench.clock.now() - hour, false)
    bench.clock.advance(45 * second)
    expect((await preview()).headers['retry-after']).toBe('15')
    bench.clock.advance(15 * second)
    expect((await preview()).status).toBe(200)
  })

  it('exhausts a daily quota for one day from now, and says so', async () => {
    await bench.admin.setQuotas({ dailyCompanies: 1 })
    expect([await takeCompany(), await takeCompany()]).toEqual([1, 0])
    bench.clock.advance(-30 * day)
    const back = bench.clock.now()
    expect(await companies()).toMatchObject({ used: 1, resetsAt: back + day })
    bench.clock.advance(5 * hour)
    expect(await companies()).toMatchObject({ used: 1, resetsAt: back + day })
    bench.clock.advance(19 * hour)
    expect((await companies()).used).toBe(0)
  })

  it('keeps what a member spent this week for one week from now', async () => {
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 2 })
    expect([await enrich(), await enrich(), await enrich()]).toEqual([200, 200, 403])
    bench.clock.advance(-30 * day)
    const back = bench.clock.now()
    expect(await enrich()).toBe(403)
    bench.clock.advance(6 * day)
    expect((await limits()).weekly).toMatchObject({ spent: 2, resetsAt: back + 7 * day })
    bench.clock.advance(day)
    expect(await enrich()).toBe(200)
  })

  it('is noticed by a process that starts after the step', async () => {
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 1 })
    expect([await enrich(), await enrich()]).toEqual([200, 403])
    bench.clock.advance(-30 * day)
    const { store, source, clock, key } = bench
    const other = createEngine({ store, source, clock, ids: randomIds })
    const enrichThere = async () =>
      (await other.call('accounts.enrich', { domain: 'known.example' }, { apiKey: key })).status
    expect(await enrichThere()).toBe(403)
    clock.advance(7 * day - 1)
    expect(await enrichThere()).toBe(403)
    clock.advance(1)
    expect(await enrichThere()).toBe(200)
  })

  it('never makes anybody wait longer than one length, whatever the steps', async () => {
    const step = fc.integer({ min: -40 * day, max: 40 * day })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        await fill()
        for (const ms of steps) {
          bench.clock.advance(ms)
          const reply = await preview()
          if (reply.status !== 429) continue
          const wait = Number(reply.headers['retry-after'])
          expect(wait).toBeLessThanOrEqual(60)
          bench.clock.advance(Math.floor((wait * second) / 2))
          const again = Number((await preview()).headers['retry-after'])
          expect(again).toBeLessThanOrEqual(Math.ceil(wait / 2))
          bench.clock.advance(again * second)
          expect((await preview()).status).toBe(200)
        }
        // Its window is over before the next steps.
        bench.clock.advance(day)
      }),
      { numRuns: 60 },
    )
  })
})
