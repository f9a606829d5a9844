import { type Reply, retryAfterMs } from '../api/calls/caller.js'
import * as retry from '../api/calls/retry.js'
import type { Lost } from './reading.js'

export const maxAttempts = 4

/** A server that asks for a longer wait is not asked again; its answer is returned. */
const maxPauseMs = 30_000
const firstPauseMs = 300

export type AttemptResult = Reply | Lost

/** Whether an attempt left open that the work was done. */
export const isOutcomeUnknown = (attempted: AttemptResult): boolean =>
  'status' in attempted ? retry.isOutcomeUnknown(attempted) : attempted.sent

/** Whether an attempt settles the outcome of earlier ones under the same key. */
export const isConclusive = (attempted: AttemptResult): boolean =>
  'status' in attempted && retry.concludesEarlier(attempted)

/** Whether the server asks to wait: for a rate limit, or for a call that is under way with this key, or was when its server died. */
export const asksToWait = (attempted: AttemptResult): boolean =>
  'status' in attempted && retry.asksToWait(attempted)

/** Whether an attempt certainly did not reach a server. */
export const isUnsent = (attempted: AttemptResult): boolean => !('status' in attempted) && !attempted.sent

/**
 * Whether another server over the same database is asked at once. It can answer what this one, which is not there or fails,
 * does not; what was sent goes there only if a repetition has no second effect. A suspect answer is asked for again here.
 */
export function movesOn(attempted: AttemptResult, repeatable: boolean): boolean {
  if ('status' in attempted) return repeatable && retry.isOutcomeUnknown(attempted) && !attempted.isSuspect
  return attempted.code !== 'aborted' && (repeatable || !attempted.sent)
}

/** Whether the same request may succeed shortly after. */
const isRetryable = (attempted: AttemptResult): boolean =>
  'status' in attempted
    ? retry.isOutcomeUnknown(attempted) || retry.isInProgress(attempted)
    : retry.isRetryableLoss(attempted)

interface Circumstances {
  /** Attempts at each server so far, at least 1. */
  readonly rounds: number
  /** How long a wait that the server asks for may last without counting as a round; 0 where it counts. */
  readonly waitMs: number
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
export function pauseAfter(attempted: AttemptResult, of: Circumstances): number | undefined {
  const { rounds, waitMs, repeatable, random, now } = of
  const asked = 'status' in attempted ? (retryAfterMs(attempted.headers['retry-after'], now) ?? 0) : 0
  const doubled = firstPauseMs * 2 ** (rounds - 1)
  const pause = Math.max(asked, Math.round(doubled * (0.5 + random / 2)))
  if (pause <= waitMs) return pause
  if (rounds >= maxAttempts || !isRetryable(attempted) || asked > maxPauseMs) return undefined
  return isOutcomeUnknown(attempted) && !repeatable ? undefined : pause
}

/** This many failures in a row mean that the server is down. */
const maxInARow = 10

/** Counts the failures of a server over all calls. While it is down every call is sent once, so that retries add no load. */
export class Outage {
  #failures = 0

  /** Notes an attempt of a call, which `signal` may have ended. */
  note(attempted: AttemptResult, signal?: AbortSignal): void {
    // What this side gave up says nothing, unless it had waited long enough.
    const isLate = (signal?.reason as Error | undefined)?.name === 'TimeoutError'
    if ('code' in attempted && attempted.code === 'aborted' && !isLate) return
    // A suspect answer comes from a server that answers.
    const isAnswer = 'status' in attempted && (attempted.isSuspect || !retry.isOutcomeUnknown(attempted))
    this.#failures = isAnswer ? 0 : this.#failures + 1
  }

  /** Failures since its last answer. */
  get failures(): number {
    return this.#failures
  }

  get lasts(): boolean {
    return this.#failures >= maxInARow
  }
}
