import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { openEngine } from '../../../src/index.js'
import { ends, type Machine, machine, wordsOf } from '../../support/command.js'
import { tries } from '../../support/effort.js'
import { randomIds } from '../../support/engine.js'
import { emptySchema, type TestDatabase } from '../../support/postgres.js'
import { launch, prospect } from '../../support/processes.js'

const known = Array.from({ length: tries(2_000, 2_000, 100_000) }, (_, at) => `company-${at}.example`)

let database: TestDatabase
let here: Machine
let env: Record<string, string>
const living: ReturnType<typeof launch>[] = []
const working: Promise<unknown>[] = []

/** Makes a workspace in a schema of its own, whose catalogue has so many companies. */
async function clusterOf(companies: number): Promise<void> {
  database = await emptySchema()
  here = machine()
  const { admin, catalogue, close } = await openEngine({ engine: database.url, ids: randomIds })
  const { key = '' } = await admin.init()
  await admin.setCredits(1_000_000)
  const records = known.slice(0, companies).map((domain) => ({ domain, name: `Name of ${domain}` }))
  if (companies > 0) await catalogue.importRecords('companies', records)
  await close()
  env = { PROSPECT_HOME: here.home, PROSPECT_DATABASE_URL: database.url, PROSPECT_API_KEY: key }
}

const run = (argv: readonly string[], more: Record<string, string> = {}) =>
  here.run(argv, { env: { ...env, ...more } })
const json = async <T>(line: string) => (await run(wordsOf(`${line} --json`))).json as T

/** Starts a command as a process. The caller waits for it or kills it. */
function start(argv: readonly string[]) {
  const started = launch(prospect, argv, here.home, env)
  living.push(started)
  return started
}

/** Starts a worker that nobody kills. */
const startWorker = () =>
  new Promise<void>((resolve) => {
    working.push(here.run('worker', { env, onErrorOutput: () => resolve() }))
  })

/** Returns the charges that are on record. */
async function countCharges(): Promise<number> {
  const [found] = await database.sql("SELECT count(*) AS n FROM movements WHERE kind = 'charge'")
  return Number(found?.n)
}

const enrich = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--distribute']

const fileOf = (domains: readonly string[]) => here.write('in.csv', `Website\n${domains.join('\n')}\n`)

async function chargedAtLeast(charges: number): Promise<void> {
  while ((await countCharges()) < charges) await pause(50)
}

async function expectPaidOnce(domains: readonly string[]): Promise<void> {
  const rows = here.rows('out.csv')
  expect(rows.map(({ Website }) => Website)).toEqual(domains)
  for (const { Website = '', domain, _status } of rows)
    expect([domain, _status]).toEqual(Website.startsWith('company-') ? [Website, 'found'] : ['', 'not_found'])
  const price = new Set(domains.filter((domain) => domain.startsWith('company-'))).size
  const told = rows.reduce((sum, { _credits }) => sum + Number(_credits), 0)
  expect([told, await countCharges()]).toEqual([price, price])
  expect(await json('engine ledger verify')).toMatchObject({ ok: true })
  expect(await database.sql('SELECT id FROM chunks')).toEqual([])
}

