import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { command, type Machine, machine } from '../../support/command.js'
import { launch } from '../../support/processes.js'

/** How a batch reaches the engine: in its own process, or through a server. */
export type Reach = 'local' | 'governed' | 'direct'

export const reaches: readonly Reach[] = ['local', 'governed', 'direct']

type OutputRow = Readonly<Record<string, string>>

/** How a command ended. */
export interface Ended {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  readonly stdout: string
  readonly stderr: string
}

/** A client that runs batches in separate processes, and the engine that answers them. */
export interface Reached {
  readonly home: string
  /** Runs a command to its end. */
  run(...argv: string[]): Promise<Ended>
  /** Runs a command in a process and kills it after `writes` writes of the engine. */
  killed(writes: number, ...argv: string[]): Promise<Ended>
  json<T>(...argv: string[]): Promise<T>
  /** Runs an `engine` command on the machine of the engine. */
  engine<T>(...argv: string[]): Promise<T>
  /** Returns the amount of each charge in the engine's ledger. */
  charges(): Promise<number[]>
  write(name: string, text: string): void
  rows(name: string): OutputRow[]
  close(): Promise<void>
}

/** Creates an engine whose catalogue is filled once and copied for each test. */
export async function engineWith(fill: (owner: Machine) => Promise<void>) {
  const owner = machine()
  await owner.json('init')
  await fill(owner)
  const key = await owner.newKey()
  return {
    reach: (program: string, how: Reach) => reached(program, how, owner.home, key),
    remove: owner.remove,
  }
}

async function reached(program: string, how: Reach, filled: string, key: string): Promise<Reached> {
  const owner = machine()
  cpSync(filled, owner.home, { recursive: true })
  const home = how === 'local' ? owner.home : mkdtempSync(join(tmpdir(), 'prospect-client-'))
  const server = how === 'local' ? undefined : await served(owner)
  const env = {
    PROSPECT_HOME: home,
    ...(server ? { PROSPECT_BASE_URL: server.baseUrl, PROSPECT_API_KEY: key } : {}),
  }
  const more = how === 'direct' ? ['--direct'] : []
  const start = (argv: readonly string[]) => launch(program, [...argv, ...more], home, env)
  const run = async (...argv: string[]): Promise<Ended> => {
    const { code, stdout, stderr } = await command([...argv, ...more], { env, cwd: home })
    return { exitCode: code, signal: undefined, stdout, stderr }
  }
  return {
    home,
    run,
    killed: async (writes, ...argv) => {
      const running = start(argv)
      await written(owner.path('engine.db-wal'), writes, () => running.nodeChildProcess.exitCode === null)
      running.kill('SIGKILL')
      return endOf(await running)
    },
    json: async <T>(...argv: string[]) => JSON.parse((await run(...argv, '--json')).stdout) as T,
    engine: (...argv) => owner.json('engine', ...argv),
    charges: async () => {
      const movements = await owner.json<{ kind: string; amount: number }[]>('engine ledger')
      return movements
        .filter(({ kind }) => kind === 'charge' || kind === 'settle')
        .map(({ amount }) => amount)
    },
    write: (name, text) => writeFileSync(join(home, name), text),
    rows: (name) => parse(readFileSync(join(home, name), 'utf8'), { columns: true }) as OutputRow[],
    close: async () => {
      await server?.stop()
      owner.remove()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Starts `prospect serve` over the home of a machine. */
async function served(owner: Machine) {
  const { line, stop } = await owner.start('serve --port 0 --json')
  return { baseUrl: (JSON.parse(line) as { base_url: string }).base_url, stop: () => stop() }
}

const endOf = ({ exitCode, signal, stdout, stderr }: Partial<Ended>): Ended => ({
  exitCode,
  signal,
  stdout: String(stdout),
  stderr: String(stderr),
})

/** Resolves when a file has changed `times` times, its writer has ended, or 4 s have passed. */
export async function written(path: string, times: number, isRunning: () => boolean): Promise<void> {
  const last = () => statSync(path, { throwIfNoEntry: false })?.mtimeMs
  const giveUp = performance.now() + 4_000
  for (let left = times, before = last(); left > 0 && isRunning() && performance.now() < giveUp; ) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    const now = last()
    if (now !== before) left--
    before = now
  }
}
