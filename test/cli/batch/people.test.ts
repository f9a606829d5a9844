import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import { beforeEach, describe, expect, it } from 'vitest'
import { ends, type Given, type Machine, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { launch, prospect } from '../../support/processes.js'
import { until } from '../../support/until.js'
import { servingMachine } from '../call/serving.js'

/** Five companies with people, one without, an invalid row, and a company again. */
const companies = ['one', 'two', 'three', 'four', 'five', 'empty', '', 'two']
const people = companies
  .slice(0, 5)
  .flatMap((name, at) =>
    Array.from({ length: at + 1 }, (_, number) => `Ada,${name}-${number},CTO,${name}.example`),
  )
/** The people of the file's rows, at most two each. */
const expected = companies.flatMap((name, at) => {
  const own = people.filter((person) => person.endsWith(`,${name}.example`)).slice(0, 2)
  return own.length === 0 ? [''] : own.map((person) => `${at + 2} ${person.split(',')[1]}`)
})

const fill = async (home: Machine) => {
  const known = companies.filter((name, at) => name !== '' && companies.indexOf(name) === at)
  await home.fill('companies', `name,domain\n${known.map((name) => `${name},${name}.example`).join('\n')}\n`)
  await home.fill('people', `first_name,last_name,title,company_domain\n${people.join('\n')}\n`)
  return home
}

const here = perTest(() => fill(machine()))
beforeEach(() => {
  const rows = companies.map((name, at) => `${at},${name === '' ? '' : `${name}.example`}`)
  here.write('in.csv', `Record ID,Website\n${rows.join('\n')}\n`)
})

const asked = 'leads search --csv in.csv --limit 2 --job-titles CTO'
const whole = `${asked} --fail-on none -o out.csv`
const search = (more = '', given: Given = {}) => here.run(`${whole} ${more}`, given)
const rowsOf = (name: string) => here.rows(name) as Record<string, string>[]
const found = (name = 'out.csv') =>
  rowsOf(name).map(({ _line, 'lead.last_name': last }) => (last ? `${_line} ${last}` : ''))
const profilesUsed = async (of: Machine = here) => {
  const { credits } = await of.json<{ credits: { daily_profile_scraping: number } }>('credits')
  return 2_500 - credits.daily_profile_scraping
}
/** Each person once: an equal row costs nothing. */
const profiles = 9

describe('leads search --csv', () => {
  it('writes a row for each person with the columns and the line of the company, and costs profiles, not credits', async () => {
    const { code, stderr } = await search()
    expect([code, found()]).toEqual([0, expected])
    expect(stderr).toContain(`${expected.length} rows written.`)
    expect(rowsOf('out.csv')[1]).toMatchObject({
      'Record ID': '1',
      Website: 'two.example',
      'lead.title': 'CTO',
      'company.domain': 'two.example',
      _status: 'found',
      _credits: '0',
    })
    expect(await profilesUsed()).toBe(profiles)
    expect((await search()).stderr).toContain('nothing is spent')
    expect(await profilesUsed()).toBe(profiles)
  })

  it('quotes the profiles of the day that it can use, and sends nothing', async () => {
    const quote = (await here.run(`${asked} --dry-run --max-profiles 7`)).json
    expect(quote).toMatchObject({ rows: 8, lookups: 6, profiles_max: 7, credits: { max: 0 }, shortage: null })
    await here.json('engine quotas set --daily-profiles 3')
    await ends(here.run(`${asked} --dry-run`), 6, 'The quota does not cover 12 profiles')
    expect(await here.json('searches list --no-enriched')).toMatchObject({ searches: [] })
  })

  it('never extracts more than --max-profiles over all parts of a run, and resumes with a larger budget', async () => {
    await ends(search('--max-profiles 5'), 12, 'Budget reached: 5 profiles for this run')
    expect(await profilesUsed()).toBeLessThanOrEqual(5)
    expect((await search('--max-profiles 5')).code).toBe(12)
    expect(await profilesUsed()).toBeLessThanOrEqual(5)
    expect((await here.run('runs resume --last --max-profiles 11')).stderr).toContain('of')
    expect([found(), await profilesUsed()]).toEqual([expected, profiles])
  })

  it('counts each profile against --max-profiles also where a row asks for one only', async () => {
    const one = whole.replace('--limit 2', '--limit 1')
    await ends(here.run(`${one} --max-profiles 3`), 12, 'Budget reached: 3 profiles for this run')
    expect(await profilesUsed()).toBe(3)
    expect((await here.run(`${one} --max-profiles 3`)).code).toBe(12)
    expect(await profilesUsed()).toBe(3)
    await ends(here.run('runs resume --last --max-profiles 6'), 0)
    expect(await profilesUsed()).toBe(5)
  })

  it('keeps what a selection wants: a condition on people, columns, the layout of a CRM', async () => {
    await search(`--where 'lead.last_name.endsWith("-1")' --columns "Record ID,lead.last_name"`)
    expect(rowsOf('out.csv')).toEqual(
      ['two', 'three', 'four', 'five', 'two']
        .map((name) => ({
          'Record ID': String(companies.indexOf(name)),
          'lead.last_name': `${name}-1`,
        }))
        .map((row, at) => (at === 4 ? { ...row, 'Record ID': '7' } : row)),
    )
    await search('--layout hubspot')
    // A company that is in the file twice gives its people once.
    const once = people.filter((person) => /-[01],/.test(person)).map((person) => person.split(',')[1])
    expect(rowsOf('out.csv').map((row) => row['Last Name'])).toEqual(once)
    await search('--layout hubspot --keep-input --only found')
    expect(rowsOf('out.csv').map((row) => row['Last Name'])).toEqual([...once, 'two-0', 'two-1'])
    expect(await profilesUsed()).toBe(profiles)
  })

  it('gives the output of an undisturbed run after it was killed, and starts no search twice', async () => {
    const env = { PROSPECT_HOME: here.home }
    for (let kill = 0; kill < 3 && !here.exists('out.csv'); kill++) {
      const running = launch(prospect, whole.split(' '), here.home, env)
      await until(() => running.nodeChildProcess.exitCode !== null || here.exists('out.csv.partial'))
      // Each time a little later.
      await pause(5 * kill)
      running.kill('SIGKILL')
      await running
    }
    const { code } = await search()
    expect([code, found()]).toEqual([0, expected])
    const { searches } = await here.json<{ searches: unknown[] }>('searches list --no-enriched')
    expect([searches.length, await profilesUsed()]).toEqual([6, profiles])
  })
})

describe('at a server', () => {
  const server = perTest(() => servingMachine(fill))
  const atServer = () => ({ env: server.env, sleep: async () => {} })

  it('gives the same output, also with --direct', async () => {
    for (const more of ['', '--direct --fresh']) {
      rmSync(here.path('out.csv'), { force: true })
      const { code } = await search(more, atServer())
      expect([code, found()]).toEqual([0, expected])
    }
    expect(await profilesUsed(server.machine)).toBe(2 * profiles)
  })

  it('starts no search twice where replies are lost', async () => {
    const given = atServer()
    const fault = (rules: string) => server.machine.json(`engine faults add leads ${rules}`)
    await fault('--drop after --nth 3 --count 3')
    await fault('--truncate --nth 4 --count 1')
    await fault('--status 503 --nth 5 --count 1')
    for (let part = 0; part < 4 && (await search('', given)).code !== 0; part++);
    const { stderr } = await search('--retry-unknown', given)
    expect([found(), stderr]).toEqual([expected, expect.any(String)])
    expect(await profilesUsed(server.machine)).toBe(profiles)
  })
})

describe('leads advanced-search --max-per-company', () => {
  const many = 'leads advanced-search --job-titles CTO --max-per-company 2'
  const lastNames = (text: string) =>
    (parse(text, { columns: true }) as Record<string, string>[]).map((row) => row['lead.last_name'])
  const wanted = people.filter((person) => /-[01],/.test(person)).map((person) => person.split(',')[1])

  it('gets at most so many people of each company, and counts only those against the quota', async () => {
    expect(await here.json(`${many} --preview`)).toMatchObject({ total_count: profiles })
    expect(lastNames((await here.run(`${many} --format csv --wait`)).stdout)).toEqual(wanted)
    expect(await profilesUsed()).toBe(profiles)
  })

  it('holds over all steps of a job, also for the people of a search URL', async () => {
    const rows = Array.from(
      { length: 700 },
      (_, at) => `Bob,Last${at},Engineer,c${Math.floor(at / 3) % 150}.example`,
    )
    await here.fill('people', `first_name,last_name,title,company_domain\n${rows.join('\n')}\n`)
    const url = 'https://www.network.example/sales/search/people?query=(keywords:Engineer)'
    const found = lastNames(
      (await here.run(`leads extract ${url} --max-per-company 1 --format csv --wait`)).stdout,
    )
    expect(found).toEqual(Array.from({ length: 150 }, (_, at) => `Last${at * 3}`))
    expect(await profilesUsed()).toBe(150)
  })
})
