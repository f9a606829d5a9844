import { describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { requests } from '../spec/requests.js'
import { perTest } from '../support/each.js'
import { openBench } from '../support/engine.js'

const bench = perTest(openBench)

const limits = () => bench.admin.limits(bench.key)

/** The window of the plan for a group. */
const groupOf = async (name: string) => (await limits()).windows.find(({ group }) => group === name)

/** The own windows of an operation. */
const ownOf = async (name: string) => (await limits()).windows.filter(({ operation }) => operation === name)

describe('the windows of a member', () => {
  it('are full before the first request', async () => {
    const { windows } = await limits()
    expect(windows.filter(({ used, resetsAt }) => used !== 0 || resetsAt !== null)).toEqual([])
    expect(windows.filter(({ limit, remaining }) => limit !== remaining)).toEqual([])
  })

  it('count requests until they end', async () => {
    await bench.call('accounts.technologies', {})
    await bench.call('accounts.technologies', {})
    const opened = bench.clock.now()
    const window = { per: 'minute', limit: 100, used: 2, remaining: 98, resetsAt: opened + 60_000 }
    expect(await groupOf('accounts.technologies')).toMatchObject(window)
    bench.clock.advance(60_000)
    expect(await groupOf('accounts.technologies')).toMatchObject({ used: 0, resetsAt: null })
  })

  it('match the headers of the next reply, minus that request', async () => {
    for (const { id } of operations()) await bench.call(id, {})
    const before = (await groupOf('personas.list'))?.remaining ?? 0
    const { headers } = await bench.call('personas.list', {})
    expect(headers['ratelimit-remaining']).toBe(String(before - 1))
  })

  it('are two when live and database results have separate rates', async () => {
    await bench.call('leads.advanced_search_preview', { live: false })
    expect(await ownOf('leads.advanced_search_preview')).toMatchObject([
      { live: true, per: 'second', limit: 1, used: 0 },
      { live: false, per: 'second', limit: 5, used: 1 },
    ])
  })

  it('say when only database results are counted', async () => {
    expect(await groupOf('leads.search')).toMatchObject({ live: false })
  })

  it('exist for each operation with a limit, of the plan or its own', async () => {
    const { windows } = await limits()
    const rates = operations().flatMap((row) => ('live' in row.rate ? Object.values(row.rate) : [row.rate]))
    expect(windows.filter(({ operation }) => operation)).toHaveLength(rates.filter(({ own }) => own).length)
    const groups = new Set(
      operations().flatMap((row) => (JSON.stringify(row.rate).includes('true') ? row.group : [])),
    )
    expect(windows.flatMap(({ group }) => group ?? [])).toEqual([...groups])
  })

  it('belong to the member of the key', async () => {
    await bench.call('accounts.technologies', {})
    await bench.admin.addMember({ email: 'other@localhost' })
    const other = await bench.admin.createKey({ member: 'other@localhost' })
    const { windows } = await bench.admin.limits(other.key)
    expect(new Set(windows.map(({ used }) => used))).toEqual(new Set([0]))
  })
})

describe('asking for the limits', () => {
  it('does not count as a request', async () => {
    expect(await limits()).toEqual(await limits())
  })

  it('is refused without a valid key', async () => {
    for (const key of ['pk_nobody', undefined])
      await expect(bench.admin.limits(key)).rejects.toMatchObject({ status: 401 })
  })
})

describe('the credits of a member', () => {
  it('are the balance, the hold and the next grant, and no week without a weekly limit', async () => {
    const nextAllocation = { credits: 5_000, at: Date.parse('2026-04-10T00:00:00Z') }
    const { credits, weekly } = await limits()
    expect([credits, weekly]).toEqual([{ enrichment: 1_000, held: 0, nextAllocation }, null])
  })

  it('include the grant that is due', async () => {
    bench.clock.set('2026-04-10T00:00:01Z')
    expect((await limits()).credits).toMatchObject({
      enrichment: 6_000,
      nextAllocation: { at: Date.parse('2026-05-10T00:00:00Z') },
    })
  })

  it('include the rest of the week, until Monday', async () => {
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 50 })
    await bench.call('accounts.enrich', { domain: 'known.example', live: false })
    await bench.call('contacts.enrich', requests['contacts.enrich'])
    expect(await limits()).toMatchObject({
      credits: { enrichment: 996, held: 3 },
      weekly: { limit: 50, spent: 1, held: 3, left: 46, resetsAt: Date.parse('2026-03-16T00:00:00Z') },
    })
  })

  it('include what was spent this week before the member was removed and added again', async () => {
    const member = 'ann@example.com'
    const { admin } = bench
    const spendAs = async (given: { readonly weeklyLimit?: number }) => {
      await admin.addMember({ email: member, ...given })
      const { key } = await admin.createKey({ member })
      await bench.caller.call('accounts.enrich', { domain: 'known.example', live: false }, { apiKey: key })
      return key
    }
    await spendAs({ weeklyLimit: 10 })
    await admin.removeMember(member)
    await spendAs({})
    await admin.removeMember(member)
    const { weekly } = await admin.limits(await spendAs({ weeklyLimit: 10 }))
    expect(weekly).toMatchObject({ limit: 10, spent: 3, left: 7 })
  })

  it('include the quotas', async () => {
    await bench.admin.setQuotas({ dailyProfiles: 7 })
    const [tomorrow, month] = [Date.parse('2026-03-11T00:00:00Z'), Date.parse('2026-04-01T00:00:00Z')]
    expect((await limits()).quotas).toMatchObject({
      daily_profile_scraping: { limit: 7, used: 0, remaining: 7, resetsAt: tomorrow },
      monthly_company_import: { limit: 25_000, resetsAt: month },
    })
  })
})
