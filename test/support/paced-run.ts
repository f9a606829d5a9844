import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { machine } from './command.js'
import { launch, serving } from './processes.js'

/** What a server was asked, and when it answered. */
export interface Heard {
  readonly path: string
  readonly status: number
  readonly at: number
}

/** Batches of one profile, in processes of their own. */
export interface PacedRun {
  readonly program: string
  /** Home of the server's engine. */
  readonly engine: string
  readonly key: string
  /** The command of a batch, without its files. */
  readonly command: readonly string[]
  readonly processes: number
  /** Rows of each of them. */
  readonly rows: number
}

/** An engine to be served, whose catalogue knows so many companies. */
export interface PacingBench {
  run(batches: Omit<PacedRun, 'engine' | 'key'>): Promise<Paced>
  remove(): void
}

/** Makes the engine of a server that batches are paced against. */
export async function pacingBench(companies: number): Promise<PacingBench> {
  const owner = machine()
  await owner.json('init')
  const lines = Array.from({ length: companies }, (_, at) => `Company ${at},company-${at}.example`)
  await owner.run(['data', 'import', 'companies', '-'], { stdin: `name,domain\n${lines.join('\n')}\n` })
  let members = 0
  return {
    run: async (batches) => {
      // Windows are a member's: nothing of an earlier run is left in those of a new one.
      const member = `member-${++members}@localhost`
      await owner.json('engine', 'members', 'add', member)
      const { key } = await owner.json<{ key: string }>('engine', 'keys', 'create', '--member', member)
      return await pacedRun({ ...batches, engine: owner.home, key })
    },
    remove: owner.remove,
  }
}

/** Seconds between the first and the last answer of a server. */
export function secondsOf(heard: readonly Heard[]): number {
  const times = heard.map(({ at }) => at)
  return (Math.max(...times) - Math.min(...times)) / 1_000
}

/** What came of them. */
export interface Paced {
  readonly exits: readonly (number | undefined)[]
  readonly stderr: string
  /** What the server was asked by the command, in the order of its answers. */
  readonly heard: readonly Heard[]
}

/** Runs batches against a server at once, and records what the server is asked. */
export async function pacedRun({ program, engine, key, command, processes, rows }: PacedRun): Promise<Paced> {
  const home = mkdtempSync(join(tmpdir(), 'prospect-paced-'))
  const server = await serving(program, engine)
  const recorded = await recording(new URL(server.baseUrl))
  const env = { PROSPECT_HOME: home, PROSPECT_BASE_URL: recorded.baseUrl, PROSPECT_API_KEY: key }
  try {
    const ended = await Promise.all(
      Array.from({ length: processes }, (_, at) => {
        const domains = Array.from({ length: rows }, (_, row) => `company-${at * rows + row}.example`)
        writeFileSync(join(home, `in-${at}.csv`), `Website\n${domains.join('\n')}\n`)
        const files = ['--csv', `in-${at}.csv`, '-o', `out-${at}.csv`, '--quiet']
        return launch(program, [...command, ...files], home, env)
      }),
    )
    const stderr = ended.map((one) => one.stderr).join('\n')
    const heard = recorded.heard.filter(({ path }) => path.startsWith('/api/v2/accounts'))
    return { exits: ended.map(({ exitCode }) => exitCode), stderr, heard }
  } finally {
    recorded.close()
    await server.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

/** Passes requests on to a server, and notes its answers. */
async function recording({ hostname, port }: URL) {
  const heard: Heard[] = []
  const between = createServer((incoming, outgoing) => {
    const { method, url: path = '', headers } = incoming
    const to = { hostname, port, method, path, headers: { ...headers, host: `${hostname}:${port}` } }
    const passed = ask(to, (answer) => {
      heard.push({ path, status: answer.statusCode ?? 0, at: performance.now() })
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
  return {
    heard,
    baseUrl: `http://127.0.0.1:${(between.address() as AddressInfo).port}/api/v2`,
    close: () => {
      between.closeAllConnections()
      between.close()
    },
  }
}
