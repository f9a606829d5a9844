import { beforeEach, describe, expect, it } from 'vitest'
import type { FaultRules } from '../../../../src/engine/tables/faults.js'
import { answering } from '../../../client/listeners.js'
import { served } from '../../../client/serving.js'
import { machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { loadSample } from '../../../support/sample.js'

const here = perTest(machine)
const there = perTest(served)
beforeEach(async () => {
  there.bench.clock.set(new Date().toISOString())
  // The first request grants the credits that are due by then.
  await there.bench.call('credits.show', {})
  await there.bench.admin.setCredits(1_000)
})

const far = (env: Record<string, string> = {}) => ({
  env: { PROSPECT_BASE_URL: there.server.baseUrl, PROSPECT_API_KEY: there.bench.key, ...env },
})
const run = (line: string, env?: Record<string, string>) => here.run(line, far(env))
const today = () => new Date().toISOString().slice(0, 10)

describe('ledger', () => {
  it('prints an empty array when nothing was spent', async () => {
    await run('accounts enrich --domain nobody.example')
    expect((await run('ledger')).json).toEqual([])
  })

  it('says which members and vendors are on record where one that is named is not', async () => {
    await run('accounts enrich --domain known.example')
    const { json, stderr } = await run('ledger --member nobody@acme.example --provider cleartrail')
    expect(json).toEqual([])
    expect(stderr).toContain('Nothing is recorded for member nobody@acme.example.')
    expect(stderr).toContain(
      'Nothing is recorded for provider cleartrail. Nothing is recorded for any provider.',
    )
  })

  it('has the same columns of CSV with rows as without any', async () => {
    await run('accounts enrich --domain known.example')
    const headOf = async (line: string) => (await run(`ledger ${line} --format csv`)).stdout.split('\n')[0]
    for (const line of ['--since today', '--by member,operation', '--by provider'])
      expect([
        line,
        await headOf(`${line} --until 2020-01-01 --since 2020-01-01`.replace('--since today ', '')),
      ]).toEqual([line, await headOf(line)])
  })

  it('records what single commands and batches cost on every target', async () => {
    await run('accounts enrich --domain known.example')
    await run('accounts enrich --domain known-2.example --direct')
    await here.run('accounts enrich --csv -', {
      ...far(),
      stdin: 'domain\nknown-3.example\nknown-4.example\n',
    })
    await loadSample(here.home)
    await here.run('leads enrich --first-name A --last-name B --domain nobody.example')
    const rows = (await run('ledger')).json as Record<string, unknown>[]
    const common = {
      day: today(),
      profile: 'default',
      target: there.server.baseUrl,
      operation: 'accounts.enrich',
      member: null,
    }
    expect(rows).toEqual([
      { ...common, run: null, calls: 2, credits: 2, suspect: 0 },
      { ...common, run: expect.any(String), calls: 2, credits: 2, suspect: 0 },
    ])
    expect((await run('ledger --by operation')).json).toEqual([
      { operation: 'accounts.enrich', calls: 4, credits: 4, suspect: 0 },
    ])
    expect((await run('ledger --by day --since 2026-01-01 --until 2026-01-02')).json).toEqual([])
  })

  it('records what the local engine charged', async () => {
    await loadSample(here.home)
    const [company] = (await here.json('data export companies')) as { domain: string }[]
    await here.json('accounts', 'enrich', '--domain', company?.domain ?? '')
    expect(await here.json('ledger --by profile')).toEqual([
      { profile: 'default', calls: 1, credits: 1, suspect: 0 },
    ])
    expect(await here.json('ledger')).toMatchObject([{ credits: 1, member: 'me@localhost' }])
    await here.run('accounts enrich --csv - --yes --refresh', {
      stdin: `domain\n${company?.domain}\n`,
    })
    expect(await here.json('ledger --by member')).toEqual([
      { member: 'me@localhost', calls: 2, credits: 2, suspect: 0 },
    ])
    expect(await here.json('ledger check')).toMatchObject({
      target: 'local',
      ledger: 2,
      target_says: 2,
      ok: true,
    })
  })

  it('says who spent what, on which days, of one run or one member', async () => {
    await run('accounts enrich --domain known.example')
    await here.run('accounts enrich --csv -', {
      ...far(),
      stdin: 'domain\nknown-3.example\nknown-4.example\n',
    })
    const [, { run: id } = { run: '' }] = (await run('ledger')).json as { run: string }[]
    const sum = { member: null, operation: 'accounts.enrich', day: today(), calls: 3, credits: 3, suspect: 0 }
    expect((await run('ledger --by member,operation,day --since last-week')).json).toEqual([sum])
    expect(
      Object.keys(((await run('ledger --by day,member')).json as object[])[0] ?? {}).slice(0, 2),
    ).toEqual(['day', 'member'])
    expect((await run(`ledger --by day --run ${id.slice(0, 8)}`)).json).toMatchObject([{ credits: 2 }])
    expect((await run('ledger --member somebody@else.example')).json).toEqual([])
    expect((await run('ledger --since 7d --until yesterday')).json).toEqual([])
    expect((await run('ledger --run 00000000')).code).toBe(9)
    expect((await run('ledger --by run,day --format csv')).stdout).toBe(
      `run,day,calls,credits,suspect\n,${today()},1,1,0\n${id},${today()},2,2,0\n`,
    )
    const table = (await run('ledger --by run,day --format table')).stdout.split('\n')
    expect(table.at(-2)?.split(/ +/)).toEqual(['Total', '3', '3'])
    expect((await run('ledger --by day --format table')).stdout).not.toContain('Total')
  })
})

describe('ledger check', () => {
  it('agrees with the server, and shows what was spent elsewhere', async () => {
    await run('accounts enrich --domain known.example')
    await there.bench.call('accounts.enrich', { domain: 'known-2.example' })
    const { json, code } = await run('ledger check')
    expect([code, json]).toEqual([
      0,
      {
        profile: 'default',
        target: there.server.baseUrl,
        start_date: today(),
        end_date: today(),
        ledger: 1,
        target_says: 2,
        elsewhere: 1,
        open: 0,
        ok: true,
      },
    ])
  })

  it('exits 0 unless this machine recorded more than the server', async () => {
    await run('accounts enrich --domain known.example')
    const other = await answering((_, response) => response.end('{"credits":9,"credits_consumed":0}'))
    const { code, json } = await run('ledger check', {
      PROSPECT_BASE_URL: `http://127.0.0.1:${other.port}/api/v2`,
    })
    expect([code, json]).toEqual([0, expect.objectContaining({ ledger: 0, ok: true })])
    await other.close()
    await there.bench.clock.advance(-86_400_000 * 3)
    const range = `--since ${today()} --until ${today()}`
    expect((await run(`ledger check ${range}`)).code).toBe(0)
  })

  it('exits 13 when the server reports less than this machine recorded', async () => {
    const { port, close } = await answering((request, response) =>
      response.end(request.url?.includes('consumption') ? '{"credits_consumed":0}' : '{"id":"x","name":"X"}'),
    )
    const env = { PROSPECT_BASE_URL: `http://127.0.0.1:${port}/api/v2` }
    await run('accounts enrich --domain x.example', env)
    const { code, json, stderr } = await run('ledger check', env)
    await close()
    expect([code, json]).toEqual([13, expect.objectContaining({ ledger: 1, target_says: 0, ok: false })])
    expect(stderr).toContain('This machine recorded 1 credit, but the target reports only 0')
  })
})

describe('a paid call with an unknown outcome', () => {
  const line = 'accounts enrich --domain known.example'
  /** Runs the command, whose four attempts all fail, and then again. */
  const runTwice = async (rules: FaultRules, more = '') => {
    await there.bench.admin.addFault({ where: 'accounts.enrich', rules: { ...rules, count: 4 } })
    const given = { ...far(), sleep: async () => {} }
    const once = () => here.run([...line.split(' '), ...more.split(' ').filter(Boolean)], given)
    return [await once(), await once()] as const
  }

  it.each([{ drop: 'after' }, { truncate: true }] as const)(
    'pays once when the command runs again after this fault: %j',
    async (rules) => {
      const [first, again] = await runTwice(rules)
      expect([first.code, first.stderr]).toEqual([
        10,
        expect.stringContaining('It is unknown whether the work was done and charged'),
      ])
      expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('same idempotency key')])
      expect(again.json).toMatchObject({ domain: 'known.example' })
      expect(await there.bench.balance()).toBe(999)
      expect((await run('ledger --by operation')).json).toEqual([
        { operation: 'accounts.enrich', calls: 1, credits: 1, suspect: 0 },
      ])
    },
  )

  it('sends another call with --direct, which stores no idempotency key', async () => {
    const [first, again] = await runTwice({ drop: 'after' }, '--direct')
    expect([first.code, again.code, await there.bench.balance()]).toEqual([10, 0, 998])
  })
})
