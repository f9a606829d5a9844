import { rmSync, symlinkSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../client/listeners.js'
import { served } from '../../client/serving.js'
import { ends } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { random } from '../../support/killed-batch.js'
import { launch, prospect } from '../../support/processes.js'
import { until } from '../../support/until.js'
import { csv, csvOf, known, machines, paid, written } from './paying.js'

const rowCount = tries(200, 1_000)
const filled = perFile(() => machines(rowCount, 5 * rowCount))

const here = perTest(() => filled.copy())

const enrich = (more: string) => {
  const argv = `accounts enrich --csv in.csv -o out.csv ${more}`.split(' ')
  return launch(prospect, argv, here.home, { PROSPECT_HOME: here.home })
}

/** Resolves when a process has opened its output, before its first paid row, or has ended. */
async function begun(running: ReturnType<typeof enrich>): Promise<void> {
  while (running.nodeChildProcess.exitCode === null && !here.exists('out.csv.partial')) await pause(1)
}

/** Resolves after `times` writes of the engine, possibly of a charge that no run has recorded yet. */
const charging = (running: ReturnType<typeof enrich>, times: number): Promise<void> =>
  written(here.path('engine.db-wal'), times, () => running.nodeChildProcess.exitCode === null)

/** Known companies mixed with duplicates in another spelling, unknown companies and empty rows. */
const mixed = Array.from({ length: rowCount }, (_, at) => {
  if (at % 7 === 6) return `https://www.${known(Math.floor(at / 2)).toUpperCase()}/about`
  if (at % 13 === 5) return `unknown-${at}.example`
  return at % 101 === 100 ? '""' : known(at)
})
const plain = (cell: string) => /company-\d+/.exec(cell.toLowerCase())?.[0]
const resolved = new Set(mixed.map(plain).filter((name) => name !== undefined)).size

describe('a run whose process is killed', () => {
  it('resumes a run killed at random moments without losing, doubling or paying twice for a row', async () => {
    const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
    const pick = random(seed)
    here.write('in.csv', csv(mixed))
    let killed = 0
    for (let kill = 0; kill < tries(1, 3); kill++) {
      rmSync(here.path('out.csv.partial'), { force: true })
      const running = enrich('--fail-on none')
      await begun(running)
      await charging(running, pick(12))
      running.kill('SIGKILL')
      if ((await running).signal === 'SIGKILL') killed++
    }
    const last = await here.enrich('--fail-on none')
    const told = `PROSPECT_TEST_SEED=${seed}, ${killed} killed: ${last.stderr}`
    expect([last.code, told]).toEqual([0, told])
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
    expect(await here.json('engine ledger verify')).toMatchObject({ ok: true })
  })
})

describe('a killed run with a budget', () => {
  it('spends exactly its budget although the run is killed', async () => {
    here.write('in.csv', csvOf(rowCount))
    const credits = 0.6 * rowCount
    const budget = `--max-credits ${credits}`
    for (let kill = 0; kill < tries(1, 2); kill++) {
      rmSync(here.path('out.csv.partial'), { force: true })
      const running = enrich(budget)
      await begun(running)
      await charging(running, 3 * kill + 1)
      running.kill('SIGKILL')
      await running
      expect((await here.charges()).length).toBeLessThanOrEqual(credits)
    }
    expect((await here.enrich(budget)).code).toBe(12)
    expect(await here.charges()).toHaveLength(credits)
  })
})

describe('two processes with the same run', () => {
  it('exits 15 in a second process until the first one is killed', async () => {
    const { bench, server } = closeAfterTest(await served())
    await bench.admin.addFault({ where: 'accounts.enrich', rules: { timeout: true } })
    const isAsked = async () => ((await bench.admin.faults())[0]?.fired ?? 0) > 0
    const env = {
      PROSPECT_HOME: here.home,
      PROSPECT_BASE_URL: server.baseUrl,
      PROSPECT_API_KEY: bench.key,
    }
    const argv = (output: string, input = 'in.csv') => `accounts enrich --csv ${input} -o ${output}`
    const start = (output: string) => launch(prospect, argv(output).split(' '), here.home, env)
    here.write('in.csv', csvOf(3))
    const first = start('out.csv')
    await Promise.race([until(isAsked), first])
    expect(first.nodeChildProcess.exitCode).toBeNull()
    await ends(here.run(argv('other.csv'), { env }), 15, `process ${first.pid}`)
    expect(here.exists('other.csv.partial')).toBe(false)
    here.write('else.csv', csvOf(4))
    symlinkSync(here.home, here.path('linked'))
    for (const same of ['out.csv', 'linked/out.csv']) {
      await ends(here.run(argv(same, 'else.csv'), { env }), 15, 'out.csv')
    }
    first.kill('SIGKILL')
    await first
    const third = start('out.csv')
    await new Promise<void>((resolve) => {
      third.stderr.on('data', (text: Buffer) => String(text).includes('Resuming run') && resolve())
      void third.then(() => resolve())
    })
    expect(third.nodeChildProcess.exitCode).toBeNull()
    third.kill('SIGKILL')
    await third
  })
})
