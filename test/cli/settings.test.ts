import { statSync } from 'node:fs'
import { execa } from 'execa'
import { beforeEach, describe, expect, it } from 'vitest'
import { served } from '../client/serving.js'
import { ends, errorOf, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { prospect } from '../support/processes.js'
import { enrich } from './call/serving.js'

const here = perTest(machine)
beforeEach(async () => {
  const rows = Array.from({ length: 40 }, (_, at) => `known-${at}.example,react`)
  const stdin = `domain,technologies\n${rows.join('\n')}\n`
  await here.fill('companies', stdin)
  here.write(
    'in.csv',
    `domain\n${rows
      .slice(0, 10)
      .map((row) => row.slice(0, -6))
      .join('\n')}\n`,
  )
})

const set = (name: string, value: string) => here.json('config', 'set', name, value)
const spent = async () => 1_000 - (await here.balance())
const lookUp = (at: number, ...more: string[]) =>
  here.run(['accounts', 'enrich', '--domain', `known-${at}.example`, ...more])
const batch = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv']

describe('the setting max_credits', () => {
  it('stops a batch at its budget, unless the option gives another one', async () => {
    await set('max_credits', '4')
    expect([(await here.run(batch)).code, await spent()]).toEqual([12, 4])
    expect([(await here.run([...batch, '--max-credits', '10'])).code, await spent()]).toEqual([0, 10])
  })

  it('refuses a single lookup that can cost more, before anything is sent', async () => {
    await set('max_credits', '0')
    const refused = await lookUp(1, '--json')
    expect([refused.code, errorOf(refused).error]).toEqual([
      12,
      'Budget reached: This can cost 1 credit, and --max-credits leaves 0',
    ])
    expect(await spent()).toBe(0)
    expect((await lookUp(1, '--max-credits', '1')).code).toBe(0)
  })

  it('lowers the limit of an import that is priced per record', async () => {
    await set('max_credits', '10')
    const { code, stderr, json } = await here.run('intents stack --stacks react --wait')
    expect([code, (json as unknown[]).length, await spent()]).toEqual([0, 3, 9])
    expect(stderr).toContain('--limit 3 is added: the budget pays for no more.')
  })
})

describe('the setting max_credits_per_day', () => {
  it('counts single lookups, imports and batches together', async () => {
    await set('max_credits_per_day', '12')
    for (const at of [20, 21]) expect((await lookUp(at)).code).toBe(0)
    expect((await lookUp(99)).code).toBe(9)
    expect((await here.run('intents stack --stacks react --limit 2 --wait')).code).toBe(0)
    expect(await spent()).toBe(8)
    expect([(await here.run(batch)).code, await spent()]).toEqual([12, 12])
    const refused = await lookUp(30, '--json')
    expect([refused.code, errorOf(refused).hint]).toEqual([
      12,
      'Raise --max-credits-per-day or the setting max_credits_per_day.',
    ])
    expect(await here.json('ledger --by day')).toMatchObject([{ credits: 12 }])
  })

  it('holds against several processes at once', async () => {
    const [paid, refused] = [tries(2, 5), tries(2, 3)]
    await set('max_credits_per_day', String(paid))
    const env = { PROSPECT_HOME: here.home }
    const codes = await Promise.all(
      Array.from({ length: paid + refused }, async (_, at) => {
        const argv = [prospect, 'accounts', 'enrich', '--domain', `known-${at}.example`]
        return (await execa(process.execPath, argv, { env, reject: false })).exitCode
      }),
    )
    expect([codes.filter((code) => code === 0).length, await spent()]).toEqual([paid, paid])
    expect(codes.filter((code) => code === 12)).toHaveLength(refused)
  })

  it('is another one for each profile', async () => {
    await set('max_credits_per_day', '0')
    expect((await lookUp(1)).code).toBe(12)
    expect((await lookUp(1, '--profile', 'local')).code).toBe(0)
  })
})

describe('the settings of a batch and of a terminal', () => {
  it('has as many rows in flight as concurrency says', async () => {
    await set('concurrency', '1')
    expect((await here.run(batch)).code).toBe(0)
    expect(here.read('out.csv').trim().split('\n')).toHaveLength(11)
  })

  it('prints in the format of the setting on a terminal only', async () => {
    await set('format', 'csv')
    const terminal = await here.run('credits', { terminal: true, columns: 80 })
    expect(terminal.stdout).toMatch(/^credits\.enrichment,/)
    const table = await here.run('credits --format table', { terminal: true, columns: 80 })
    expect(table.stdout).toContain('Enrichment credits')
    expect((await here.run('credits')).json).toMatchObject({ credits: { enrichment: 1_000 } })
  })
})

describe('budgets for a server', () => {
  const there = perTest(served)

  it.each([[[]], [['--direct']]])('hold for what this machine sends it %j', async (more) => {
    await set('max_credits_per_day', '1')
    const env = { PROSPECT_BASE_URL: there.server.baseUrl, PROSPECT_API_KEY: there.bench.key }
    const ask = async (domain: string) =>
      (await here.run(['accounts', 'enrich', '--domain', domain, ...more], { env })).code
    const codes = [await ask('known-1.example'), await ask('known-2.example')]
    expect([...codes, await there.bench.balance()]).toEqual([0, 12, 999])
  })

  it('hold for the callers of a proxy, which get 402', async () => {
    await set('max_credits_per_day', '1')
    await here.json('init --local')
    const key = await here.newKey()
    const upstream = `--upstream ${there.server.baseUrl} --port 0`
    const proxy = await here.start(`serve ${upstream}`, { env: { PROSPECT_API_KEY: there.bench.key } })
    const ask = async (domain: string) => (await enrich({ baseUrl: proxy.line, key }, domain)).status
    const statuses = [await ask('known-1.example'), await ask('known-2.example')]
    expect([...statuses, await there.bench.balance()]).toEqual([200, 402, 999])
    await proxy.stop()
  })
})

describe('--log', () => {
  const events = (file = 'cron.log') =>
    here
      .read(file)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  it('appends the start, notices, result, exit code and credits of a batch, for its owner only', async () => {
    expect((await here.run([...batch, '--log', 'cron.log', '--quiet'])).code).toBe(0)
    const [start] = events()
    const options = expect.not.arrayContaining(['color'])
    expect(start).toMatchObject({ options: expect.arrayContaining(['csv', 'log']) })
    expect(start).toMatchObject({ event: 'start', command: 'prospect accounts enrich', options })
    const result = events().find(({ event }) => event === 'result')
    expect(result).toMatchObject({ rows: 10, found: 10, credits: 10 })
    expect(events().at(-1)).toMatchObject({ event: 'end', exit_code: 0, credits: 10 })
    expect(events().some(({ event }) => event === 'notice')).toBe(true)
    expect(statSync(here.path('cron.log')).mode & 0o777).toBe(0o600)
    const before = events().length
    await lookUp(20, '--log=cron.log')
    expect(events().slice(before)).toMatchObject([
      { event: 'start' },
      { event: 'result', status: 200 },
      { event: 'end', exit_code: 0, credits: 1 },
    ])
  })

  it('has the error and exit code of a command that fails, also of a wrong one, and never a key', async () => {
    const key = 'pk_Canary0Canary0Canary0Canary0Canary0Ca'
    await here.run('credits --min-credits 5000 --log cron.log')
    await here.run(`credits --api-key ${key} --log cron.log`)
    expect(events()).toMatchObject([
      { event: 'start', command: 'prospect credits' },
      { event: 'result', credits: { enrichment: 1_000 } },
      { event: 'error', code: 'below_minimum' },
      { event: 'end', exit_code: 13, credits: 0 },
      { event: 'error', code: 'usage' },
      { event: 'end', exit_code: 2 },
    ])
    expect(JSON.stringify(events())).not.toContain(key)
  })
})

it('--lock refuses a second command of any kind while the first one holds the lock', async () => {
  const serving = await here.start('serve --port 0 --lock nightly')
  for (const argv of [['credits'], ['data', 'sample'], batch]) {
    await ends(here.run([...argv, '--lock', 'nightly']), 15, 'The lock nightly is in use')
  }
  await serving.stop()
  expect((await here.run([...batch, '--lock', 'nightly'])).code).toBe(0)
})
