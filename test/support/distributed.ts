import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { openEngine } from '../../src/index.js'
import { command } from './command.js'
import { randomIds } from './engine.js'
import type { TestDatabase } from './postgres.js'
import { launch } from './processes.js'

/** Processes that share a database, in one folder. */
export type Cluster = Awaited<ReturnType<typeof openCluster>>

/** Makes a workspace in a database, with a catalogue that knows some companies. */
export async function openCluster(
  program: string,
  shared: Pick<TestDatabase, 'url' | 'sql'>,
  domains: readonly string[],
) {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-cluster-'))
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const { admin, catalogue, close } = await openEngine({ engine: shared.url, ids: randomIds })
  const { key = '' } = await admin.init()
  await admin.setCredits(1_000_000)
  const records = domains.map((domain) => ({ domain, name: `Name of ${domain}` }))
  if (records.length > 0) await catalogue.importRecords('companies', records)
  await close()
  const env = { PROSPECT_HOME: home, PROSPECT_DATABASE_URL: shared.url, PROSPECT_API_KEY: key }
  const living: ReturnType<typeof launch>[] = []
  /** Starts a command of the program. The caller waits for it or kills it. */
  const start = (argv: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const started = launch(program, argv, folder, { ...env, ...more })
    living.push(started)
    return started
  }
  /** Runs a command to its end, with more environment. */
  const runWith = async (more: Readonly<Record<string, string>>, ...argv: string[]) => {
    const { code, stdout, stderr } = await command(argv, { env: { ...env, ...more }, cwd: folder })
    return { exitCode: code, stdout, stderr }
  }
  const run = (...argv: string[]) => runWith({}, ...argv)
  /** Starts a worker; resolves when it works. */
  const worker = async () => {
    const started = start(['worker'])
    await new Promise<void>((resolve) => started.stderr.once('data', () => resolve()))
    return {
      /** Ends it, and resolves when it has ended. */
      end: async (signal: 'SIGKILL' | 'SIGTERM') => {
        started.kill(signal)
        await started
      },
    }
  }
  const signals = new EventEmitter() as NodeJS.Process
  const working: Promise<unknown>[] = []
  return {
    folder,
    env,
    sql: shared.sql,
    start,
    worker,
    run,
    runWith,
    /** Starts a worker that nobody kills. */
    workerHere: () =>
      new Promise<void>((resolve) => {
        working.push(command(['worker'], { env, cwd: folder, signals, onErrorOutput: () => resolve() }))
      }),
    json: async <T>(...argv: string[]) => JSON.parse((await run(...argv, '--json')).stdout) as T,
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
    rows: (name: string): Readonly<Record<string, string>>[] =>
      parse(readFileSync(join(folder, name)), { columns: true }),
    /** Charges that are on record. */
    charges: async () => {
      const [found] = await shared.sql("SELECT count(*) AS n FROM movements WHERE kind = 'charge'")
      return Number(found?.n)
    },
    remove: async () => {
      signals.emit('SIGTERM')
      for (const one of living) one.kill('SIGKILL')
      await Promise.all([...living, ...working])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
