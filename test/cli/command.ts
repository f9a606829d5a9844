import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { Caller, CallOptions, Input, Reply } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import type { Streams } from '../../src/cli/context/context.js'
import { main } from '../../src/cli/program/main.js'
import type { Overrides } from '../../src/cli/target/create.js'

/** What a test gives to a command. */
export interface Given extends Overrides {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** stdout and stderr are terminals. */
  readonly terminal?: boolean
  readonly columns?: number
  readonly cwd?: string
  readonly signals?: Streams['signals']
}

/** How a command ended. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A stream that remembers what was written. */
export function memory(extra: object = {}): Writable & { text(): string } {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      chunks.push(chunk)
      done()
    },
  })
  return Object.assign(stream, { text: () => Buffer.concat(chunks).toString() }, extra)
}

const cursor = { cursorTo: () => true, moveCursor: () => true, clearLine: () => true }

/** Runs a command in this process with streams of its own. */
export async function command(argv: readonly string[], given: Given = {}): Promise<Ended> {
  const { env = {}, stdin = '', terminal = false, columns = 80, cwd = tmpdir(), signals, ...world } = given
  const look = terminal ? { isTTY: true, columns, ...cursor } : {}
  const stdout = memory(look)
  const stderr = memory(look)
  const streams: Streams = {
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout,
    stderr,
    env: { NO_COLOR: '1', ...env },
    cwd,
    ...(signals ? { signals } : {}),
  }
  const code = await main(argv, streams, world)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** The error object a command told on stderr: its last line. */
export const errorOf = ({ stderr }: Ended): Record<string, unknown> =>
  JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>

/** A call that reached the target. */
export interface Asked {
  readonly id: OperationId
  readonly input: Input
  readonly options: CallOptions
}

/** A target that answers from a list (the last answer stays) and remembers what it was asked. */
export function answering(...replies: readonly Partial<Reply>[]): Caller & { readonly asked: Asked[] } {
  const asked: Asked[] = []
  return {
    asked,
    call: async (id, input, options = {}) => {
      asked.push({ id, input: typeof input === 'function' ? await input() : input, options })
      const reply = replies[Math.min(asked.length, replies.length) - 1]
      return { status: 200, body: {}, headers: {}, credits: 0, ...reply }
    },
    close: async () => {},
  }
}

/** A key that has the form of one and opens nothing. */
export const canary = 'pk_Canary0Canary0Canary0Canary0Canary0Ca'

/** A home with a fake target in front of it: no engine is opened. */
export const keyed = (home: string): Record<string, string> => ({
  PROSPECT_HOME: home,
  PROSPECT_API_KEY: canary,
})

/** A folder of the test's own. */
export const folder = (): Promise<string> => mkdtemp(join(tmpdir(), 'prospect-cli-'))

/** Removes a folder of the test's own. */
export const removed = (path: string): Promise<void> => rm(path, { recursive: true, force: true })
