import { Readable, Writable } from 'node:stream'
import type { CommandLog } from '../../api/ports/ports.js'
import { parseExact, toJson } from '../../api/values/json.js'
import type { Work } from '../../mcp/session.js'
import type { Context, Streams } from './context.js'

/** What takes the log and the result of a command, which are not printed. */
export interface Taking {
  readonly log: (redact: Context['redact']) => CommandLog
  readonly take: (result: unknown) => void
}

const nowhere = () => new Writable({ write: (_, __, done) => done() })

/** Returns what does the work of a command in this process: with streams of its own, which print nothing but rows to `stdout`. */
export const workInProcess =
  (
    { env, cwd }: Pick<Streams, 'env' | 'cwd'>,
    stdin: string,
    begin: (own: Streams, taking: Taking) => Promise<number>,
    stdout: Writable = nowhere(),
  ): Work =>
  async ({ stopping, log }) => {
    const stderr = nowhere()
    const own = {
      stdin: Readable.from([Buffer.from(stdin)]),
      stdout,
      stderr,
      env,
      cwd,
      signals: signalsOf(stopping),
    }
    const redacted = (redact: Context['redact']) => ({
      ...log,
      write: (event: string, facts: object = {}) =>
        log.write(event, parseExact(redact(toJson(facts))) as object),
    })
    let result: unknown
    const take = (body: unknown) => {
      result = body
    }
    const exit = await begin(own, { log: redacted, take })
    return { exit, result }
  }

/** Returns what emits SIGINT when a command is to stop, also to those who listen later. */
const signalsOf = (stopping: AbortSignal) =>
  ({
    on: (name: string, listener: () => void) => {
      if (name === 'SIGINT' && stopping.aborted) listener()
      else if (name === 'SIGINT') stopping.addEventListener('abort', listener)
    },
    off: (_: string, listener: () => void) => stopping.removeEventListener('abort', listener),
  }) as unknown as NodeJS.Process
