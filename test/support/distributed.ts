import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { openEngine } from '../../src/index.js'
import { command } from './command.js'
import { randomIds } from './engine.js'
import { launch } from './processes.js'

/** A database that several processes share. */
interface Shared {
  readonly url: string
  sql(text: string): Promise<readonly Record<string, unknown>[]>
}

/** Processes that share a database, in one folder. */
export interface Cluster {
  readonly folder: string
  readonly url: string
  /** The environment of its commands. */
  readonly env: Readonly<Record<string, string>>
  /** Starts a command of the program. The caller waits for it or kills it. */
  start(argv: readonly string[], env?: Readonly<Record<string, string>>): Started
  /** Starts a worker; resolves when it works. */
  worker(...more: readonly string[]): Promise<Working>
  /** Starts a worker that nobody kills. */
  workerHere(): Promise<void>
  /** Runs a command to its end. */
  run(...argv: string[]): Promise<Ended>
  /** Runs a command with more environment. */
  runWith(env: Readonly<Record<string, string>>, ...argv: string[]): Promise<Ended>
  json<T>(...argv: string[]): Promise<T>
  write(name: string, text: string): void
  rows(name: string): OutputRow[]
  /** Charges that are on record. */
  charges(): Promise<number>
  sql: Shared['sql']
  remove(): Promise<void>
}

/** How a command ended. */
interface Ended {
  readonly exitCode?: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** A row of an output. */
type OutputRow = Readonly<Record<string, string>>

/** A worker that works. */
export interface Working {
  /** Ends it, and resolves when it has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

export type Started = ReturnType<typeof launch>

/** Makes a workspace in a database, with a catalogue that knows some companies. */
export async function openCluster(
  program: string,
  shared: Shared,
  domains: readonly string[],
): Promise<Cluster> {
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
  const living: Started[] = []
  const start: Cluster['start'] = (argv, more = {}) => {
    const started = launch(program, argv, folder, { ...env, ...more })
    living.push(started)
    return started
  }
  const runWith: Cluster['runWith'] = async (more, ...argv) => {
    const { code, stdout, stderr } = await command(argv, { env: { ...env, ...more }, cwd: folder })
    return { exitCode: code, stdout, stderr }
  }
  const run: Cluster['run'] = (...argv) => runWith({}, ...argv)
  const worker: Cluster['worker'] = async (...more) => {
    const started = start(['worker', ...more])
    await new Promise<void>((resolve) => started.stderr.once('data', () => resolve()))
    return {
      end: async (signal) => {
        started.kill(signal)
        await started
      },
    }
  }
  const signals = new EventEmitter() as NodeJS.Process
  const working: Promise<unknown>[] = []
  return {
    folder,
    url: shared.url,
    env,
    sql: shared.sql,
    start,
    worker,
    run,
    runWith,
    workerHere: () =>
      new Promise((resolve) => {
        working.push(command(['worker'], { env, cwd: folder, signals, onErrorOutput: () => resolve() }))
      }),
    json: async <T>(...argv: string[]) => JSON.parse((await run(...argv, '--json')).stdout) as T,
    write: (name, text) => writeFileSync(join(folder, name), text),
    rows: (name) => parse(readFileSync(join(folder, name)), { columns: true }) as OutputRow[],
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
