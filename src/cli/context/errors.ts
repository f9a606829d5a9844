import { ConnectionLost, type Reply } from '../../api/calls/caller.js'
import { ApiError, errors, failureOf } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'

/** What a command says when it ends badly; the object on stderr when the output is JSON. */
export interface Report {
  readonly error: string
  readonly code: string | null
  /** HTTP status of the API's answer; null when none came. */
  readonly status: number | null
  readonly exit_code: number
  readonly hint: string
}

/** A command that stops: one sentence, what to do about it, and the exit code. */
export class Stop extends Error {
  readonly exit: number
  readonly hint: string
  readonly code: string | null

  constructor(text: string, exit: number, hint = '', code: string | null = null) {
    super(text)
    this.name = 'Stop'
    this.exit = exit
    this.hint = hint
    this.code = code
  }
}

/** A wrong option, argument or input file: exit 2. */
export class UsageError extends Stop {
  constructor(text: string, hint = '') {
    super(text, exitCodes.usage, hint, 'usage')
    this.name = 'UsageError'
  }
}

/** The reader of our output has gone away; nobody is left to tell. */
export class PipeClosed extends Error {}

/** What an error means to the person at the shell; nothing when it is a bug of ours. */
export function reportOf(error: unknown): Report | undefined {
  if (error instanceof Stop) return report(error.message, error.code, null, error.exit, error.hint)
  if (error instanceof ApiError) {
    const row: { readonly exit: number; readonly hint: string } = errors[error.code]
    return report(error.message, error.code, error.status, row.exit, row.hint)
  }
  // What a prompt throws when Ctrl-C answers it.
  if (error instanceof Error && error.name === 'ExitPromptError')
    return report('Stopped at the question; nothing was done.', null, null, exitCodes.interrupted, '')
  if (error instanceof ConnectionLost) return reportOfLoss(error)
  if (isInterruption(error))
    return report(
      'Stopped before the answer came.',
      'timeout',
      null,
      exitCodes.unreachable,
      'Raise --timeout.',
    )
  if (!isRefusal(error)) return undefined
  const exit = isMisplaced(error) ? exitCodes.usage : (error.exit ?? exitCodes.usage)
  const codes: Readonly<Record<number, string>> = {
    [exitCodes.usage]: 'usage',
    [exitCodes.notFound]: 'not_found',
  }
  return report(error.message, error.reportCode ?? codes[exit] ?? 'output', null, exit, error.hint ?? '')
}

/** What it means that no answer came. */
function reportOfLoss({ message, unknown }: ConnectionLost): Report {
  if (unknown)
    return report(`${message}. ${openQuestion}`, 'outcome_unknown', null, exitCodes.unreachable, unknownHint)
  const hint = 'Check the address and the network; nothing was charged.'
  return report(message, 'unreachable', null, exitCodes.unreachable, hint)
}

const openQuestion = 'Whether the work was done and charged is not known'
const unknownHint =
  'Run the same command again: it sends the same idempotency key, so that a server that honours keys charges once. ' +
  'prospect credits shows the balance.'

/** What a failed reply means; a fault on the way may leave open whether the work was done. */
export function reportOfReply({ status, body, unknown }: Reply): Report {
  const known = reportOfAnswer(status, body)
  if (!unknown) return known
  const error = `${known.error.replace(/\.$/, '')}. ${openQuestion}`
  return { ...known, error, code: 'outcome_unknown', exit_code: exitCodes.unreachable, hint: unknownHint }
}

/** What a failed answer of the API means. */
export function reportOfAnswer(status: number, body: unknown): Report {
  const failure = failureOf(status, body)
  return report(failure.text, failure.code ?? null, status, failure.exit, failure.hint)
}

function report(
  error: string,
  code: string | null,
  status: number | null,
  exit: number,
  hint: string,
): Report {
  return { error, code, status, exit_code: exit, hint }
}

/** A refusal of another room, known by what it carries, so that the room need not be loaded to recognise it. */
interface Refusal extends Error {
  readonly exit?: number
  readonly hint?: string
  /** The code of the report; by default it follows from the exit code. */
  readonly reportCode?: string
}

const refusals: readonly string[] = ['AdminError', 'InputError', 'MappingError', 'ImportError']

const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && (typeof (error as Refusal).exit === 'number' || refusals.includes(error.name))

/** An output that no disk could have taken: its folder is missing, or its name is a folder's. */
const isMisplaced = (error: Error & { readonly code?: unknown }): boolean =>
  error.name === 'OutputError' && ['EISDIR', 'ENOENT', 'ENOTDIR'].includes(String(error.code))

const isInterruption = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
