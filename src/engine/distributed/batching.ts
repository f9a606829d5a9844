import { type Reply, retryAfterMs } from '../../api/calls/caller.js'
import { ApiError, failureOf, RefusedInDoubt } from '../../api/calls/errors.js'
import { type CallResult, type ChunkCall, endsRun, isAnswer, isHeldBack, toReply } from './chunk.js'

/** A row that waits for its result. */
export interface PendingRow {
  readonly call: ChunkCall
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: unknown) => void
  /** Monotonic time in milliseconds; the row is not sent before it. */
  readonly notBefore?: number
}

/** Facts about a chunk besides the results of its calls. */
interface ChunkFacts {
  /** How many times a worker took it. */
  readonly taken: number
  readonly isPriced: boolean
  /** Real time, for a `Retry-After` that is a date. */
  readonly now: number
}

/** What to do with a row: give it its result, send it again, or report that its outcome is unknown. */
type RowDecision =
  | { readonly kind: 'reply'; readonly result: Exclude<CallResult, null> }
  | { readonly kind: 'resend'; readonly row: PendingRow }
  | { readonly kind: 'unknown'; readonly error: RefusedInDoubt }

/**
 * Decides what to do with the rows of an answered chunk. When an earlier worker had the chunk, it may have made and paid
 * for any of its calls. A refusal then says nothing about the cost, so the row is sent until it has an answer.
 */
export function decideRows(
  rows: readonly PendingRow[],
  results: readonly CallResult[],
  chunk: ChunkFacts,
): readonly RowDecision[] {
  const refusal = results.find((one) => isAnswer(one) && one.status === 429)
  return rows.map((row, at) => decideRow(row, results[at] ?? null, refusal ?? null, chunk))
}

function decideRow(
  row: PendingRow,
  result: CallResult,
  refusal: CallResult,
  { taken, isPriced, now }: ChunkFacts,
): RowDecision {
  const mayBeMade = taken > 1 || isInDoubt(result)
  const isDoubted = row.call.doubted === true || (mayBeMade && isPriced)
  const resend = (after: CallResult): RowDecision => ({
    kind: 'resend',
    row: delay(mayBeMade ? toMaybeSent(row, isPriced) : row, isDoubted ? waitMsOf(after, now) : 0),
  })
  // A row that was held back by a refusal would be refused too, for now.
  if (result === null && refusal && !isDoubted) return { kind: 'reply', result: refusal }
  if (result === null || isInDoubt(result)) return resend(refusal)
  if (!isDoubted) return { kind: 'reply', result }
  if (!isAnswer(result) || result.status >= 500)
    return { kind: 'reply', result: { ...result, unknown: true } }
  if (!isHeldBack(result)) return { kind: 'reply', result }
  return endsRun(result)
    ? { kind: 'unknown', error: new RefusedInDoubt(failureOf(result.status, result.body)) }
    : resend(result)
}

const isInDoubt = (result: CallResult): boolean => result !== null && 'doubted' in result

/** Returns a row that may have been sent: it is no longer fresh, and a priced one is in doubt. */
export const toMaybeSent = (row: PendingRow, isPriced: boolean): PendingRow => ({
  ...row,
  call: { ...row.call, fresh: false, ...(isPriced ? { doubted: true } : {}) },
})

const delay = (row: PendingRow, ms: number): PendingRow =>
  ms > 0 ? { ...row, notBefore: performance.now() + ms } : row

/** Returns how long a refusal asks to wait, in milliseconds. */
function waitMsOf(result: CallResult, now: number): number {
  if (!isAnswer(result)) return 0
  return result.waitMs ?? retryAfterMs(result.headers['retry-after'], now) ?? 1_000
}

/** Gives a row the result of its call. */
export function settleRow({ resolve, reject }: PendingRow, result: Exclude<CallResult, null>): void {
  try {
    resolve(toReply(result))
  } catch (error) {
    reject(error)
  }
}

/** Ends a row that is not sent any more. Its outcome is unknown when it may have been sent before. */
export function settleUnsent(row: PendingRow, reply: Reply = notSent): void {
  if (row.call.doubted) settleUnknown(row)
  else row.resolve(reply)
}

/** Ends a row whose outcome is unknown. */
export const settleUnknown = ({ reject }: PendingRow): void => reject(new ApiError('outcome_unknown'))

/** Reply to a row that was never sent and may be sent at any time. */
const notSent: Reply = { status: 429, body: { error: 'Not sent' }, headers: {}, credits: 0, waitMs: 0 }
