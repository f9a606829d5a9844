import { EventEmitter } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { main } from '../../../src/cli/program/main.js'

/** How a command ended and what it said. */
export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** stdout read as JSON. */
  readonly json: unknown
}

/** What a command is given. */
export interface Given {
  readonly stdin?: string
  readonly env?: Record<string, string>
  /** A person at a terminal: what is typed when a question shows up on stderr. */
  readonly typed?: readonly (readonly [question: string, keys: string])[]
}

/** A machine of its own: one folder, thrown away at the end. */
export interface Machine {
  readonly home: string
  /** Signals to the commands that run here. */
  readonly signals: EventEmitter
  run(argv: readonly string[], given?: Given): Promise<Outcome>
  /** Runs with `--json` and answers what stdout held; fails when the command does. */
  json<T>(...argv: string[]): Promise<T>
  remove(): void
}

class Sink extends Writable {
  text = ''
  readonly #heard: (text: string) => void

  constructor(heard: (text: string) => void = () => {}) {
    super()
    this.#heard = heard
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8')
    this.#heard(this.text)
    done()
  }
}

/** Both sides of a terminal at which someone types an answer as soon as its question shows up. */
function terminal(typed: NonNullable<Given['typed']>) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const waiting = [...typed]
  const hear = (text: string) => {
    if (!text.includes(waiting[0]?.[0] ?? '\0')) return
    const keys = waiting.shift()?.[1] ?? ''
    setImmediate(() => stdin.write(keys))
  }
  // A prompt ends the stream it wrote to, which a terminal outlives.
  return { stdin, stderr: Object.assign(new Sink(hear), { isTTY: true, end: () => {} }) }
}

/** Makes a machine; `onOutput` hears stdout while a command is still running. */
export function machine(onOutput: (text: string) => void = () => {}): Machine {
  const home = mkdtempSync(join(tmpdir(), 'prospect-'))
  const signals = new EventEmitter()
  const run: Machine['run'] = async (argv, { stdin = '', env = {}, typed } = {}) => {
    const person = typed && terminal(typed)
    const [stdout, stderr] = [new Sink(onOutput), person?.stderr ?? new Sink()]
    const code = await main(argv, {
      stdin: person?.stdin ?? Readable.from([Buffer.from(stdin)]),
      stdout,
      stderr,
      env: { PROSPECT_HOME: home, ...env },
      cwd: home,
      signals: signals as unknown as NodeJS.Process,
    })
    return {
      code,
      stdout: stdout.text,
      stderr: stderr.text,
      get json(): unknown {
        return JSON.parse(stdout.text)
      },
    }
  }
  return {
    home,
    signals,
    run,
    json: async <T>(...argv: string[]) => {
      const outcome = await run([...argv, '--json'])
      if (outcome.code !== 0) throw new Error(`exit ${outcome.code}: ${outcome.stderr}`)
      return outcome.json as T
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}
