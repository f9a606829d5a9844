import { EventEmitter } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import type { Caller, CallOptions, Input, Reply } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import type { Streams } from '../../src/cli/context/context.js'
import { main } from '../../src/cli/program/main.js'
import type { Overrides } from '../../src/cli/target/create.js'

/** What a command of a test is given. */
export interface Given extends Overrides {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Makes stdout and stderr terminals. */
  readonly terminal?: boolean
  readonly columns?: number
  readonly cwd?: string
  readonly signals?: Streams['signals']
  /** A person at a terminal: what is typed when a question appears on stderr. */
  readonly typed?: readonly (readonly [question: string, keys: string])[]
  /** Is given all of stdout, whenever something is written there. */
  readonly onOutput?: (text: string) => void
}

/** How a command ended. */
export class CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string

  constructor(code: number, stdout: string, stderr: string) {
    this.code = code
    this.stdout = stdout
    this.stderr = stderr
  }

  /** stdout parsed as JSON. Throws when it is something else. */
  get json(): unknown {
    return JSON.parse(this.stdout)
  }
}

/** Returns a stream that keeps what is written to it, and gives all of it to `onText` each time. */
export function memory(extra: object = {}, onText?: (text: string) => void): Writable & { text(): string } {
  const chunks: Buffer[] = []
  const text = () => Buffer.concat(chunks).toString()
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      chunks.push(chunk)
      onText?.(text())
      done()
    },
  })
  return Object.assign(stream, { text }, extra)
}

const cursor = { cursorTo: () => true, moveCursor: () => true, clearLine: () => true }

/** Both sides of a terminal at which each answer is typed as soon as its question appears. */
function typing(typed: NonNullable<Given['typed']>) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const waiting = [...typed]
  const hear = (text: string) => {
    if (!text.includes(waiting[0]?.[0] ?? '\0')) return
    const keys = waiting.shift()?.[1] ?? ''
    setImmediate(() => stdin.write(keys))
  }
  // A prompt ends the stream that it wrote to; a terminal stays open.
  return { stdin, stderr: memory({ isTTY: true, end: () => {} }, hear) }
}

/** Runs a command in this process, with its own streams. */
export async function command(argv: readonly string[], given: Given = {}): Promise<CommandResult> {
  const {
    env = {},
    stdin = '',
    terminal = false,
    columns = 80,
    cwd = tmpdir(),
    signals,
    typed,
    ...rest
  } = given
  const { onOutput, ...world } = rest
  const look = terminal ? { isTTY: true, columns, ...cursor } : {}
  const person = typed && typing(typed)
  const stdout = memory(look, onOutput)
  const stderr = person?.stderr ?? memory(look)
  const streams: Streams = {
    stdin: person?.stdin ?? Readable.from([Buffer.from(stdin)]),
    stdout,
    stderr,
    env: { NO_COLOR: '1', ...env },
    cwd,
    ...(signals ? { signals } : {}),
  }
  const code = await main(argv, streams, world)
  return new CommandResult(code, stdout.text(), stderr.text())
}

/** A home folder for several commands. */
export interface Machine {
  readonly home: string
  /** Signals to the commands that run here. */
  readonly signals: EventEmitter
  run(argv: readonly string[], given?: Pick<Given, 'stdin' | 'env' | 'typed'>): Promise<CommandResult>
  /** Runs with `--json` and returns what was printed. Throws when the command fails. */
  json<T>(...argv: string[]): Promise<T>
  remove(): void
}

/** Makes a machine; `onOutput` is given stdout while a command is still running. */
export function machine(onOutput?: (text: string) => void): Machine {
  const home = mkdtempSync(join(tmpdir(), 'prospect-'))
  const signals = new EventEmitter()
  const run: Machine['run'] = (argv, { env = {}, ...given } = {}) =>
    command(argv, {
      ...given,
      ...(onOutput ? { onOutput } : {}),
      env: { PROSPECT_HOME: home, ...env },
      cwd: home,
      signals: signals as unknown as NodeJS.Process,
    })
  return {
    home,
    signals,
    run,
    json: async <T>(...argv: string[]) => {
      const result = await run([...argv, '--json'])
      if (result.code !== 0) throw new Error(`exit ${result.code}: ${result.stderr}`)
      return result.json as T
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

/** The error object that a command printed on stderr: its last line. */
export const errorOf = ({ stderr }: Pick<CommandResult, 'stderr'>): Record<string, unknown> =>
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
      asked.push({ id, input, options })
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