describe('a run distributed over several workers', () => {
  afterEach(async () => {
    here.signals.emit('SIGTERM')
    for (const one of living) one.kill('SIGKILL')
    await Promise.all([...living.splice(0), ...working.splice(0)])
    here.remove()
    await database.drop()
  })

  it('loses no row and pays for none twice when a worker is killed', async () => {
    const rows = tries(300, known.length)
    await clusterOf(rows)
    const domains = known.slice(0, rows).map((domain, at) => {
      if (at % 11 === 5) return `unknown-${at}.example`
      return at % 7 === 6 ? (known[at >> 1] ?? '') : domain
    })
    fileOf(domains)
    const killed = start(['worker'])
    await once(killed.stderr, 'data')
    const running = start(enrich)
    await chargedAtLeast(tries(60, 300, 20_000))
    killed.kill('SIGKILL')
    await killed
    await startWorker()
    // As if the leases of the killed worker had expired.
    await database.sql("UPDATE chunks SET lease_until = 0 WHERE state = 'running'")
    const { exitCode, stderr } = await running
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`${rows.toLocaleString('en-US')} rows`)])
    await expectPaidOnce(domains)
  })

  it('stops in order on Ctrl-C, and resumes on another machine', async () => {
    await clusterOf(240)
    const domains = known.slice(0, 240)
    fileOf(domains)
    await startWorker()
    const running = start(enrich)
    await chargedAtLeast(50)
    running.kill('SIGINT')
    expect(await running).toMatchObject({ exitCode: 130 })
    expect(await database.sql('SELECT run FROM chunk_runs')).toEqual([])
    const written = here.rows('out.csv.partial')
    expect(written.map(({ Website }) => Website)).toEqual(domains.slice(0, written.length))
    // Another machine has neither the settings nor the state of the first.
    const elsewhere = { PROSPECT_HOME: here.path('elsewhere') }
    await ends(run(enrich, elsewhere), 0, 'Resuming run')
    await expectPaidOnce(domains)
  })

  it('resumes on another machine after its command was killed, and leaves no replies behind', async () => {
    await clusterOf(240)
    const domains = known.slice(0, 240)
    fileOf(domains)
    await startWorker()
    const running = start(enrich)
    await chargedAtLeast(50)
    running.kill('SIGKILL')
    await running
    // As if its lock had expired.
    await database.sql(`UPDATE ${database.name}_state.run_locks SET lease_until = 1`)
    const elsewhere = { PROSPECT_HOME: here.path('elsewhere') }
    await ends(run(enrich, elsewhere), 0)
    await expectPaidOnce(domains)
    expect(await database.sql(`SELECT lost_at FROM ${database.name}_state.runs`)).toEqual([{ lost_at: null }])
    expect(await database.sql('SELECT place FROM run_replies')).toEqual([])
  })

  it('runs waterfalls on the workers', async () => {
    await clusterOf(0)
    here.write(
      'in.csv',
      `First name,Last name,Website\n${known
        .slice(0, 120)
        .map((domain, at) => `Ada,Number${at},${domain}`)
        .join('\n')}\n`,
    )
    await Promise.all([startWorker(), startWorker()])
    const find = ['contacts', 'waterfall', '--csv', 'in.csv', '-o', 'out.csv', '--enrichment-type', 'email']
    await ends(run([...find, '--distribute']), 0)
    expect(here.rows('out.csv')).toHaveLength(120)
    const [done] = await database.sql("SELECT count(*) AS n FROM jobs WHERE state = 'finished'")
    expect(Number(done?.n)).toBe(2)
  })

  it('answers the lookups of a flow, each in the run of its step', async () => {
    await clusterOf(40)
    fileOf([...known.slice(0, 40), 'unknown.example'])
    const steps = '[accounts.enrich, { keep: name != null }, accounts.stack]'
    const flow = `name: all\ninput: { csv: in.csv }\nsteps: ${steps}\noutput: { csv: out.csv, columns: [domain] }\n`
    here.write('flow.yaml', flow)
    const running = run(['flow', 'run', 'flow.yaml', '--distribute'])
    while ((await database.sql('SELECT run FROM chunk_runs')).length === 0) await pause(10)
    expect(await countCharges()).toBe(0)
    await startWorker()
    await ends(running, 0, '3 accounts.stack: 40 in')
    expect(here.rows('out.csv').map(({ domain }) => domain)).toEqual(known.slice(0, 40))
    expect(await countCharges()).toBe(40)
    expect(await database.sql('SELECT id FROM chunks')).toEqual([])
  })

  it('warns that no worker takes part', async () => {
    await clusterOf(3)
    fileOf(known.slice(0, 3))
    let aheadMs = 0
    const warning = Promise.withResolvers<string>()
    const onErrorOutput = (text: string) => text.includes('prospect worker') && warning.resolve(text)
    const running = here.run(enrich, { env, onErrorOutput, clock: { now: () => Date.now() + aheadMs } })
    while ((await database.sql('SELECT run FROM chunk_runs')).length === 0) await pause(10)
    aheadMs = 10_000
    expect(await warning.promise).toContain('No worker')
    const worker = here.run('worker', { env })
    await ends(running, 0)
    here.signals.emit('SIGTERM')
    await ends(worker, 0)
  })
})
