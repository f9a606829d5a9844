import { type Reply, retryAfterMs } from '../api/calls/caller.js'
import type { Operation } from '../api/operations/table.js'
import type { Lost } from './reading.js'

/** Times one call is sent at most. */
export const mostAttempts = 4

/** A server that asks for more patience is not asked again: its answer is handed on. */
const longestPauseMs = 30_000
const firstPauseMs = 300

/** What an attempt came to. */
export type AttemptResult = Reply | Lost

/**
 * Whether a call may be sent twice without harm: it only asks. What takes an idempotency key does something; a deletion
 * that is sent again would answer that there is nothing to delete.
 */
export const isRead = ({ idempotent, method }: Pick<Operation, 'idempotent' | 'method'>): boolean =>
  !idempotent && method !== 'DELETE'

/** Whether an attempt left it open if the work was done. A 501 says that it was not. */
export const leavesOpen = (attempted: AttemptResult): boolean =>
  'status' in attempted ? attempted.status >= 500 && attempted.status !== 501 : attempted.sent

/**
 * Whether an attempt tells what became of those before it, which went out under the same key: a refusal that comes before
 * the server looks at the key tells nothing.
 */
export const settles = (attempted: AttemptResult): boolean =>
  'status' in attempted &&
  attempted.status < 500 &&
  !(undecided.includes(attempted.status) || isInProgress(attempted))

const undecided: readonly number[] = [401, 403, 408, 413, 429]

/** Whether the same request may fare better in a moment. */
function isPassing(attempted: AttemptResult): boolean {
  if (!('status' in attempted))
    return attempted.sent ? attempted.code !== 'aborted' : unreached.includes(attempted.code)
  return leavesOpen(attempted) || isInProgress(attempted)
}

/** Failures before anything was sent that pass; a wrong name or certificate does not. */
const unreached: readonly string[] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'],
]

/** Our own earlier attempt may still be at work. */
const isInProgress = ({ status, body }: Reply): boolean =>
  status === 409 && (body as { readonly code?: unknown } | null)?.code === 'idempotency_in_progress'

/** What decides whether an attempt is followed by another. */
export interface Circumstances {
  /** Attempts made so far, at least 1. */
  readonly attempts: number
  /** Whether repeating it has no second effect: it only asks, or its key is known to be honoured. */
  readonly repeatable: boolean
  /** 0 to 1. */
  readonly random: number
  /** Real time. */
  readonly now: number
}

/**
 * Milliseconds to wait before the next attempt; nothing where there is none. Refusals are never repeated: a 429 is
 * waited for by whoever knows how long there is time, and 402, 403 and the plan limit do not pass by themselves.
 */
export function pauseAfter(
  attempted: AttemptResult,
  { attempts, repeatable, random, now }: Circumstances,
): number | undefined {
  if (attempts >= mostAttempts || !isPassing(attempted)) return undefined
  if (leavesOpen(attempted) && !repeatable) return undefined
  const doubled = firstPauseMs * 2 ** (attempts - 1)
  const asked = 'status' in attempted ? (retryAfterMs(attempted.headers['retry-after'], now) ?? 0) : 0
  if (asked > longestPauseMs) return undefined
  return Math.max(asked, Math.round(doubled * (0.5 + random / 2)))
}

/** So many failures in a row mean that the server is down, and not that some requests fail. */
const mostInARow = 10

/**
 * Counts failures of one server, over all its calls: while it is down every call is sent once, so that the outage meets
 * no multiplied load.
 */
export class Outage {
  #failures = 0

  note(attempted: AttemptResult): void {
    this.#failures = isPassing(attempted) ? this.#failures + 1 : 0
  }

  get lasts(): boolean {
    return this.#failures >= mostInARow
  }
}
