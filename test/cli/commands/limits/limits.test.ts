import { describe, expect, it, onTestFinished } from 'vitest'
import { closeAfterTest } from '../../../client/listeners.js'
import { served } from '../../../client/serving.js'
import { answering, machine, stockedMachine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(stockedMachine)

const now = Date.parse('2026-03-10T12:00:00Z')
/** A rate window in which nothing else is said. */
const windowOf = (window: object) => ({
  operation: null,
  group: null,
  live: null,
  resets_at: null,
  ...window,
})
const technologies = (limit: number, used: number) =>
  windowOf({ group: 'accounts.technologies', per: 'minute', limit, used, remaining: limit - used })
const run = (argv: string) => here.run(argv, { clock: { now: () => now }, terminal: true, columns: 100 })

describe('limits of the local engine', () => {
  it('prints all limits as one object', async () => {
    const here = machine()
    onTestFinished(() => here.remove())
    const clock = { now: () => now }
    await here.run('init --yes', { clock })
    await here.fill('companies', 'domain\nsole.example\n')
    const run = (line: string) => here.run(line, { clock })
    await run('accounts technologies rea')
    const limits = (await run('limits --json')).json as { windows: object[] }
    expect(limits).toMatchObject({
      plan: 'growth',
      credits: {
        enrichment: 1_000,
        held: 0,
        next_allocation: { credits: 5_000, at: '2026-04-10T00:00:00.000Z' },
      },
      weekly: null,
      quotas: {
        daily_profile_scraping: {
          limit: 2_500,
          used: 0,
          remaining: 2_500,
          resets_at: '2026-03-11T00:00:00.000Z',
        },
      },
    })
    expect(limits.windows).toContainEqual({ ...technologies(100, 1), resets_at: '2026-03-10T12:01:00.000Z' })
    const extract = { operation: 'leads.extract', per: 'second', limit: 1, used: 0, remaining: 1 }
    expect(limits.windows).toContainEqual(windowOf(extract))
  })

  it('groups the limits on a terminal', async () => {
    await here.run('engine members set me@localhost --weekly-limit 50')
    const { stdout } = await run('limits --all')
    const { credits } = (await run('limits --json')).json as {
      credits: { next_allocation: { at: string } }
    }
    const day = credits.next_allocation.at.slice(0, 10)
    const plan = 'Plan +growth, 100 requests per minute and endpoint\nCredits +1,000'
    expect(stdout).toMatch(
      new RegExp(`^Answers from +your catalogue .*\n${plan}\nNext grant +5,000, ${day}\n`),
    )
    expect(stdout).toMatch(/This week +50 left of 50: 0 spent, 0 held; resets in 6 days/)
    expect(stdout).toMatch(/Profiles per day +0 +2,500 +2,500 +in 12 h/)
    expect(stdout).toMatch(/\nleads search --no-live +0 +100 +100\n/)
    expect(stdout).toMatch(/\nleads advanced-search --preview --no-live +second +0 +5 +5\n/)
  })

  it('shows the rate limits in use on a terminal, and all of them with --all', async () => {
    expect((await run('limits')).stdout).toMatch(
      /\nNo rate limit is in use. All of them: prospect limits --all\n$/,
    )
    await run('accounts technologies rea')
    const { stdout } = await run('limits')
    expect(stdout).toMatch(/\naccounts technologies +1 +99 +100/)
    expect(stdout).not.toContain('leads search')
    expect(stdout).toMatch(/\n\d+ more rate limits are not in use. All of them: prospect limits --all\n$/)
    const narrow = await here.run('limits', { clock: { now: () => now }, terminal: true, columns: 60 })
    expect(narrow.stdout).toMatch(
      /\n\d+ more rate limits are not in use. All of them:\n {2}prospect limits --all\n$/,
    )
    expect((await run('limits --all')).stdout).not.toContain('not in use')
  })

  it('says which limits an unlisted plan has', async () => {
    await here.run('engine plan set Gold')
    expect((await run('limits')).stdout).toMatch(
      /\nPlan +Gold, not listed: limits of Free, 1 request per minute/,
    )
  })

  it('prints the rate windows in a list format', async () => {
    const { stdout } = await run('limits --format csv')
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      'operation,group,live,per,limit,used,remaining,resets_at',
      ',accounts.extract,,minute,100,0,100,',
    ])
  })
})

const far = { env: { PROSPECT_BASE_URL: 'https://api.example/api/v2' } }
const credits = {
  credits: {
    enrichment: 70,
    daily_profile_scraping: 40,
    daily_company_import: 50,
    monthly_company_import: 200,
  },
  limits: { daily_profile_scraping: 50, daily_company_import: 50, monthly_company_import: 200 },
}

describe('limits of a server', () => {
  it('prints what the server reports, and says what only the server knows', async () => {
    const caller = answering({ body: credits }, { body: { workspace: { plan: 'Basic' } } })
    const ended = await here.run('limits', { ...far, caller })
    expect(caller.asked.map(({ id }) => id)).toEqual(['credits.show', 'account.show'])
    expect(ended.json).toMatchObject({
      plan: 'Basic',
      credits: { enrichment: 70, held: null, next_allocation: null },
      weekly: null,
      quotas: { daily_profile_scraping: { limit: 50, used: 10, remaining: 40, resets_at: null } },
    })
    expect((ended.json as { windows: object[] }).windows).toContainEqual(technologies(2, 0))
    expect(ended.stderr).toContain('Only the server knows its weekly limit')
  })

  it("counts the requests that this machine sent, corrected by the server's headers", async () => {
    const { bench, server } = closeAfterTest(await served())
    await bench.admin.setPlan('Basic')
    const env = { PROSPECT_BASE_URL: server.baseUrl, PROSPECT_API_KEY: bench.key }
    const seen = async (more = '') => {
      const { json } = await here.run(`limits --json ${more}`, { env })
      const { windows } = json as {
        windows: { group: string | null; used: number; resets_at: string | null }[]
      }
      return windows.find(({ group }) => group === 'accounts.technologies')
    }
    await here.run('accounts technologies --query r', { env })
    expect(await seen()).toMatchObject({ limit: 2, used: 1, remaining: 1 })
    const { resets_at } = (await seen()) ?? {}
    expect(Date.parse(resets_at ?? '')).toBeGreaterThan(Date.now())
    expect(await seen('--direct')).toBeUndefined()
  })

  it('prints a readable table for a server', async () => {
    const caller = answering({ body: credits }, { status: 403, body: { error: 'no' } })
    const { stdout } = await here.run('limits --all', { ...far, caller, terminal: true })
    expect(stdout).toMatch(/^Answers from +api\.example\nCredits +70\n/)
    expect(stdout).toMatch(/Profiles per day +10 +40 +50/)
    expect(stdout).not.toContain('requests per minute')
    expect(stdout).toMatch(/leads extract +second +0 +1 +1/)
  })

  it('omits a quota without its limit', async () => {
    const caller = answering({ body: { credits: { enrichment: 70, daily_company_import: 3 } } })
    const ended = await here.run('limits', { caller })
    expect(ended.json).toMatchObject({ plan: null, quotas: {} })
  })
})
