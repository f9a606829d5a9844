import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

const engine = (line: string) => here.json<object>('engine', ...line.split(' '))
const exitOf = async (line: string) => (await here.run(['engine', ...line.split(' ')])).code

describe('engine status', () => {
  it('prints everything about the workspace', async () => {
    expect(await engine('status')).toMatchObject({
      workspace: { name: 'Local' },
      plan: 'growth',
      credits: { enrichment: 1_000, held: 0 },
      quotas: { daily_profile_scraping: { limit: 2_500, used: 0, remaining: 2_500 } },
      members: 1,
      keys: 1,
      sessions: { network: true, premium: true },
      clock: { frozen: false, offset_seconds: 0 },
      catalogue: { companies: 0 },
      schema_version: expect.any(Number),
    })
  })

  it.each([
    ['ahead', '2199-01-01T00:00:00Z'],
    ['behind', '2001-01-01T00:00:00Z'],
  ])('says that the clock is %s', async (word, time) => {
    await engine(`clock set ${time}`)
    const { stdout } = await here.run('engine status --format table')
    expect(stdout).toMatch(new RegExp(`^Clock .* \\([\\d,]+ s ${word}\\)$`, 'm'))
  })
})

describe('engine plan', () => {
  it('changes the limits from the next request on, and grants no credits', async () => {
    expect(await engine('plan set Free')).toEqual({ plan: 'Free', listed: true })
    expect(await here.json('credits')).toMatchObject({
      credits: { enrichment: 1_000 },
      limits: { daily_profile_scraping: 50 },
    })
  })

  it('accepts an unlisted plan, and says which limits apply', async () => {
    const { json, stderr } = await here.run('engine plan set Gold --json')
    expect(json).toEqual({ plan: 'Gold', listed: false })
    expect(stderr).toContain('limits of the plan Free')
  })
})

it('adds and sets credits with one movement each', async () => {
  expect(await engine('credits add 5')).toEqual({ credits: 1_005 })
  expect(await engine('credits set 7')).toEqual({ credits: 7 })
  const movements = (await engine('ledger')) as { kind: string; change: number; credits: number }[]
  expect(movements.map(({ kind, change, credits }) => [kind, change, credits])).toEqual([
    ['top_up', 1_000, 1_000],
    ['top_up', 5, 1_005],
    ['adjustment', -998, 7],
  ])
})

it('sets each quota separately, and keeps it when the plan changes', async () => {
  await engine('quotas set --daily-profiles 3')
  await engine('plan set scale')
  expect(await engine('quotas set --monthly-companies 9')).toMatchObject({
    daily_profile_scraping: { limit: 3, remaining: 3 },
    daily_company_import: { limit: 10_000 },
    monthly_company_import: { limit: 9 },
  })
})

describe('engine members', () => {
  it('adds, changes and lists members', async () => {
    await engine('members add Ann@example.com --weekly-limit 5')
    await engine('members set ann@example.com --weekly-limit none --consent-personal-email')
    const members = (await engine('members list')) as object[]
    expect(members[1]).toMatchObject({
      email: 'ann@example.com',
      weekly_limit: null,
      consent_personal_email: true,
      spent_this_week: 0,
    })
  })

  it('withdraws the consent to personal email addresses', async () => {
    await engine('members add ann@example.com --consent-personal-email')
    expect(await engine('members set ann@example.com --no-consent-personal-email')).toMatchObject({
      consent_personal_email: false,
    })
  })
})

it('shows the sessions it sets in the account', async () => {
  expect(await engine('session set --network false')).toEqual({ network: false, premium: true })
  expect(await here.json('account')).toMatchObject({
    integrations: { network_session_valid: false, premium_session_valid: true },
  })
})

it('freezes the clock where it is set, and advances it', async () => {
  expect(await engine('clock set 2026-03-01T08:30:00Z --frozen')).toMatchObject({
    now: '2026-03-01T08:30:00.000Z',
    frozen: true,
  })
  expect(await engine('clock advance 1d')).toMatchObject({ now: '2026-03-02T08:30:00.000Z' })
  expect(await engine('clock show')).toMatchObject({ now: '2026-03-02T08:30:00.000Z', frozen: true })
  expect(await engine('clock reset')).toMatchObject({ frozen: false, offset_seconds: 0 })
})

