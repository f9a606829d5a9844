import { statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { launch, prospect } from '../support/processes.js'
import { paid } from './runs/paying.js'

const here = perTest(machine)
const start = (line: string) => launch(prospect, line.split(' '), here.home, { PROSPECT_HOME: here.home })

/** Writes a CSV of domains; the same domain in two spellings where `twice`. */
function writeDomains(name: string, from: number, to: number, twice = false): void {
  const lines = ['Company;Website']
  for (let at = from; at < to; at++) {
    lines.push(`Company ${at};company-${at}.example`)
    if (twice) lines.push(`COMPANY ${at};https://www.Company-${at}.example/about`)
  }
  here.write(name, `${lines.join('\n')}\n`)
}

describe('several processes with one home', () => {
  it('four concurrent batches with too few credits pay for exactly the rows they keep', async () => {
    const [credits, share] = tries([60, 80], [1_000, 1_200])
    writeDomains('catalogue.csv', 0, 4 * share)
    await here.json('init')
    await here.json('data import companies catalogue.csv')
    await here.json(`engine credits set ${credits}`)
    const names = [0, 1, 2, 3].map((at) => `part-${at}`)
    names.forEach((name, at) => {
      // Each could spend the whole balance, so none of them can finish.
      writeDomains(`${name}.csv`, at * share, (at + 1) * share, true)
    })
    const runs = await Promise.all(
      names.map((name) => start(`accounts enrich --csv ${name}.csv -o ${name}.out.csv`)),
    )
    expect(runs.map(({ exitCode, stderr }) => (exitCode === 4 ? 4 : stderr))).toEqual([4, 4, 4, 4])
    const written = names.flatMap((name) => here.rows(`${name}.out.csv.partial`))
    for (const name of names) {
      expect(here.exists(`${name}.out.csv`)).toBe(false)
      expect(statSync(here.path(`${name}.out.csv.partial`)).mode & 0o777).toBe(0o600)
    }
    expect(written.every(({ _status }) => _status === 'found')).toBe(true)
    expect(paid(written)).toBe(credits)
    expect(new Set(written.map(({ domain }) => domain)).size).toBe(credits)
    expect(await here.balance()).toBe(0)
    expect(await here.json('engine ledger verify')).toMatchObject({ ok: true })
  })

  it('concurrent first commands create one workspace and all succeed', async () => {
    const commands = tries(4, 8)
    const runs = await Promise.all(
      Array.from({ length: commands }, () => start('engine credits add 1 --json')),
    )
    expect(runs.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: commands }, () => 0))
    expect(await here.balance()).toBe(1_000 + commands)
    expect(await here.json('engine workspaces list')).toHaveLength(1)
  })
})

it('leaves a column unread that its field cannot hold, in the built program as in its source', async () => {
  const rows = Array.from({ length: 6 }, (_, at) => `a${at}.example,about ${at} people\n`)
  here.write('companies.csv', `domain,headcount\n${rows.join('')}`)
  const { stdout } = await start('data import companies companies.csv --dry-run --json')
  expect(JSON.parse(stdout)).toMatchObject({ mapping: { domain: 'domain' }, ignored: ['headcount'] })
})
