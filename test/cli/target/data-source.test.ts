import { beforeEach, describe, expect, it } from 'vitest'
import { describeCatalogue, describeServer } from '../../../src/cli/target/local-target.js'
import { served } from '../../client/serving.js'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { loadSample } from '../../support/sample.js'

const now = Date.parse('2026-11-24T12:00:00Z')
const sample = {
  sampleCompanies: 500,
  ownCompanies: 0,
  hasOwnPeople: false,
  importedAt: null,
  changedAt: null,
}
const own = {
  ...sample,
  sampleCompanies: 0,
  ownCompanies: 12_400,
  importedAt: Date.parse('2026-11-03T01:00:00Z'),
}
const here = '/home/ann/engine.db'
const address = 'postgres://ann:p@ss@db.example.com:5432/prospect?password=secret'

it.each([
  [here, sample, 'practice data on this machine (500 sample companies)'],
  [here, { ...sample, sampleCompanies: 1 }, 'practice data on this machine (1 sample company)'],
  [here, own, 'your catalogue on this machine (12,400 companies, imported 3 Nov)'],
  [here, { ...own, importedAt: null }, 'your catalogue on this machine (12,400 companies)'],
  [
    here,
    { ...own, sampleCompanies: 500, importedAt: Date.parse('2025-11-03') },
    'your catalogue on this machine (12,400 companies, imported 3 Nov 2025, beside 500 sample companies)',
  ],
  [
    here,
    { ...own, ownCompanies: 0, hasOwnPeople: true },
    'your catalogue on this machine (people only, imported 3 Nov)',
  ],
  [here, undefined, 'an empty catalogue on this machine'],
  [address, sample, 'practice data in the database at db.example.com:5432 (500 sample companies)'],
  [
    'postgres://ann:p/q@db.example.com/prospect',
    own,
    'your catalogue in a shared database (12,400 companies, imported 3 Nov)',
  ],
])('names a catalogue in one phrase: %s %j', (engine, origins, text) => {
  expect(describeCatalogue({ engine }, origins, now).text).toBe(text)
})

it.each([
  [false, 'ann@example.com', 'api.example.com as ann@example.com'],
  [false, undefined, 'api.example.com'],
  [true, 'ann@example.com', 'api.example.com as ann@example.com, directly'],
])('names a server in one phrase: direct %s, member %s', (direct, member, text) => {
  const server = { baseUrl: 'https://api.example.com/api/v2', direct }
  expect(describeServer(server, member).text).toBe(text)
})

