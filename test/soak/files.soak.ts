import { createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeAll, expect } from 'vitest'
import { machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { prospect } from '../support/processes.js'
import { grouped, soak, some } from './soak.js'

const peak = fileURLToPath(new URL('../../scripts/bench/peak.js', import.meta.url))

const here = perFile(machine)
beforeAll(async () => {
  await here.json('init')
  await here.json('engine', 'credits', 'set', '100000000')
})

/** Runs a command and answers the most memory it held, in MB. */
async function run(...words: string[]) {
  const { home } = here
  const ended = await execa(process.execPath, ['--import', peak, prospect, ...words], {
    cwd: home,
    env: { PROSPECT_HOME: home },
    reject: false,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  return { ...ended, peakMb: Number(ended.stdio[3]) / 1_024 }
}

const header = 'company,website,description\n'
/** Rows of half a kilobyte, no two alike. */
function* rows(bytes: number): Generator<string> {
  yield header
  const filler = `"a company, that ""makes"" things\nof many kinds${' '.repeat(400)}"`
  for (let [at, written] = [0, 0]; written < bytes; at++) {
    const row = `Company ${at},c${at}.example,${filler}\n`
    written += row.length
    yield row
  }
}

/** Writes a file, and removes it when the work with it is over. */
async function withFile<T>(name: string, pieces: Iterable<string>, work: () => Promise<T>): Promise<T> {
  const path = join(here.home, name)
  await pipeline(Readable.from(pieces), createWriteStream(path))
  return await work().finally(() => rmSync(path))
}

const quote = (file: string) => run('accounts', 'enrich', '--csv', file, '--dry-run', '--json')

soak('P21', 'a file of 1 GB is processed in at most 200 MB of memory', async () => {
  const bytes = some(2 ** 30, 2 ** 20)
  const { exitCode, stdout, stderr, peakMb } = await withFile('big.csv', rows(bytes), () => quote('big.csv'))
  expect(exitCode, stderr).toBe(0)
  expect(JSON.parse(stdout).rows).toBeGreaterThan(0)
  expect(peakMb).toBeLessThanOrEqual(200)
  return {
    tried: `${grouped(Math.round(bytes / 2 ** 20))} MB with quotes and line ends in its cells`,
    measured: `${Math.round(peakMb)} MB of memory at most`,
  }
})

soak('P21', 'a cell of 100 MB is refused with its line in at most 200 MB of memory', async () => {
  const cell = some(100 * 2 ** 20, 10 * 2 ** 20)
  const pieces = function* () {
    yield `${header}"`
    for (let left = cell; left > 0; left -= 65_536) yield 'x'.repeat(65_536)
    yield '",c.example,x\nAcme,acme.example,x\n'
  }
  const { exitCode, stdout, stderr, peakMb } = await withFile('cell.csv', pieces(), () => quote('cell.csv'))
  expect(exitCode).not.toBe(0)
  expect(stderr + stdout).toMatch(/line 2\b/i)
  expect(stderr + stdout).not.toMatch(/\bat \S+:\d+|x{1000}/)
  expect(peakMb).toBeLessThanOrEqual(200)
  return {
    tried: `a cell of ${Math.round(cell / 2 ** 20)} MB`,
    measured: `exit code ${exitCode}, ${Math.round(peakMb)} MB of memory at most`,
  }
})
