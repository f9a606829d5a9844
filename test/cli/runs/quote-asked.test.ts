import { beforeEach, describe, expect, it } from 'vitest'
import type { Caller, Reply } from '../../../src/api/calls/caller.js'
import type { BatchQuote } from '../../../src/runs/plan/quote.js'
import { served } from '../../client/serving.js'
import { answering, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const domains = (count: number) =>
  `domain\n${Array.from({ length: count }, (_, at) => `known-${at}.example`).join('\n')}\n`

describe('confirmation at a terminal', () => {
  beforeEach(async () => {
    await here.fill('companies', domains(8))
    here.write('in.csv', domains(5))
  })

  const question = 'Start?'
  const plain = { env: { NO_COLOR: '1' } }
  const batch = 'accounts enrich --csv in.csv -o out.csv'
  const charges = async () =>
    (await here.json<{ operation: string | null }[]>('engine ledger')).filter(({ operation }) => operation)
      .length

  it('shows the quote and asks, and exits with 16 after a no, having done nothing', async () => {
    const { code, stderr } = await here.run(batch, { ...plain, typed: [[question, 'n\r']] })
    expect([code, await charges(), await here.json('runs list')]).toEqual([16, 0, []])
    expect(stderr).toContain('Declined: nothing was sent, nothing was spent.')
    expect(stderr).toMatch(/^Credits +about 1 to 4, at most 5$/m)
    expect(stderr).toMatch(/^Expected +no history of such files; assuming half the rows are found$/m)
    expect(stderr).toMatch(/^Balance +1,000 credits$/m)
  })

  it('writes to the summary that the question was cancelled at Ctrl-C', async () => {
    const typed = [[question, '\u0003']] as const
    const { code } = await here.run(`${batch} --summary-json summary.json`, { typed })
    const summary = JSON.parse(here.read('summary.json')) as object
    expect([code, summary]).toMatchObject([
      130,
      { exit_code: 130, stopped: { reason: 'Cancelled at the prompt; nothing was done.' } },
    ])
  })

  it('starts the run after a yes', async () => {
    expect((await here.run(batch, { typed: [[question, 'y\r']] })).code).toBe(0)
    expect(await charges()).toBe(5)
  })

  it.each([
    ['starts the run after Enter while the price is small', 50, 'Start? [Y/n]', '\r', 0, 5],
    [
      'does nothing after Enter where it is more than a tenth of the balance',
      49,
      'Start? [y/N]',
      '\r',
      16,
      0,
    ],
    ['starts the run after YES, too', 49, 'Start? [y/N]', 'YES\r', 0, 5],
  ] as const)('%s', async (_, balance, asked, keys, code, charged) => {
    await here.json(`engine credits set ${balance}`)
    expect((await here.run(batch, { ...plain, typed: [[asked, keys]] })).code).toBe(code)
    expect(await charges()).toBe(charged)
  })

  it('asks again after anything but y, yes, n and no', async () => {
    const typed = [
      ['Start?', 'sure\r'],
      ['Answer y or n. Start?', 'N\r'],
    ] as const
    expect((await here.run(batch, { ...plain, typed })).code).toBe(16)
    expect(await charges()).toBe(0)
  })

  it('takes the limit of the question from confirm_above', async () => {
    await here.json('config set confirm_above 0.1%')
    expect((await here.run(batch, { ...plain, typed: [['[y/N]', '\r']] })).code).toBe(16)
  })

  it.each([
    ['does not ask before a lookup that costs a small part of the balance', 10, [], 0],
    ['asks before a lookup that costs more than a tenth of the balance', 9, [['Continue? [y/N]', 'n\r']], 16],
    ['sends a costly lookup after a yes', 9, [['balance is 9 credits. Continue? [y/N]', 'y\r']], 0],
  ] as const)('%s', async (_, balance, typed, code) => {
    await here.json(`engine credits set ${balance}`)
    const lookup = 'accounts enrich --domain known-1.example'
    expect((await here.run(lookup, { ...plain, typed })).code).toBe(code)
    expect(await charges()).toBe(code === 0 ? 1 : 0)
  })

  it.each(['--yes', '--no-input'])('does not ask with %s', async (option) => {
    const { code, stderr } = await here.run(`${batch} ${option}`, { typed: [] })
    expect([code, stderr.includes(question)]).toEqual([0, false])
  })

  it('does not ask when nothing is left to look up', async () => {
    await here.run(batch)
    for (const more of ['', '--fresh --max-age 1d'])
      expect((await here.run(`${batch} ${more}`, { typed: [] })).stderr).not.toContain(question)
  })

  it('asks before a free batch too', async () => {
    const free = 'accounts headcount --csv in.csv'
    const { stderr } = await here.run(free, { ...plain, typed: [[question, 'n\r']] })
    expect(stderr).toMatch(/^Credits +none$/m)
  })
})

describe('--dry-run against a server', () => {
  const quoted = (caller: Caller, line: string, terminal = false) => {
    here.write('in.csv', domains(30))
    const env = { PROSPECT_BASE_URL: 'https://api.example/api/v2' }
    return here.run(`${line} --csv in.csv --dry-run`, { env, caller, terminal })
  }
  const enrich = 'accounts enrich --map domain=domain'
  const headcount = 'accounts headcount --map company_domain=domain'
  const says = (body: Reply['body']): Partial<Reply> => ({ status: 200, body })
  const credits = says({
    credits: { enrichment: 12, daily_profile_scraping: 7 },
    limits: { daily_profile_scraping: 9 },
  })

  it('shows the quote as a table and sends free reads only', async () => {
    const caller = answering(credits, says({ workspace: { plan: 'basic' } }))
    const { code, stdout, stderr } = await quoted(caller, enrich, true)
    expect([code, caller.asked.map(({ id }) => id)]).toEqual([4, ['credits.show', 'account.show']])
    expect(stdout).toMatch(/^Affordable +your balance covers at least the first 12 of 30 rows$/m)
    expect(stdout).toMatch(/^Quotas left +7 profiles\/day$/m)
    expect(stdout).toMatch(/^This week +not known: the target does not say$/m)
    expect(stderr).toContain('The balance of 12 credits does not cover this batch')
  })

  it("computes the time from the rates of the server's plan", async () => {
    const known = answering(credits, says({ workspace: { plan: 'basic' } }))
    expect((await quoted(known, headcount)).json).toMatchObject({ seconds: 14 * 60 })
    const silent = answering(credits, says({}))
    expect((await quoted(silent, headcount)).json).toMatchObject({
      seconds: null,
      unknown: ['weekly_allowance', 'seconds'],
    })
  })

  it('reports what the server does not say as unknown', async () => {
    const { code, json } = await quoted(answering({ status: 404, body: { error: 'Not found' } }), enrich)
    expect([code, json]).toMatchObject([
      0,
      { balance: null, quotas: {}, unknown: ['balance', 'weekly_allowance'], rows_affordable: 30 },
    ])
  })
})

describe('a quote from a running server', () => {
  const there = perTest(served)
  beforeEach(async () => {
    there.bench.clock.set(new Date().toISOString())
    await there.bench.call('credits.show', {})
    await there.bench.admin.setCredits(20)
  })

  it.each(['governed', 'direct'])(
    'quotes against the balance and the stored answers of the server, %s',
    async (how) => {
      here.write('in.csv', domains(6))
      const far = { env: { PROSPECT_BASE_URL: there.server.baseUrl, PROSPECT_API_KEY: there.bench.key } }
      const batch = `accounts enrich --csv in.csv ${how === 'direct' ? '--direct' : ''}`
      const quote = async (more = '') =>
        (await here.run(`${batch} --dry-run ${more}`, far)).json as BatchQuote
      expect(await quote()).toMatchObject({ balance: 20, credits: { max: 6 }, unknown: [] })
      await here.run(`${batch} -o out.csv`, far)
      // Six lookups are little history: half of the maximum is still expected.
      expect(await quote('--fresh --refresh')).toMatchObject({
        balance: 14,
        credits: { expected: 3, max: 6 },
      })
      expect(await quote('--fresh')).toMatchObject({ in_store: 6, credits: { max: 0 } })
    },
  )
})
