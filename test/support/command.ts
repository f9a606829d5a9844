import { EventEmitter } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import { expect } from 'vitest'
import type { Streams } from '../../src/cli/context/context.js'
import { main } from '../../src/cli/program/main.js'
import type { Overrides } from '../../src/cli/target/create.js'
import { makeFolder } from './new-folder.js'

export { type Asked, answering } from './answering.js'

/** The surroundings of a command. */
export interface Given extends Overrides {
  readonly env?: Streams['env']
  readonly stdin?: string | Uint8Array
  /** Makes stdout and stderr terminals. */
  readonly terminal?: boolean
  readonly columns?: number
  readonly cwd?: string
  readonly signals?: Streams['signals']
  /** Makes stdin and stderr terminals, and types an answer as soon as its question appears. */
  readonly typed?: readonly (readonly [question: string, keys: string])[]
  /** Called with all of stdout after each write. An error it throws is an error of stdout. */
  readonly onOutput?: (text: string) => void
  /** Called with all of stderr after each write. */
  readonly onErrorOutput?: (text: string) => void
}

/** How a command ended. */
export class CommandResult {
  constructor(
    readonly code: number,
    readonly stdout: string,
    readonly stderr: string,
  ) {}

  /** stdout parsed as JSON. Throws when it is something else. */
  get json(): unknown {
    return JSON.parse(this.stdout)
  }
}

/** Returns a stream that keeps what is written to it, and calls `onText` with all of it. */
function memory(extra: object = {}, onText?: (text: string) => void): Writable & { text(): string } {
  const chunks: Buffer[] = []
  const text = () => Buffer.concat(chunks).toString()
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      chunks.push(chunk)
      try {
        onText?.(text())
        done()
      } catch (error) {
        done(error as Error)
      }
    },
  })
  return Object.assign(stream, { text }, extra)
}

const cursor = { cursorTo: () => true, moveCursor: () => true, clearLine: () => true }

/** Returns a terminal at which each answer is typed as soon as its question appears. */
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

/** Returns the streams of a command, in memory. */
export function streamsOf(given: Omit<Given, keyof Overrides> = {}) {
  const {
    env = {},
    stdin = '',
    terminal = false,
    columns = 80,
    cwd = tmpdir(),
    signals,
    typed,
    onOutput,
    onErrorOutput,
  } = given
  const look = terminal ? { isTTY: true, columns, ...cursor } : {}
  const person = typed && typing(typed)
  return {
    stdin: person?.stdin ?? Readable.from([Buffer.from(stdin)]),
    stdout: memory(look, onOutput),
    stderr: person?.stderr ?? memory(look, onErrorOutput),
    env: { NO_COLOR: '1', ...env },
    cwd,
    ...(signals ? { signals } : {}),
  } satisfies Streams
}

/** A command as it is typed after `prospect`, or its words. */
export type Line = string | readonly string[]

/** Returns the words of a line, which is divided at spaces and has quotes as in a shell. */
export const wordsOf = (line: Line): readonly string[] =>
  typeof line === 'string'
    ? (line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []).map((word) =>
        word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'),
      )
    : line

/** Runs a command in this process, with its own streams. */
export async function command(line: Line, given: Given = {}): Promise<CommandResult> {
  const { env, stdin, terminal, columns, cwd, signals, typed, onOutput, onErrorOutput, ...world } = given
  const streams = streamsOf(given)
  const code = await main(wordsOf(line), streams, world)
  return new CommandResult(code, streams.stdout.text(), streams.stderr.text())
}

/** A command that runs until a signal. */
export interface StartedCommand {
  /** The first line of stdout. */
  readonly line: string
  /** Sends a signal, SIGTERM by default, to the commands of the machine. */
  stop(signal?: string): Promise<CommandResult>
}

/** A home folder for several commands. */
export type Machine = ReturnType<typeof machine>

