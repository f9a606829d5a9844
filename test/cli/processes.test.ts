import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { command } from '../support/command.js'
import { tries } from '../support/effort.js'
import { launch } from '../support/processes.js'

const bin = fileURLToPath(new URL('../../bin/prospect.js', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prospect-cli-processes-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const env = () => ({ PROSPECT_HOME: join(folder, 'home') })
const prospect = (...args: string[]) => launch(bin, args, folder, env())

/** Runs a command alone, in this process. */
const alone = (args: string) => command(args, { env: env(), cwd: folder })

const json = async (args: string) => JSON.parse((await alone(`${args} --json`)).stdout)

/** Writes a CSV of domains; the same domain in two spellings where `twice`. */
function writeDomains(name: string, from: number, to: number, twice = false): void {
  const lines = ['Company;Website']
  for (let at = from; at < to; at++) {
    lines.push(`Company ${at};company-${at}.example`)
    if (twice) lines.push(`COMPANY ${at};https://www.Company-${at}.example/about`)
  }
  writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
}

const rows = (name: string): Record<string, string>[] =>
  parse(readFileSync(join(folder, name)), { columns: true, bom: true })

const sum = (list: readonly Record<string, string>[]) =>
  list.reduce((total, row) => total + Number(row._credits), 0)

describe('several processes with one home', () => {
  it('four concurrent batches with too few credits pay for exactly the rows they keep', async () => {
    const [credits, share] = tries([60, 80], [1_000, 1_200])
    writeDomains('catalogue.csv', 0, 4 * share)
    await alone('data import companies catalogue.csv')
    await alone(`engine credits set ${credits}`)
    const names = [0, 1, 2, 3].map((at) => `part-${at}`)
    names.forEach((name, at) => {
      // Each could spend the whole balance, so none of them can finish.
      writeDomains(`${name}.csv`, at * share, (at + 1) * share, true)
    })
    const runs = await Promise.all(
      names.map((name) => prospect('accounts', 'enrich', '--csv', `${name}.csv`, '-o', `${name}.out.csv`)),
    )
    expect(runs.map(({ exitCode, stderr }) => (exitCode === 4 ? 4 : stderr))).toEqual([4, 4, 4, 4])
    const written = names.flatMap((name) => rows(`${name}.out.csv.partial`))
    for (const name of names) {
      expect(existsSync(join(folder, `${name}.out.csv`))).toBe(false)
      expect(statSync(join(folder, `${name}.out.csv.partial`)).mode & 0o777).toBe(0o600)
    }
    expect(written.every(({ _status }) => _status === 'found')).toBe(true)
    expect(sum(written)).toBe(credits)
    expect(new Set(written.map(({ domain }) => domain)).size).toBe(credits)
    expect((await json('credits')).credits.enrichment).toBe(0)
    expect((await json('engine ledger verify')).ok).toBe(true)
  })

  it('concurrent first commands create one workspace and all succeed', async () => {
    const commands = tries(4, 8)
    const runs = await Promise.all(
      Array.from({ length: commands }, () => prospect('engine', 'credits', 'add', '1', '--json')),
    )
    expect(runs.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: commands }, () => 0))
    expect((await json('credits')).credits.enrichment).toBe(1_000 + commands)
    expect(await json('engine workspaces list')).toHaveLength(1)
  })
})
