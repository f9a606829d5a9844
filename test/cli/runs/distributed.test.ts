import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { command } from '../../support/command.js'
import { type Cluster, openCluster } from '../../support/distributed.js'
import { tries } from '../../support/effort.js'
import { emptySchema, type TestDatabase } from '../../support/postgres.js'
import { prospect } from '../../support/processes.js'

const known = Array.from({ length: tries(2_000, 2_000, 100_000) }, (_, at) => `company-${at}.example`)

let database: TestDatabase
let cluster: Cluster

/** Creates a cluster with its own schema, whose catalogue has `companies` companies. */
async function clusterOf(companies: number): Promise<void> {
  database = await emptySchema()
  cluster = await openCluster(prospect, database, known.slice(0, companies))
}

const enrich = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--distribute']

const fileOf = (domains: readonly string[]) => cluster.write('in.csv', `Website\n${domains.join('\n')}\n`)

async function chargedAtLeast(charges: number): Promise<void> {
  while ((await cluster.charges()) < charges) await pause(50)
}

async function expectPaidOnce(domains: readonly string[]): Promise<void> {
  const rows = cluster.rows('out.csv')
  expect(rows.map(({ Website }) => Website)).toEqual(domains)
  for (const { Website = '', domain, _status } of rows)
    expect([domain, _status]).toEqual(Website.startsWith('company-') ? [Website, 'found'] : ['', 'not_found'])
  const price = new Set(domains.filter((domain) => domain.startsWith('company-'))).size
  const told = rows.reduce((sum, { _credits }) => sum + Number(_credits), 0)
  expect([told, await cluster.charges()]).toEqual([price, price])
  expect(await cluster.json('engine', 'ledger', 'verify')).toMatchObject({ ok: true })
  expect(await cluster.sql('SELECT id FROM chunks')).toEqual([])
}

describe('a run distributed over several workers', () => {
  afterEach(async () => {
    await cluster.remove()
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
    const killed = await cluster.worker()
    const running = cluster.start(enrich)
    await chargedAtLeast(tries(60, 300, 20_000))
    await killed.end('SIGKILL')
    await cluster.workerHere()
    // As if the leases of the killed worker had expired.
    await cluster.sql("UPDATE chunks SET lease_until = 0 WHERE state = 'running'")
    const { exitCode, stderr } = await running
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`${rows.toLocaleString('en-US')} rows`)])
    await expectPaidOnce(domains)
  })

  it('stops in order on Ctrl-C, and resumes on another machine', async () => {
    await clusterOf(240)
    const domains = known.slice(0, 240)
    fileOf(domains)
    await cluster.workerHere()
    const running = cluster.start(enrich)
    await chargedAtLeast(50)
    running.kill('SIGINT')
    expect(await running).toMatchObject({ exitCode: 130 })
    expect(await cluster.sql('SELECT run FROM chunk_runs')).toEqual([])
    const written = cluster.rows('out.csv.partial')
    expect(written.map(({ Website }) => Website)).toEqual(domains.slice(0, written.length))
    // Another machine has neither the settings nor the state of the first.
    const elsewhere = { PROSPECT_HOME: join(cluster.folder, 'elsewhere') }
    expect(await cluster.runWith(elsewhere, ...enrich)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('Resuming run'),
    })
    await expectPaidOnce(domains)
  })

  it('resumes on another machine after its command was killed, and leaves no replies behind', async () => {
    await clusterOf(240)
    const domains = known.slice(0, 240)
    fileOf(domains)
    await cluster.workerHere()
    const running = cluster.start(enrich)
    await chargedAtLeast(50)
    running.kill('SIGKILL')
    await running
    // As if its lock had expired.
    await cluster.sql(`UPDATE ${database.name}_state.run_locks SET lease_until = 1`)
    const elsewhere = { PROSPECT_HOME: join(cluster.folder, 'elsewhere') }
    expect(await cluster.runWith(elsewhere, ...enrich)).toMatchObject({ exitCode: 0 })
    await expectPaidOnce(domains)
    expect(await cluster.sql(`SELECT lost_at FROM ${database.name}_state.runs`)).toEqual([{ lost_at: null }])
    expect(await cluster.sql('SELECT place FROM run_replies')).toEqual([])
  })

  it('runs waterfalls on the workers', async () => {
    await clusterOf(0)
    cluster.write(
      'in.csv',
      `First name,Last name,Website\n${known
        .slice(0, 120)
        .map((domain, at) => `Ada,Number${at},${domain}`)
        .join('\n')}\n`,
    )
    await Promise.all([cluster.workerHere(), cluster.workerHere()])
    const find = ['contacts', 'waterfall', '--csv', 'in.csv', '-o', 'out.csv', '--enrichment-type', 'email']
    expect(await cluster.run(...find, '--distribute')).toMatchObject({ exitCode: 0 })
    expect(cluster.rows('out.csv')).toHaveLength(120)
    const [done] = await cluster.sql("SELECT count(*) AS n FROM jobs WHERE state = 'finished'")
    expect(Number(done?.n)).toBe(2)
  })

  it('answers the lookups of a flow, each in the run of its step', async () => {
    await clusterOf(40)
    fileOf([...known.slice(0, 40), 'unknown.example'])
    const steps = '[accounts.enrich, { keep: name != null }, accounts.stack]'
    const flow = `name: all\ninput: { csv: in.csv }\nsteps: ${steps}\noutput: { csv: out.csv, columns: [domain] }\n`
    cluster.write('flow.yaml', flow)
    const running = cluster.run('flow', 'run', 'flow.yaml', '--distribute')
    while ((await cluster.sql('SELECT run FROM chunk_runs')).length === 0) await pause(10)
    expect(await cluster.charges()).toBe(0)
    await cluster.workerHere()
    expect(await running).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('3 accounts.stack: 40 in'),
    })
    expect(cluster.rows('out.csv').map(({ domain }) => domain)).toEqual(known.slice(0, 40))
    expect(await cluster.charges()).toBe(40)
    expect(await cluster.sql('SELECT id FROM chunks')).toEqual([])
  })

  it('warns that no worker takes part', async () => {
    await clusterOf(3)
    fileOf(known.slice(0, 3))
    let aheadMs = 0
    let warned: (text: string) => void = () => {}
    const warning = new Promise<string>((resolve) => {
      warned = (text) => text.includes('prospect worker') && resolve(text)
    })
    const running = command(enrich, {
      env: cluster.env,
      cwd: cluster.folder,
      onErrorOutput: warned,
      clock: { now: () => Date.now() + aheadMs },
    })
    while ((await cluster.sql('SELECT run FROM chunk_runs')).length === 0) await pause(10)
    aheadMs = 10_000
    expect(await warning).toContain('No worker')
    const signals = new EventEmitter() as NodeJS.Process
    const working = command('worker', { env: cluster.env, cwd: cluster.folder, signals })
    expect(await running).toMatchObject({ code: 0 })
    signals.emit('SIGTERM')
    expect(await working).toMatchObject({ code: 0 })
  })
})