describe('commands', () => {
  const home = perTest(machine)
  beforeEach(() => home.write('in.csv', 'name,website\nSiemens,siemens.com\nStripe,stripe.com\n'))
  const batch = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--summary-json', 'sum.json']
  const practice = 'practice data on this machine (500 sample companies)'

  it('say that invented companies were asked where nothing was found, and what to do', async () => {
    await loadSample(home.home)
    const quote = await home.run([...batch.slice(0, 4), '--dry-run'])
    expect(quote.json).toMatchObject({ rows: 2, source: { kind: 'practice', text: practice } })
    const hint = `Answers come from ${practice}. All of it is invented. For real records, prospect init connects a vendor,`
    expect((await home.run(batch)).stderr).toContain(`0 found · 2 not found · 0 credits\nWritten to`)
    await ends(home.run([...batch, '--fresh']), 0, hint)
    const summary = home.read('sum.json')
    expect(JSON.parse(summary)).toMatchObject({
      source: { kind: 'practice', sample_companies: 500, text: practice },
    })
    await ends(home.run('accounts enrich --domain siemens.com'), 9, hint)
  })

  it('are named once, before anything is looked up, in a pipe as on a terminal', async () => {
    await loadSample(home.home)
    home.write('in.csv', 'domain\nacme-robotics.example\n')
    const lines = (await home.run(batch)).stderr.split('\n')
    const at = lines.indexOf(`Answers come from ${practice}.`)
    expect([at, lines[at + 1]]).toEqual([1, expect.stringMatching(/^1 row in/)])
    expect(lines.filter((line) => line.includes('Answers come from'))).toHaveLength(1)
    expect((await home.run('runs show --last --format table')).stdout).toMatch(/^Answers from +practice data/)
  })

  it('say so once where an import finds nothing', async () => {
    await loadSample(home.home)
    const { stderr } = await home.run('accounts search --keyword nothing')
    expect(stderr.split('All of it is invented').length - 1).toBe(1)
    expect(stderr).toContain('Found 0 companies.')
  })

  it('do not call a catalogue practice data that has own companies', async () => {
    await loadSample(home.home)
    await home.run('data import companies in.csv --map domain=website')
    const { stderr } = await home.run(batch)
    expect(stderr).toMatch(
      /Answers come from your catalogue on this machine \(2 companies, imported \d+ \w{3}, beside 500/,
    )
  })

  it('name the source of a run as it was when its rows were looked up', async () => {
    await loadSample(home.home)
    await home.run(batch)
    await home.run('data import companies in.csv --map domain=website')
    const hint = `Answers come from ${practice}. All of it is invented.`
    expect((await home.run('runs export --last -o again.csv')).stderr).toContain(hint)
    expect(await home.json('runs show --last')).toMatchObject({
      source: { kind: 'practice', text: practice },
    })
    const shown = await home.run('runs show --last', { terminal: true, columns: 100 })
    expect(shown.stdout).toContain(`Answers from      ${practice}\n`)
    // The import may have brought what was not found, so that the same command asks again.
    const again = await home.run(batch)
    expect(again.stderr).toContain('Answers come from your catalogue on this machine (2 companies')
    expect(await home.json('runs show --last')).toMatchObject({ source: { kind: 'mixed' } })
  })

  it('name the source of a run in its last execution', async () => {
    await loadSample(home.home)
    await home.run([...batch, '--rows', '1'])
    expect(await home.json('runs show --last')).toMatchObject({ done: 1, source: { kind: 'practice' } })
    await home.run('data import companies in.csv --map domain=website')
    expect((await home.run(batch)).stderr).toContain('Answers come from your catalogue on this machine')
    expect(await home.json('runs show --last')).toMatchObject({ done: 2, source: { kind: 'mixed' } })
  })

  it('name the source above what is left, and with it in JSON', async () => {
    await loadSample(home.home)
    const { stdout } = await home.run('limits', { terminal: true, columns: 100 })
    expect(stdout).toMatch(/^Answers from +practice data on this machine \(500 sample companies\)\nPlan /)
    expect(await home.json('limits')).toMatchObject({ source: { kind: 'practice', text: practice } })
    const { stdout: rows } = await home.run('limits --format ids')
    expect(rows).not.toContain('practice')
  })

  it('name the source beside credits on a terminal and with --verbose, and leave the body as the API gives it', async () => {
    await loadSample(home.home)
    const line = `Answers come from ${practice}.`
    const piped = await home.run('credits')
    expect([piped.stderr, Object.keys(piped.json as object)]).toEqual(['', ['credits', 'limits']])
    const verbose = await home.run('credits --verbose')
    expect([verbose.stdout, verbose.stderr]).toEqual([piped.stdout, expect.stringContaining(line)])
    for (const area of ['credits', 'account'])
      expect((await home.run([area], { terminal: true, columns: 120 })).stderr).toBe(`${line}\n`)
  })

  it('name a server and whose key it is', async () => {
    const there = await served()
    const at = ['--base-url', there.server.baseUrl]
    await home.run(['login', ...at, '--api-key-stdin'], { stdin: there.bench.key })
    const { host } = new URL(there.server.baseUrl)
    const { stderr } = await home.run([...batch, ...at])
    const { source } = await home.json<{ source: { text: string } }>('limits', ...at)
    await there.close()
    expect(stderr).toMatch(new RegExp(`Answers come from ${host} as \\S+@\\S+\\.\n`))
    // The server need not be there any more.
    expect(stderr).toContain(`Answers come from ${source.text}.`)
    expect(await home.json('runs show --last')).toMatchObject({ source })
  })
})
