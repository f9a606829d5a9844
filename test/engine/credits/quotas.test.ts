import { describe, expect, it } from 'vitest'
import { takeQuota } from '../../../src/engine/credits/quotas.js'
import { findWorkspace } from '../../../src/engine/tables/members.js'
import { type Bench, openBench } from '../../support/engine.js'

const take = (bench: Bench, quota: 'profiles' | 'companies', units: number) =>
  bench.store.transaction(async (tx) => {
    const workspace = await findWorkspace(tx)
    if (!workspace) throw new Error('no workspace')
    return await takeQuota(tx, workspace, quota, units, bench.clock.now())
  })

const credits = async (bench: Bench) =>
  (await bench.call('credits.show', {})).body as {
    credits: Record<string, number>
    limits: Record<string, number>
  }

describe('P08: plan quotas', () => {
  it('gives at most the remainder, in all periods alike', async () => {
    const bench = await openBench()
    await bench.admin.setQuotas({ dailyCompanies: 10, monthlyCompanies: 15 })
    expect(await take(bench, 'companies', 8)).toBe(8)
    expect(await take(bench, 'companies', 8)).toBe(2)
    expect(await take(bench, 'companies', 1)).toBe(0)
    bench.clock.set('2026-03-11T00:00:00Z')
    expect(await take(bench, 'companies', 8)).toBe(5)
    expect((await credits(bench)).credits).toMatchObject({
      daily_company_import: 5,
      monthly_company_import: 0,
    })
  })

  it('resets days at 00:00 UTC and the month on the 1st, and changes no credit', async () => {
    const bench = await openBench()
    await take(bench, 'profiles', 100)
    await take(bench, 'companies', 100)
    bench.clock.set('2026-03-10T23:59:59.999Z')
    expect((await credits(bench)).credits).toEqual({
      enrichment: 1_000,
      daily_profile_scraping: 2_400,
      daily_company_import: 2_400,
      monthly_company_import: 24_900,
    })
    bench.clock.set('2026-03-11T00:00:00Z')
    expect((await credits(bench)).credits).toMatchObject({
      daily_company_import: 2_500,
      monthly_company_import: 24_900,
    })
    bench.clock.set('2026-04-01T00:00:00Z')
    expect((await credits(bench)).credits).toMatchObject({
      enrichment: 1_000,
      monthly_company_import: 25_000,
    })
  })

  it('keeps the usage when a ceiling, the plan or the balance changes', async () => {
    const bench = await openBench()
    await take(bench, 'profiles', 100)
    await bench.admin.setQuotas({ dailyProfiles: 150 })
    await bench.admin.setPlan('Scale')
    await bench.admin.addCredits(500)
    const { credits: left, limits } = await credits(bench)
    expect(left).toMatchObject({ daily_profile_scraping: 50, enrichment: 1_500 })
    expect(limits).toEqual({
      daily_profile_scraping: 150,
      daily_company_import: 10_000,
      monthly_company_import: 100_000,
    })
  })

  it('keeps the count when the clock goes back', async () => {
    const bench = await openBench()
    await take(bench, 'profiles', 100)
    bench.clock.set('2026-03-08T10:00:00Z')
    expect((await credits(bench)).credits).toMatchObject({ daily_profile_scraping: 2_400 })
  })
})

describe('weekly limit', () => {
  const enrich = async (bench: Bench) =>
    (await bench.call('accounts.enrich', { domain: 'known.example' })).status

  it('counts from Monday 00:00 UTC', async () => {
    const bench = await openBench()
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 1 })
    bench.clock.set('2026-03-15T23:59:59Z')
    expect([await enrich(bench), await enrich(bench)]).toEqual([200, 403])
    bench.clock.set('2026-03-16T00:00:00Z')
    expect([await enrich(bench), await enrich(bench)]).toEqual([200, 403])
  })

  it('counts what was spent before the limit was set', async () => {
    const bench = await openBench()
    for (let count = 0; count < 3; count++) await enrich(bench)
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 4 })
    expect([await enrich(bench), await enrich(bench)]).toEqual([200, 403])
    await bench.admin.changeMember('me@localhost', { weeklyLimit: null })
    expect(await enrich(bench)).toBe(200)
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 6 })
    expect([await enrich(bench), await enrich(bench)]).toEqual([200, 403])
  })

  it('applies to a request that was in flight when it was set', async () => {
    const bench = await openBench()
    await enrich(bench)
    const held = bench.source.hold()
    const slow = enrich(bench)
    const release = await held
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 2 })
    expect(await enrich(bench)).toBe(200)
    release()
    expect([await slow, await enrich(bench)]).toEqual([403, 403])
    const [member] = await bench.admin.members()
    expect(member?.spentThisWeek).toBe(2)
  })
})
