import type { Reply } from '../../api/calls/caller.js'
import {
  type ErrorCode,
  errors,
  type Failure,
  failureOf,
  type Report,
  systemCode,
} from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { ownPlan } from '../../api/operations/plans.js'

/** Returns the option of a name by which commands read it: `--dry-run` of `dryRun`. */
export const toFlag = (name: unknown): string =>
  `--${String(name).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Ends a command: what happened, what to do about it, and the exit code. */
export class Stop extends Error {
  constructor(
    text: string,
    readonly exit: number,
    readonly hint = '',
    readonly code: string | null = null,
  ) {
    super(text)
    this.name = 'Stop'
  }
}

/** A wrong option, argument or input file: exit 2. */
export class UsageError extends Stop {
  constructor(text: string, hint = '') {
    super(text, exitCodes.usage, hint, 'usage')
    this.name = 'UsageError'
  }
}

/** What to do with `--direct`, where no key is kept. */
export const directHint =
  'Run it again with the --idempotency-key that it was sent with: a server that supports idempotency keys charges once. ' +
  'prospect credits shows the balance.'

export const isExitPrompt = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ExitPromptError'

export const openQuestion = 'It is unknown whether the work was done and charged'
export const unknownHint =
  'Run the same command again: it sends the same idempotency key, and a server that supports idempotency keys charges once. ' +
  'prospect credits shows the balance.'

/** What to do about a success, or a 404, that is not as this API answers: the same comes again. */
const unusableHint =
  'The server does not answer as this API does: check the address (--base-url), or ask your vendor for the one of this API.'

/** What to do about an error of the API at a command line, where that is more than its row says. */
const hints: Partial<Record<ErrorCode, string>> = {
  invalid_api_key: 'Give a valid key in PROSPECT_API_KEY or with --api-key-file; prospect credits checks it.',
  insufficient_credits:
    'Buy credits from your vendor (on this machine: prospect engine credits add N), then run it again.',
  forbidden_host: 'Use the address the server printed, or start it with --allow-host NAME.',
  plan_limit_reached:
    'Wait for the reset (daily at 00:00 UTC, monthly on the 1st): prospect credits shows what is left.',
  network_session_required: 'Reconnect the session, or add --no-live.',
  unknown_place: 'Find its name or id with: prospect locations find NAME',
  consent_required:
    'The member whose key is used has to consent, not the person who is looked up. Record that where the engine or the proxy runs ' +
    '(prospect engine members set EMAIL --consent-personal-email), or leave personal_email out.',
  lookup_in_doubt:
    'Resume the run that sent it (prospect runs list), which may bring its answer; --refresh sends it all the same, and may pay twice.',
  rate_limited: 'Wait for the time in Retry-After, or raise --max-wait.',
  vendor_answer_lost:
    'It is not asked again; the same command goes on with work that it accepted. prospect providers stats shows what it may have cost.',
  unusable_answer: unusableHint,
  outcome_unknown:
    'Send it again with the same idempotency key: it is charged once. prospect credits shows the balance.',
}

/** Returns what to do about an error of the API; nothing for an answer that is none. */
export const hintOf = (code: ErrorCode | undefined): string =>
  code === undefined ? '' : (hints[code] ?? errors[code].hint)

/** Returns what to do about a failure of the API. `isLocal`: the engine of this machine said it. */
export function hintOfFailure(
  { means, topUpUrl }: Pick<Failure, 'means' | 'topUpUrl'>,
  isLocal = false,
): string {
  if (means !== 'insufficient_credits') return hintOf(means)
  if (isLocal)
    return `Add credits (prospect engine credits add N) or look up your own data without any (prospect engine plan set ${ownPlan}), then run it again.`
  return topUpUrl === undefined ? hintOf(means) : `Buy credits at ${topUpUrl}, then run it again.`
}

export const withoutStop = (text: string): string => text.replace(/\.$/, '')

/** Returns the report of a failed reply. After a fault on the way it may be unknown whether the work was done. */
export function reportOfReply({ status, body, unknown, headers, unusable }: Reply, isLocal = false): Report {
  const answer = reportOfAnswer(status, body, isLocal)
  const fault = headers['x-prospect-fault']
  const known =
    fault === undefined
      ? answer
      : { ...answer, hint: `This is the fault ${fault} of the engine. ${answer.hint}` }
  if (!unknown) return known
  const error = `${withoutStop(known.error)}. ${openQuestion}`
  const hint = unusable === undefined ? unknownHint : `${unusableHint} ${unknownHint}`
  return { ...known, error, code: 'outcome_unknown', exit_code: exitCodes.unreachable, hint }
}

export function reportOfAnswer(status: number, body: unknown, isLocal = false): Report {
  const failure = failureOf(status, body)
  return report(failure.text, failure.code ?? null, status, failure.exit, hintOfFailure(failure, isLocal))
}

export function report(
  error: string,
  code: string | null,
  status: number | null,
  exit: number,
  hint: string,
): Report {
  return { error, code, status, exit_code: exit, hint }
}

const systemReasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be too large',
  EIO: 'the disk reports an error',
  EISDIR: 'it is a folder',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
  EPERM: 'the system does not permit it',
  EPIPE: 'the reader has closed it',
  EROFS: 'the disk is read-only',
}

export const shortenPath = (path: string): string => (path.length > 100 ? `${path.slice(0, 100)}…` : path)

export function systemReason(error: unknown): string {
  const code = systemCode(error)
  if (code !== undefined) return `${systemReasons[code] ?? 'the system refused'} (${code})`
  return error instanceof Error ? error.message : String(error)
}
