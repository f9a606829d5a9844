import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'
import { execa } from 'execa'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hostile } from '../csv/hostile.js'
import { prospect } from '../support/processes.js'
import { found, grouped, secondsSince } from './findings.js'
import { seedOf, some } from './share.js'

const peak = fileURLToPath(new URL('../../scripts/bench/peak.js', import.meta.url))

let home: string

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'prospect-files-'))
  await execa(process.execPath, [prospect, 'init', '--yes'], { env: { PROSPECT_HOME: home } })
  await execa(process.execPath, [prospect, 'engine', 'credits', 'set', '100000000'], {
    env: { PROSPECT_HOME: home },
  })
})

afterAll(() => {
  rmSync(home, { recursive: true })
})

/** Runs a command and answers the most memory it held, in MB. */
async function run(...words: string[]) {
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

it('P21: a file of 1 GB is processed in bounded memory', async () => {
  const began = performance.now()
  const bytes = some(2 ** 30, 2 ** 20)
  await pipeline(Readable.from(rows(bytes)), createWriteStream(join(home, 'big.csv')))
  const words = ['accounts', 'enrich', '--csv', 'big.csv', '--dry-run', '--json']
  const { exitCode, stdout, stderr, peakMb } = await run(...words)
  rmSync(join(home, 'big.csv'))
  expect(exitCode, stderr).toBe(0)
  const told = JSON.stringify(JSON.parse(stdout))
  found({
    promise: 'P21',
    tried: `a file of ${grouped(Math.round(bytes / 2 ** 20))} MB with quotes and line ends in its cells, read to its end`,
    lost: 'nothing',
    measured: `${Math.round(peakMb)} MB of memory at most (at most 200); ${secondsSince(began)}`,
  })
  expect(told).toMatch(/\d/)
  expect(peakMb).toBeLessThanOrEqual(200)
})

it('P21: a cell of 100 MB is refused in bounded memory', async () => {
  const began = performance.now()
  const cell = some(100 * 2 ** 20, 10 * 2 ** 20)
  const pieces = function* () {
    yield `${header}"`
    for (let left = cell; left > 0; left -= 65_536) yield 'x'.repeat(65_536)
    yield '",c.example,x\nAcme,acme.example,x\n'
  }
  await pipeline(Readable.from(pieces()), createWriteStream(join(home, 'cell.csv')))
  const { exitCode, stdout, stderr, peakMb } = await run(
    ...'accounts enrich --csv cell.csv --dry-run'.split(' '),
  )
  rmSync(join(home, 'cell.csv'))
  expect(exitCode).not.toBe(0)
  expect(stderr + stdout).toMatch(/line 2\b/i)
  expect(stderr + stdout).not.toMatch(/\bat \S+:\d+|x{1000}/)
  found({
    promise: 'P21',
    tried: `a cell of ${Math.round(cell / 2 ** 20)} MB`,
    lost: 'refused, with its line',
    measured: `exit code ${exitCode}, ${Math.round(peakMb)} MB of memory at most; ${secondsSince(began)}`,
  })
  expect(peakMb).toBeLessThanOrEqual(200)
})

it('P22: texts that a spreadsheet would take for formulas are escaped from the source to the file', async () => {
  const seed = seedOf()
  const texts = fc.sample(hostile, { seed, numRuns: some(5_000, 500) }).filter((text) => !text.includes('\0'))
  const records = texts.map((text, at) => ({
    name: `${text} ${at}`,
    domain: `h${at}.example`,
    industry: text,
  }))
  writeFileSync(join(home, 'hostile.ndjson'), records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  const imported = await run('data', 'import', 'companies', 'hostile.ndjson', '--json')
  expect(imported.exitCode, imported.stderr).toBe(0)
  writeFileSync(join(home, 'in.csv'), `domain\n${records.map(({ domain }) => `${domain}\n`).join('')}`)
  const enriched = await run('accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--yes')
  expect(enriched.exitCode, enriched.stderr).toBe(0)
  const table = parse(readFileSync(join(home, 'out.csv')), { bom: true }) as string[][]
  expect(table).toHaveLength(records.length + 1)
  const cells = table.flat()
  const isPlain = (cell: string) => !/^[=+\-@\t\r\n\0]/.test(cell) || /^[+-]?[\d.,]+$/.test(cell)
  expect(cells.filter((cell) => !isPlain(cell))).toEqual([])
  found({
    promise: 'P22',
    tried: `${grouped(records.length)} companies with hostile texts, imported and enriched into a file (seed ${seed})`,
    lost: `0 live formulas among ${grouped(cells.length)} cells`,
  })
})
