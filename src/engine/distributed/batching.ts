import { type Reply, retryAfterMs } from '../../api/calls/caller.js'
import { ApiError, failureOf, RefusedInDoubt } from '../../api/calls/errors.js'
import { type Came, type ChunkCall, isAnswer, isHeldBack, replyOf, stops } from './chunk.js'

/** A row on its way, and who waits for what comes of it. */
export interface Sent {
  readonly call: ChunkCall
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: unknown) => void
  /** It is not sent before this moment, by a clock that is never set. */
  readonly notBefore?: number
}

/** What is known of a chunk besides what came of its calls. */
export interface Answered {
  /** How often it was taken. */
  readonly taken: number
  readonly isPriced: boolean
  /** Real time, for a `Retry-After` that is a date. */
  readonly now: number
}

/** What becomes of a row: it is told something, goes out again, or nobody can say what became of it. */
export type Outcome =
  | { readonly kind: 'told'; readonly came: Exclude<Came, null> }
  | { readonly kind: 'again'; readonly sent: Sent }
  | { readonly kind: 'open'; readonly error: RefusedInDoubt }

/**
 * Decides what becomes of the rows of a chunk. Where somebody had it before, any of its calls may have been made and paid
 * for, so that a refusal says nothing of what it cost: such a row goes out until there is an answer to it, or stays open.
 */
export function outcomesOf(
  rows: readonly Sent[],
  came: readonly Came[],
  chunk: Answered,
): readonly Outcome[] {
  const refusal = came.find((one) => isAnswer(one) && one.status === 429)
  return rows.map((sent, at) => outcomeOf(sent, came[at] ?? null, refusal ?? null, chunk))
}

function outcomeOf(sent: Sent, came: Came, refusal: Came, { taken, isPriced, now }: Answered): Outcome {
  const mayBeMade = taken > 1 || isInDoubt(came)
  const isDoubted = sent.call.doubted === true || (mayBeMade && isPriced)
  const again = (after: Came): Outcome => ({
    kind: 'again',
    sent: later(mayBeMade ? maybeMade(sent, isPriced) : sent, isDoubted ? waitOf(after, now) : 0),
  })
  // What was not sent because of a refusal would meet it too, for now.
  if (came === null && refusal && !isDoubted) return { kind: 'told', came: refusal }
  if (came === null || isInDoubt(came)) return again(refusal)
  if (!isDoubted) return { kind: 'told', came }
  if (!isAnswer(came)) return { kind: 'told', came: { ...came, unknown: true } }
  if (came.status >= 500) return { kind: 'told', came: { ...came, unknown: true } }
  if (!isHeldBack(came)) return { kind: 'told', came }
  return stops(came)
    ? { kind: 'open', error: new RefusedInDoubt(failureOf(came.status, came.body)) }
    : again(came)
}

const isInDoubt = (came: Came): boolean => came !== null && 'doubted' in came

/** A row that somebody may have sent: it is not fresh any more, and where it may have cost something that is in doubt. */
export const maybeMade = (sent: Sent, isPriced: boolean): Sent => ({
  ...sent,
  call: { ...sent.call, fresh: false, ...(isPriced ? { doubted: true } : {}) },
})

const later = (sent: Sent, ms: number): Sent =>
  ms > 0 ? { ...sent, notBefore: performance.now() + ms } : sent

/** How long a refusal asks to wait, in milliseconds. */
function waitOf(came: Came, now: number): number {
  if (!isAnswer(came)) return 0
  return came.waitMs ?? retryAfterMs(came.headers['retry-after'], now) ?? 1_000
}

/** Tells a row what came of its call. */
export function tell({ resolve, reject }: Sent, came: Exclude<Came, null>): void {
  try {
    resolve(replyOf(came))
  } catch (error) {
    reject(error)
  }
}

/** Tells a row that it goes out no more. Where somebody may have sent it before, what became of it is not known. */
export function tellUnsent(sent: Sent, reply: Reply = notSent): void {
  if (sent.call.doubted) tellOpen(sent)
  else sent.resolve(reply)
}

/** Tells a row that nobody can say what became of it. */
export const tellOpen = ({ reject }: Sent): void => reject(new ApiError('outcome_unknown'))

/** Of a row that nobody has sent, and that need not be: it may be, at any time. */
const notSent: Reply = { status: 429, body: { error: 'Not sent' }, headers: {}, credits: 0, waitMs: 0 }
