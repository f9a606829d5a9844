import { beforeEach, describe, expect, it } from 'vitest'
import { exitCodes } from '../../../src/api/calls/exit-codes.js'
import { errorOf, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { launch, prospect } from '../../support/processes.js'
import { loadSample } from '../../support/sample.js'
import { proxyOf, serves } from '../call/serving.js'

const here = perTest(machine)
beforeEach(async () => {
  await loadSample(here.home)
  for (const [name, limit] of [
    ['ada', '2'],
    ['bob', '50'],
  ] as const) {
    const email = `${name}@example.com`
    await here.json(`engine members add ${email} --weekly-limit ${limit}`)
    here.write(`${name}.key`, await here.newKey(email), 0o600)
  }
  const companies = await here.json<{ domain: string }[]>('data export companies')
  list(
    'in.csv',
    companies.slice(0, 6).map(({ domain }) => domain),
  )
})

const list = (name: string, domains: readonly string[]) => here.write(name, `domain\n${domains.join('\n')}\n`)
const robots = Array.from({ length: 6 }, (_, at) => `robots-${at}.example`)
const enrich = 'accounts enrich --csv in.csv -o out.csv'
const keyOf = (name: string) => `--api-key-file ${name}.key`
const foundIn = (name: string) => here.read(name).match(/,found,/g)?.length

/** A proxy before a server with six companies, and what the two members of it call it with. */
async function governedProxy(limitOfAda: string) {
  const server = await serves(0, 6)
  const { baseUrl, machine: proxy } = await proxyOf(server, '', async (one) => {
    await one.run(`engine members add ada@example.com --weekly-limit ${limitOfAda}`)
    await one.run('engine members add bob@example.com')
  })
  const envOf = async (name: string) => {
    const key = await proxy.newKey(`${name}@example.com`)
    return { PROSPECT_HOME: here.home, PROSPECT_BASE_URL: baseUrl, PROSPECT_API_KEY: key }
  }
  return { server, proxy, ada: await envOf('ada'), bob: await envOf('bob') }
}

const spent = async () => {
  const members = await here.json<{ email: string; spent_this_week: number }[]>('engine members list')
  return Object.fromEntries(members.map(({ email, spent_this_week: credits }) => [email, credits]))
}

describe('P60: a run that another member would resume', () => {
  it('is not resumed without a terminal, nor by the same command; it is by who started it', async () => {
    expect((await here.run(`${enrich} ${keyOf('ada')}`)).code).toBe(5)
    const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs list')
    for (const line of [`runs resume ${id} --yes`, `${enrich} ${keyOf('bob')}`]) {
      const refused = await here.run(`${line} --json`)
      expect([refused.code, errorOf(refused).error]).toEqual([
        2,
        expect.stringMatching(
          /^Run \S+ was started by ada@example\.com, and this command has the key of (me@localhost|bob@example\.com)\.$/,
        ),
      ])
      expect(errorOf(refused).hint).toContain('Give a key of ada@example.com with --api-key-file FILE')
    }
    expect(await spent()).toMatchObject({ 'ada@example.com': 2, 'bob@example.com': 0, 'me@localhost': 0 })
    await here.run('engine members set ada@example.com --weekly-limit 10')
    expect((await here.run(`runs resume ${id} ${keyOf('ada')}`)).code).toBe(0)
    expect(await spent()).toMatchObject({ 'ada@example.com': 6, 'me@localhost': 0 })
    expect(foundIn('out.csv')).toBe(6)
  })

  it('is resumed on a terminal by who confirms it, and is theirs from then on', async () => {
    await here.run(`${enrich} ${keyOf('ada')}`)
    const resume = `runs resume --last --yes ${keyOf('bob')}`
    const no = await here.run(resume, { typed: [['[y/N]', 'n\n']] })
    expect([no.code, (await spent())['bob@example.com']]).toEqual([16, 0])
    const yes = await here.run(resume, { typed: [['[y/N]', 'y\n']] })
    expect(yes.stderr).toContain('Pay for the rest as bob@example.com?')
    expect([yes.code, await spent()]).toMatchObject([0, { 'ada@example.com': 2, 'bob@example.com': 4 }])
  })

  it('goes on at a governed proxy with the key that started it alone, in one of the processes that try at once', async () => {
    const { proxy, ada, bob } = await governedProxy('2')
    list('in.csv', robots)
    expect((await here.run(enrich, { env: ada })).code).toBe(5)
    await proxy.run('engine members set ada@example.com --weekly-limit 50')
    const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs list')
    const resume = async (processes: number, key: typeof ada) => {
      const argv = ['runs', 'resume', id, '--yes']
      const all = Array.from({ length: processes }, () => launch(prospect, argv, here.home, key))
      return (await Promise.all(all)).filter(({ exitCode }) => exitCode !== exitCodes.locked)
    }
    const refused = await resume(tries(2, 4), bob)
    expect(refused.map(({ exitCode }) => exitCode)).toEqual(refused.map(() => 2))
    expect(refused[0]?.stderr).toContain('was started with another API key than this command has.')
    const resumed = await resume(tries(4, 8), ada)
    expect(resumed.map(({ exitCode }) => exitCode)).toEqual(resumed.map(() => 0))
    const ledger = await proxy.json<unknown>('ledger --by member')
    expect(ledger).toMatchObject([{ member: 'ada@example.com', credits: 6 }])
    expect(foundIn('out.csv')).toBe(6)
  })
})

it('P57: rows that several processes look up at once are paid for once over a governed proxy, in files of any order', async () => {
  const { server, proxy, ada } = await governedProxy('50')
  const processes = Array.from({ length: tries(4, 8) }, async (_, at) => {
    const turned = [...robots.slice(at % 6), ...robots.slice(0, at % 6)]
    list(`in-${at}.csv`, at % 4 < 3 && at < 6 ? turned : turned.reverse())
    const argv = `accounts enrich --csv in-${at}.csv -o out-${at}.csv`.split(' ')
    const { exitCode } = await launch(prospect, argv, here.home, ada)
    return [exitCode, foundIn(`out-${at}.csv`)]
  })
  expect(await Promise.all(processes)).toEqual(processes.map(() => [0, 6]))
  expect(await proxy.json('ledger --by member')).toMatchObject([{ member: 'ada@example.com', credits: 6 }])
  expect(await server.machine.json('engine members list')).toMatchObject([{ spent_this_week: 6 }])
})