/** Creates a machine, with an empty home unless one is given, and variables that all of its commands have. */
export function machine(home: string = makeFolder(), always: Readonly<Record<string, string>> = {}) {
  const signals = new EventEmitter()
  const path = (name: string) => join(home, name)
  const read = (name: string) => readFileSync(path(name), 'utf8')
  /** Runs a command; with a fake target, under a key that nothing else accepts. */
  const run = (line: Line, { env = {}, ...given }: Given = {}) =>
    command(line, {
      cwd: home,
      signals: signals as unknown as NodeJS.Process,
      ...given,
      env: {
        PROSPECT_HOME: home,
        ...always,
        ...(given.caller ? { PROSPECT_API_KEY: canary } : {}),
        ...env,
      },
    })
  /** Runs a line, or words, with `--json` and returns what was printed. Throws when the command fails. */
  const json = async <T>(...line: string[]) => {
    const words = line.length === 1 ? wordsOf(line[0] ?? '') : line
    const result = await run([...words, '--json'])
    if (result.code !== 0) throw new Error(`exit ${result.code}: ${result.stderr}`)
    return result.json as T
  }
  /** Starts a command that runs until a signal. Rejects with its stderr when it ends without output. */
  const start = (line: Line, given?: Given) =>
    new Promise<StartedCommand>((resolve, reject) => {
      const stop = (signal = 'SIGTERM') => {
        signals.emit(signal)
        return ended
      }
      const onOutput = (text: string) =>
        text.includes('\n') && resolve({ line: text.slice(0, text.indexOf('\n')), stop })
      const ended = run(line, { ...given, onOutput })
      ended.then(({ stderr }) => reject(new Error(stderr)), reject)
    })
  const setUp = async (given?: Given): Promise<void> => {
    const { code, stderr } = await run('init --yes --quiet', given)
    if (code !== 0) throw new Error(stderr)
  }
  return {
    home,
    /** Signals to the commands that run here. */
    signals,
    run,
    json,
    start,
    path,
    exists: (name: string) => existsSync(path(name)),
    read,
    write: (name: string, content: string | Uint8Array, mode?: number) =>
      writeFileSync(path(name), content, mode === undefined ? {} : { mode }),
    /** The rows of a CSV file by the names of its columns. */
    rows: (name: string): Record<string, string>[] => parse(read(name), { columns: true, bom: true }),
    /** Creates a workspace for practice, with 1,000 credits and no data, where there is none. */
    setUp,
    /** Imports records into the catalogue of a workspace for practice. */
    fill: async (kind: string, records: string | Uint8Array) => {
      await setUp()
      return run(`data import ${kind} -`, { stdin: records })
    },
    /** The credits that the workspace has left. */
    balance: async (given: Given = {}) => {
      const { json: shown } = await run('credits --json', given)
      return (shown as { credits: { enrichment: number } }).credits.enrichment
    },
    /** Creates an API key of a member. */
    newKey: async (member = 'me@localhost', given: Given = {}) => {
      const { json: made } = await run(`engine keys create --member ${member} --json`, given)
      return (made as { key: string }).key
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

/** Creates a machine with a workspace for practice, which has no data. */
export async function practiceMachine(home?: string): Promise<Machine> {
  const here = machine(home)
  await here.setUp()
  return here
}

/** Creates a machine with a workspace for practice, whose catalogue has one company: Sole Ltd of sole.example. */
export async function stockedMachine(home?: string): Promise<Machine> {
  const here = await practiceMachine(home)
  await ends(here.fill('companies', 'name,domain\nSole Ltd,sole.example\n'), 0)
  return here
}

/** Expects how a command ends and what it says on stderr, and returns the rest. */
export async function ends(
  running: Promise<CommandResult>,
  code: number,
  ...says: readonly (string | RegExp)[]
): Promise<CommandResult> {
  const result = await running
  expect([result.code, result.stderr]).toEqual([code, expect.any(String)])
  for (const part of says)
    expect(result.stderr).toEqual(
      typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part),
    )
  return result
}

/** Returns the error object that a command printed as the last line of stderr. */
export const errorOf = ({ stderr }: Pick<CommandResult, 'stderr'>): Record<string, unknown> =>
  JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>

/** A well-formed API key that nothing accepts. */
export const canary = 'pk_Canary0Canary0Canary0Canary0Canary0Ca'

/** The environment of a command with a fake target, for which no engine is opened. */
export const keyed = (home: string): Record<string, string> => ({
  PROSPECT_HOME: home,
  PROSPECT_API_KEY: canary,
})
