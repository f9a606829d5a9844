import { type Reply, retryAfterMs } from '../api/calls/caller.js'
import * as retry from '../api/calls/retry.js'
import type { Operation } from '../api/operations/table.js'
import type { Lost } from './reading.js'

export const maxAttempts = 4

/** A server that asks for a longer wait is not asked again; its answer is returned. */
const maxPauseMs = 30_000
const firstPauseMs = 300

export type AttemptResult = Reply | Lost

/**
 * Whether a call may be sent twice: it only reads, or replaces what it names. Calls with idempotency keys add something. A
 * repeated deletion would answer that nothing is there.
 */
export const isRead = ({ idempotent, method }: Pick<Operation, 'idempotent' | 'method'>): boolean =>
  !idempotent && method !== 'DELETE'

/** Whether an attempt left open that the work was done. */
export const isOutcomeUnknown = (attempted: AttemptResult): boolean =>
  'status' in attempted ? retry.isOutcomeUnknown(attempted) : attempted.sent

/** Whether an attempt settles the outcome of earlier ones under the same key. */
export const isConclusive = (attempted: AttemptResult): boolean =>
  'status' in attempted && retry.concludesEarlier(attempted)

/** Whether the key of a call is claimed by one that is under way, or was when its server died. */
export const isInProgress = (attempted: AttemptResult): attempted is Reply =>
  'status' in attempted && retry.isInProgress(attempted)

/** Whether the same request may succeed shortly after. */
const isRetryable = (attempted: AttemptResult): boolean =>
  'status' in attempted
    ? retry.isOutcomeUnknown(attempted) || retry.isInProgress(attempted)
    : retry.isRetryableLoss(attempted)

interface Circumstances {
  /** Attempts made so far, at least 1. */
  readonly attempts: number
  /** Whether a repetition has no second effect: the call only reads, or its key is supported. */
  readonly repeatable: boolean
  /** 0 to 1. */
  readonly random: number
  /** Real time. */
  readonly now: number
}

/**
 * Returns the milliseconds until the next attempt; `undefined` when there is none. Refusals are never repeated. The
 * caller waits for a 429, because it knows how much time there is. A 402, a 403 and a plan limit need an action.
 */
export function pauseAfter(attempted: AttemptResult, { attempts, repeatable, random, now }: Circumstances) {
  if (attempts >= maxAttempts || !isRetryable(attempted)) return undefined
  if (isOutcomeUnknown(attempted) && !repeatable) return undefined
  const doubled = firstPauseMs * 2 ** (attempts - 1)
  const asked = 'status' in attempted ? (retryAfterMs(attempted.headers['retry-after'], now) ?? 0) : 0
  if (asked > maxPauseMs) return undefined
  return Math.max(asked, Math.round(doubled * (0.5 + random / 2)))
}

/** This many failures in a row mean that the server is down. */
const maxInARow = 10

/** Counts the failures of a server over all calls. While it is down every call is sent once, so that retries add no load. */
export class Outage {
  #failures = 0

  note(attempted: AttemptResult): void {
    // A doubted answer comes from a server that answers, and so does one about a claim.
    const isAnswer = 'status' in attempted && (attempted.isDoubted || isInProgress(attempted))
    const isFailure = isRetryable(attempted) && !isAnswer
    this.#failures = isFailure ? this.#failures + 1 : 0
  }

  get lasts(): boolean {
    return this.#failures >= maxInARow
  }
}
