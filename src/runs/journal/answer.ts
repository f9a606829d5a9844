import { ConnectionLost, isOk, type Reply, retryAfterMs } from '../../api/calls/caller.js'
import { type Failure, failureOf } from '../../api/calls/errors.js'
import { isPriced } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import { resolvesNothing, saysNothingFound } from '../../api/operations/table.js'

/** The result of a row. */
export type RowStatus = 'found' | 'not_found' | 'invalid' | 'failed' | 'skipped' | 'known'

/** Where an answer came from: a call, the store of earlier runs, or an equal row of this file. */
export type AnswerSource = 'live' | 'store' | 'duplicate'

/** The answer to one lookup. */
export interface RowAnswer {
  readonly status: RowStatus
  readonly error: string | null
  /** Body of the reply when something was found, else undefined. */
  readonly body: unknown
  /** The body as JSON, where it is available. */
  readonly text?: string
  /** Its cost. */
  readonly credits: number
  /** Whether there may be more records than a budget let it ask for. */
  readonly isCut?: boolean
}

/** The answer of a call that may have done its work, and charged for it, without a reply that says so. */
export const unknownAnswer: RowAnswer = {
  status: 'failed',
  error: 'outcome_unknown',
  body: undefined,
  credits: 0,
}

/** Marks the answer to a row whose `limit` a budget lowered: with that many records it may lack others. */
export function cutAt(limit: number, answer: RowAnswer, { batch }: Operation): RowAnswer {
  const records = (answer.body as Readonly<Record<string, unknown>> | undefined)?.[batch?.found ?? '']
  return { ...answer, isCut: Array.isArray(records) && records.length >= limit }
}

/** Whether the outcome of a row is unknown. */
export const isUnknown = ({ error }: RowAnswer): boolean => error === unknownAnswer.error

/** The meaning of a reply for a run: an answer, a pause before the same call, or the end. */
type ReplyVerdict =
  | { readonly kind: 'answer'; readonly answer: RowAnswer }
  | { readonly kind: 'wait'; readonly ms: number; readonly atOnce: number | undefined }
  | { readonly kind: 'stop'; readonly failure: Failure }

/** Returns the meaning of a reply; `nowMs` is real time, for a `Retry-After` that is a date. */
export function judge(reply: Reply, operation: Operation, nowMs: number): ReplyVerdict {
  if (isOk(reply)) {
    const found = !resolvesNothing(operation, reply.body)
    return toAnswer(found ? 'found' : 'not_found', null, reply, found)
  }
  if (reply.unknown && isPriced(operation)) return { kind: 'answer', answer: unknownAnswer }
  const failure = failureOf(reply.status, reply.body)
  if (failure.stops) return { kind: 'stop', failure }
  if (reply.status === 429 || failure.code === 'idempotency_in_progress') return pause(reply, nowMs)
  if (reply.status === 404 || (reply.status === 400 && saysNothingFound(failure.text)))
    return toAnswer('not_found', failure.text, reply, false)
  const invalid = reply.status === 400 || reply.status === 422
  return toAnswer(invalid ? 'invalid' : 'failed', failure.text, reply, false)
}

function toAnswer(status: RowStatus, error: string | null, reply: Reply, withBody: boolean): ReplyVerdict {
  return {
    kind: 'answer',
    answer: {
      status,
      error,
      body: withBody ? reply.body : undefined,
      credits: creditsOf(reply),
      ...(withBody && reply.text !== undefined ? { text: reply.text } : {}),
    },
  }
}

/** Returns the cost of a row: a replayed reply was paid for the first time it came. */
const creditsOf = ({ credits, replayed }: Reply): number => replayed ?? credits

function pause({ headers, waitMs }: Reply, nowMs: number): ReplyVerdict {
  const limit = Number(headers['ratelimit-limit'])
  return {
    kind: 'wait',
    ms: waitMs ?? retryAfterMs(headers['retry-after'] ?? headers['ratelimit-reset'], nowMs) ?? 1_000,
    atOnce: limit >= 1 ? limit : undefined,
  }
}

/** Returns the answer of a call that brought no reply. */
export function lostAnswer({ message, unknown }: ConnectionLost, operation: Operation): RowAnswer {
  if (unknown && isPriced(operation)) return unknownAnswer
  return { status: 'failed', error: `No answer: ${message}`, body: undefined, credits: 0 }
}

/** Returns the error of a call without a reply; throws any other error again, because it is a bug. */
export function lostCall(error: unknown): ConnectionLost {
  if (error instanceof ConnectionLost) return error
  throw error
}
