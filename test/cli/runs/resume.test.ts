import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { random } from '../../helpers/killed-batch.js'
import { bundled } from '../../helpers/processes.js'
import { csv, csvOf, known, type Paying, paid, paying } from './paying.js'

const rowCount = 1_000

let program: string
beforeAll(async () => {
  program = await bundled('programs/prospect.ts')
})
afterAll(() => rmSync(program))

let here: Paying
beforeEach(async () => {
  here = await paying(rowCount, 5_000)
})
afterEach(() => here.remove())

const enrich = (...more: string[]) =>
  execa(process.execPath, [program, 'accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', ...more], {
    ...{ cwd: here.home, env: { PROSPECT_HOME: here.home }, reject: false, stdin: 'ignore' },
  })

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Rows of which some repeat a company in another spelling, some name none that is known, some name none at all. */
const mixed = Array.from({ length: rowCount }, (_, at) => {
  if (at % 7 === 6) return `https://www.${known(Math.floor(at / 2)).toUpperCase()}/about`
  if (at % 13 === 5) return `unknown-${at}.example`
  return at % 101 === 100 ? '""' : known(at)
})
const plain = (cell: string) => /company-\d+/.exec(cell.toLowerCase())?.[0]
const resolved = new Set(mixed.map(plain).filter((name) => name !== undefined)).size

describe('a run that is killed from outside at any moment', () => {
  it('loses no row, doubles none, and pays for each company once', async () => {
    const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
    const pick = random(seed)
    here.write('in.csv', csv(mixed))
    let killed = 0
    for (let kill = 0; kill < 8; kill++) {
      rmSync(join(here.home, 'out.csv.partial'), { force: true })
      const running = enrich('--fail-on', 'none')
      while (running.exitCode === undefined && !existsSync(join(here.home, 'out.csv.partial'))) await pause(1)
      await pause(pick(40))
      running.kill('SIGKILL')
      if ((await running).signal === 'SIGKILL') killed++
    }
    const last = await enrich('--fail-on', 'none')
    const told = `PROSPECT_TEST_SEED=${seed}, ${killed} killed: ${last.stderr}`
    expect([last.exitCode, told]).toEqual([0, told])
    const rows = here.rows('out.csv')
    const cells = mixed.map((cell) => (cell === '""' ? '' : cell))
    expect(rows.map(({ Website }) => Website)).toEqual(cells)
    expect(rows.map(({ _status }) => _status)).toEqual(
      cells.map((cell) => (cell === '' ? 'invalid' : plain(cell) ? 'found' : 'not_found')),
    )
    const charges = await here.charges()
    expect([charges.length, new Set(charges), told]).toEqual([resolved, new Set([1]), told])
    expect(paid(rows)).toBe(resolved)
    expect(await here.runs()).toMatchObject([{ status: 'finished', done: rowCount, credits: resolved }])
    expect(await here.json('engine', 'ledger', 'verify')).toMatchObject({ ok: true })
  })
})

describe('a run that the credits do not reach', () => {
  it('ends with exit 4, and the same command completes it when there are more', async () => {
    here.write('in.csv', csvOf(rowCount))
    await here.json('engine', 'credits', 'set', '300')
    expect((await here.enrich()).code).toBe(4)
    expect(await here.charges()).toHaveLength(300)
    expect((await here.enrich()).code).toBe(4)
    await here.json('engine', 'credits', 'add', '900')
    expect((await here.enrich()).code).toBe(0)
    expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 200 } })
    const rows = here.rows('out.csv')
    expect(rows.map(({ Website }) => Website)).toEqual(Array.from({ length: rowCount }, (_, at) => known(at)))
    expect([paid(rows), (await here.charges()).length]).toEqual([rowCount, rowCount])
  })
})

describe('a run that is interrupted', () => {
  it('ends with exit 130 and goes on', async () => {
    here.write('in.csv', csvOf(200_000))
    const running = enrich()
    while (running.exitCode === undefined && !existsSync(join(here.home, 'out.csv.partial'))) await pause(1)
    running.kill('SIGINT')
    const { exitCode, stderr } = await running
    const [run] = await here.runs()
    expect([exitCode, run?.status, existsSync(join(here.home, 'out.csv'))]).toEqual([130, 'stopped', false])
    expect(stderr).toContain(`prospect runs resume ${run?.id}`)
    const before = (await here.charges()).length
    expect(run?.credits).toBe(before)
    expect((await here.run('runs', 'resume', run?.id ?? '')).code).toBe(0)
    expect((await here.charges()).length).toBe(rowCount)
  })
})

describe('a run that another process is at', () => {
  it('is left to it, with exit 15; its lock ends with the process', async () => {
    here.write('in.csv', csvOf(200_000))
    const running = enrich()
    while (running.exitCode === undefined && !existsSync(join(here.home, 'out.csv.partial'))) await pause(1)
    const [run] = await here.runs()
    const codes = [
      (await here.enrich()).code,
      (await here.enrich('--fresh')).code,
      (await here.run('runs', 'resume', run?.id ?? '')).code,
      (await here.run('runs', 'forget', run?.id ?? '')).code,
    ]
    const [seen] = await here.runs()
    running.kill('SIGKILL')
    await running
    const [left] = await here.runs()
    expect([codes, seen?.status, left?.status]).toEqual([[15, 15, 15, 15], 'running', 'stopped'])
    expect((await here.run('runs', 'forget', run?.id ?? '')).code).toBe(0)
  })
})
