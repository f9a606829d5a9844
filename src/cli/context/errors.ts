import { ConnectionLost, type Reply } from '../../api/calls/caller.js'
import { ApiError, errors, failureOf } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'

/** The report of a command that fails: the object on stderr when the output is JSON. */
export interface Report {
  readonly error: string
  readonly code: string | null
  /** HTTP status of the API's answer; null when none came. */
  readonly status: number | null
  readonly exit_code: number
  readonly hint: string
}

/** Ends a command: what happened, what to do about it, and the exit code. */
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

/** Returns the report of an error; `undefined` when the error is a bug. */
export function reportOf(error: unknown): Report | undefined {
  if (error instanceof Stop) return report(error.message, error.code, null, error.exit, error.hint)
  if (error instanceof ApiError) {
    const row: { readonly exit: number; readonly hint: string } = errors[error.code]
    return report(error.message, error.code, error.status, row.exit, row.hint)
  }
  // A prompt throws this at Ctrl-C.
  if (error instanceof Error && error.name === 'ExitPromptError')
    return report('Cancelled at the prompt; nothing was done.', null, null, exitCodes.interrupted, '')
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

/** Returns the report of a request without a reply. */
function reportOfLoss({ message, unknown }: ConnectionLost): Report {
  if (unknown)
    return report(`${message}. ${openQuestion}`, 'outcome_unknown', null, exitCodes.unreachable, unknownHint)
  const hint = 'Check the address and the network; nothing was charged.'
  return report(message, 'unreachable', null, exitCodes.unreachable, hint)
}

const openQuestion = 'It is unknown whether the work was done and charged'
const unknownHint =
  'Run the same command again: it sends the same idempotency key, and a server that supports idempotency keys charges once. ' +
  'prospect credits shows the balance.'

/** Returns the report of a failed reply. After a fault on the way it may be unknown whether the work was done. */
export function reportOfReply({ status, body, unknown }: Reply): Report {
  const known = reportOfAnswer(status, body)
  if (!unknown) return known
  const error = `${known.error.replace(/\.$/, '')}. ${openQuestion}`
  return { ...known, error, code: 'outcome_unknown', exit_code: exitCodes.unreachable, hint: unknownHint }
}

/** Returns the report of a failed answer of the API. */
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

/** A refusal of another folder. It is recognised by its properties, so that the folder need not be loaded. */
interface RefusalLike extends Error {
  readonly exit?: number
  readonly hint?: string
  /** The code of the report; by default it follows from the exit code. */
  readonly reportCode?: string
}

const refusals: readonly string[] = ['AdminError', 'InputError', 'MappingError', 'ImportError']

const isRefusal = (error: unknown): error is RefusalLike =>
  error instanceof Error && (typeof (error as RefusalLike).exit === 'number' || refusals.includes(error.name))

/** Whether an output could never be written: its folder is missing, or its name is a folder's. */
const isMisplaced = (error: Error & { readonly code?: unknown }): boolean =>
  error.name === 'OutputError' && ['EISDIR', 'ENOENT', 'ENOTDIR'].includes(String(error.code))

const isInterruption = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
