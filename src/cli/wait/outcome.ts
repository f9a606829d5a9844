import { exitCodes } from '../../api/calls/exit-codes.js'
import type { GlobalOptions, StreamsContext } from '../context/context.js'
import type { Report } from '../context/errors.js'
import { grouped } from '../output/text.js'
import { cutShort, resultCommand, wordOf } from './job-outcome.js'
import type { Seen, Started } from './progress.js'
import type { Receiving } from './receiver.js'
import { readerOf } from './watch-polling.js'

/** What was done to see the work through, for telling how somebody goes on. */
export interface Trail {
  readonly started: Started
  readonly receiving: Receiving | undefined
  /** The idempotency key that the request went out with, where the server is known to honour keys. */
  readonly key: string | undefined
  readonly globals: GlobalOptions
}

/** What is bad about how the work stands, once the command has left it; nothing where all is well. */
export function badEnd(trail: Trail, seen: Seen, interruption: number | undefined): Report | undefined {
  const { started } = trail
  if (seen.state === 'failed') return failed(trail, seen)
  if (seen.state === 'finished')
    return seen.truncated
      ? cutShort({ ...started, operation: started.operation.id, ...counts(seen), truncated: true })
      : undefined
  return {
    error: `The work is not done: ${soFar(started, seen)} so far`,
    code: interruption === undefined ? 'still_running' : 'stopped',
    status: null,
    exit_code: interruption ?? exitCodes.stillRunning,
    hint: pickUp(trail, seen.done),
  }
}

/** The counts of work, in the words of a job. */
export const counts = ({ done, expected }: Seen) => ({ done, expected: expected ?? done })

function failed(trail: Trail, { done, error }: Seen): Report {
  const kept = done > 0 ? `What was found before is kept: ${seeText(trail)}` : 'See prospect credits.'
  const text = `The work failed: ${(error ?? '').replace(/\.$/, '')}`
  return { error: text, code: 'job_failed', status: null, exit_code: exitCodes.unreachable, hint: kept }
}

function soFar({ kind }: Started, { done, expected }: Seen): string {
  const of = expected === undefined || expected < done ? '' : ` of ${grouped(expected)}`
  return `${grouped(done)}${of} ${wordOf(kind, expected ?? done)}`
}

/** How to get at the result of work that goes on without this command. */
export function pickUp(trail: Trail, done: number): string {
  const { started, receiving, key } = trail
  if (readerOf(started.kind)) return `The server goes on with it. See: ${seeText(trail)}`
  const again =
    key !== undefined
      ? `wait again with the same command and --idempotency-key ${key}.`
      : `receive the rest with: prospect listen --port ${receiving?.port} --path ${receiving?.token}`
  const kept = done > 0 ? ` What has come is kept: ${seeText(trail)}.` : ''
  return `The server goes on with it;${kept === '' ? '' : `${kept} Or`} ${again}`
}

/** The command that shows what there is of the result. */
function seeText({ started: { kind, id }, globals }: Trail): string {
  if (!readerOf(kind)) return `prospect events list --search ${id}`
  const { baseUrl, profile } = globals
  const target =
    baseUrl === undefined ? (profile === undefined ? '' : ` --profile ${profile}`) : ` --base-url ${baseUrl}`
  return resultCommand({ kind, id }) + target
}

/** Tells that it is not known whether the server began, and how to ask again without beginning twice. */
export const openOutcome = (key: string): string =>
  `Run the same command again with --idempotency-key ${key}: a server that honours keys begins once.`

/** Says once where the result is waited for. */
export function printReceivingAddress(
  context: StreamsContext,
  receiving: Receiving,
  globals: GlobalOptions,
): void {
  if (globals.verbose) context.notify(`Waiting for the result at ${receiving.url}.`, globals)
}