describe('engine faults', () => {
  const fileOf = (...lines: string[]) => {
    here.write('faults.txt', lines.join('\n'))
    return here.path('faults.txt')
  }
  const listed = async () =>
    ((await engine('faults list')) as { id: string; where: string; fault: string }[]).map(
      ({ id, where, fault }) => `${id} ${where} ${fault}`,
    )

  it('lists what was added as it is typed, with how often it has fired', async () => {
    await here.fill('companies', 'domain\nsole.example\n')
    await engine('faults add accounts.enrich --status 429 --retry-after 2 --nth 2 --member me@localhost')
    await engine('faults add deliveries --late 90s --for 1h')
    expect(await here.run('accounts enrich --domain acme.example')).toMatchObject({ code: 9 })
    await ends(
      here.run('accounts enrich --domain acme.example --max-wait 0'),
      8,
      'This is the fault f1 of the engine.',
    )
    const [first, second] = (await engine('faults list')) as object[]
    expect(first).toMatchObject({
      id: 'f1',
      where: 'accounts.enrich',
      member: 'me@localhost',
      seed: 0,
      matched: 2,
      fired: 1,
      fault: '--status 429 --retry-after 2 --nth 2',
      ends_at: null,
    })
    expect(second).toMatchObject({ fault: '--late 90s --for 3600s', ends_at: expect.stringMatching(/^20/) })
    const { stdout } = await here.run('engine status --format table')
    expect(stdout).toMatch(/^Faults +2 set/m)
  })

  it('removes one, or all', async () => {
    for (const status of [500, 503]) await engine(`faults add all --status ${status}`)
    expect(await engine('faults remove f1')).toEqual({ id: 'f1', removed: true })
    expect(await exitOf('faults remove f1')).toBe(9)
    expect(await listed()).toEqual(['f2 all --status 503'])
    expect(await engine('faults clear')).toEqual({ removed: 1 })
  })

  it('applies the lines of a file in place of what there is', async () => {
    await engine('faults add all --status 500')
    await engine(
      `faults apply ${fileOf('# a bad day', '', 'accounts --drop after --rate 0.02 # lost', 'all --timeout')} --seed 7`,
    )
    expect(await listed()).toEqual(['f1 accounts --drop after --rate 0.02', 'f2 all --timeout'])
    expect(await engine('faults list')).toMatchObject([{ seed: 7 }, { seed: 7 }])
  })

  it.each([
    ['all --status', 'Line 2 of'],
    ['all --status 500 --rate 7', 'Give a share'],
    ['nowhere --status 500', 'no operation "nowhere"'],
  ])('changes nothing for a file with the line %s', async (line, text) => {
    await engine('faults add all --status 500')
    await ends(here.run(['engine', 'faults', 'apply', fileOf('all --garble', line)]), 2, text)
    expect(await listed()).toEqual(['f1 all --status 500'])
  })
})

it('uses one workspace at a time, and asks for a member of a new one, which then works like the first', async () => {
  await engine('workspaces create Trial')
  await engine('credits set 1')
  await ends(here.run('engine workspaces use Nobody'), 2, 'The workspaces are: ', 'Trial')
  await ends(here.run('engine workspaces use Trial'), 0, 'engine members add')
  expect(await engine('status')).toMatchObject({
    workspace: { name: 'Trial' },
    credits: { enrichment: 1_000 },
  })
  const used = (await engine('workspaces list')) as { name: string; used: boolean }[]
  expect(used.filter((one) => one.used).map(({ name }) => name)).toEqual(['Trial'])
  await engine('members add ann@example.com')
  expect(await here.json('account')).toMatchObject({
    account: { email: 'ann@example.com' },
    workspace: { name: 'Trial' },
  })
})

describe('engine ledger', () => {
  const spend = () => here.run('accounts enrich --domain acme.example --refresh')
  beforeEach(async () => {
    const stdin = 'name,domain\nAcme,acme.example\n'
    expect((await here.run('data import companies - --json --quiet', { stdin })).stderr).toBe('')
    await here.json('engine clock set 2026-03-01T10:00:00Z --frozen')
  })

  it('sums consumption by day, operation and member', async () => {
    await spend()
    await engine('clock advance 1d')
    await spend()
    expect(await engine('ledger --by day')).toEqual([
      { day: '2026-03-01', credits: 1, movements: 1 },
      { day: '2026-03-02', credits: 1, movements: 1 },
    ])
    expect(await engine('ledger --by operation')).toEqual([
      { operation: 'accounts.enrich', credits: 2, movements: 2 },
    ])
    expect(await engine('ledger --by member')).toEqual([{ member: 'me@localhost', credits: 2, movements: 2 }])
    await engine('members add ada@example.com')
    expect(await engine('ledger --by member,operation,day')).toEqual([
      { member: 'me@localhost', operation: 'accounts.enrich', day: '2026-03-01', credits: 1, movements: 1 },
      { member: 'me@localhost', operation: 'accounts.enrich', day: '2026-03-02', credits: 1, movements: 1 },
    ])
    expect(await engine('ledger --by day --member ada@example.com')).toEqual([])
    expect(await engine('ledger --member me@localhost')).toHaveLength(2)
    expect(await exitOf('ledger --member nobody@example.com')).not.toBe(0)
    expect(await engine('ledger --by day --since today')).toHaveLength(1)
    expect(await engine('ledger --by day --until yesterday')).toHaveLength(1)
    expect(await engine('ledger --by day --since 2026-03-02')).toHaveLength(1)
    expect(await engine('ledger --by day --until 2026-03-01')).toHaveLength(1)
  })
})

it('engine ledger verify exits 13 and names the movement that is wrong', async () => {
  await engine('credits add 5')
  const database = new Database(here.path('engine.db'))
  database.exec('DROP TRIGGER movements_unchanged; UPDATE movements SET credits = 9 WHERE seq = 2')
  database.close()
  const { json, stderr } = await ends(here.run('engine ledger verify --json'), 13)
  expect(json).toMatchObject({ ok: false, problems: [expect.stringContaining('movement 2: credits is 9')] })
  expect(JSON.parse(stderr)).toMatchObject({
    exit_code: 13,
    error: expect.stringContaining('should be 1005'),
  })
})
