import {
  ageOf,
  askedWaitMs,
  type ConnectionLost,
  isFromStore,
  isOk,
  payerOf,
  type Reply,
} from '../api/calls/caller.js'
import { type Failure, failureOf } from '../api/calls/errors.js'
import { asksToWait, isUnavailable } from '../api/calls/retry.js'
import { isMetered } from '../api/operations/facts.js'
import {
  hiddenNote,
  isHiddenIn,
  lostIn,
  notAskedIn,
  notAskedText,
  type Operation,
  resolvesNothing,
  saysNothingFound,
} from '../api/operations/table.js'
import { dayMs } from '../api/values/dates.js'
import { isObject } from '../api/values/objects.js'

/** How a row ends: its answer, and the source and cost of it for this row. */
export interface RowOutcome {
  readonly answer: RowAnswer
  /** null for a row that is not looked up. */
  readonly source: AnswerSource | null
  readonly credits: number
  /** Whether it is of a sample of the same file, and is taken whatever its age. */
  readonly sampled?: true
  /** Real time at which another run, or a single lookup, got it; absent for one of this run. */
  readonly storedAt?: number
  /** Of a single lookup, what the key is known by that it was sent under; null for one of ours. */
  readonly key?: string | null
  /** Of a single lookup, the email of the member who paid. */
  readonly payer?: string | null
  /** The run and the row whose answer it is. */
  readonly from?: readonly [run: number, row: number]
  /** Whether it is recorded for this row. */
  readonly kept?: true
}

/** A budget that leaves too little for another row. */
export interface BudgetShortage {
  /** The credits of the run, of the profile for a day, or of several runs; or the profiles that the run may extract. */
  readonly budget: 'run' | 'day' | 'flow' | 'profiles'
  readonly credits: number
  /** What the row can cost that it leaves too little for. */
  readonly needed?: number
  /** The day to come on which some of it was spent, when the clock was ahead. */
  readonly until?: string
}

/** Work that a target has accepted for several rows. */
export interface Accepted {
  readonly id: string
  /** Id of each row's part of it, in the order of the rows; null where the target gives none. */
  readonly parts: readonly (string | null)[]
  /** Whether another run sent it, whose rows have other numbers. */
  readonly isTaken?: true | undefined
}

export type RowStatus = 'found' | 'not_found' | 'invalid' | 'failed' | 'skipped' | 'known' | 'suppressed'

/**
 * Where an answer came from: a call, what others behind the same proxy have paid for, the store of earlier runs, or an equal row
 * of this file.
 */
export type AnswerSource = 'live' | 'team' | 'store' | 'duplicate'

/** Returns where the answer of a call came from. */
export const sourceOfCall = ({ ageMs, credits }: Pick<RowAnswer, 'ageMs' | 'credits'>): AnswerSource =>
  ageMs !== undefined && credits === 0 ? 'team' : 'live'

export interface RowAnswer {
  readonly status: RowStatus
  readonly error: string | null
  /** Body of the reply when something was found, else undefined; of a lost answer of a data vendor, who that is. */
  readonly body: unknown
  /** The body as JSON, where it is available. */
  readonly text?: string
  readonly credits: number
  /** Whether there may be more records than a budget let it ask for. */
  readonly isCut?: boolean
  /** How long ago a proxy got it that has stored it, in milliseconds. */
  readonly ageMs?: number
  /** Email of the member of a team who paid for it; empty where a proxy has stored it and does not say who. */
  readonly payer?: string
}

/** The answer of a call that may have done its work, and charged for it, without a reply that says so. */
export const unknownAnswer: RowAnswer = {
  status: 'failed',
  error: 'outcome_unknown',
  body: undefined,
  credits: 0,
}

/** Marks an answer that may lack records, as its `limit` may have been lowered: one with fewer than there are. */
export function cutAt(limit: number, answer: RowAnswer, { batch }: Operation): RowAnswer {
  const body = isObject(answer.body) ? answer.body : {}
  const records = body[batch?.found ?? '']
  const count = Array.isArray(records) ? records.length : 0
  const isWhole = typeof body.total_jobs === 'number' && body.total_jobs <= count
  return { ...answer, isCut: count >= limit && !isWhole }
}

/** Returns an answer to a row whose `limit` a budget has lowered. Where it lacks records, it says so itself. */
export function cutByBudget(limit: number, answer: RowAnswer, operation: Operation): RowAnswer {
  const cut = cutAt(limit, answer, operation)
  if (!cut.isCut || !isObject(cut.body) || cut.body.truncated !== false) return cut
  const { text, ...rest } = cut
  return { ...rest, body: { ...cut.body, truncated: true } }
}

/** Whether somebody was found and paid for who is suppressed, so that nothing of the answer is stored but that. */
export const isHidden = ({ status, error }: Pick<RowAnswer, 'status' | 'error'>): boolean =>
  status === 'not_found' && error === hiddenNote

export const isUnknown = ({ error }: RowAnswer): boolean => error === unknownAnswer.error

/** The meaning of a reply for a run: an answer, a pause before the same call, or the end. */
type ReplyVerdict =
  | { readonly kind: 'answer'; readonly answer: RowAnswer }
  | { readonly kind: 'wait'; readonly ms: number; readonly atOnce: number | undefined }
  | { readonly kind: 'stop'; readonly failure: Failure }

/**
 * How long a request with the same key, or an equal lookup, that is in progress is waited for, in milliseconds: longer than a
 * call of a proxy takes.
 */
export const longestInProgressMs = 180_000

/** Says that it was waited for in vain. */
export const inProgressNote = {
  code: 'run.in_progress',
  details: { minutes: longestInProgressMs / 60_000 },
} as const

/** Returns the meaning of a reply; `nowMs` is real time, for a `Retry-After` that is a date. */
export function judge(reply: Reply, operation: Operation, nowMs: number): ReplyVerdict {
  const lost = lostIn(reply.body)
  if (lost.length > 0) return { kind: 'answer', answer: { ...unknownAnswer, body: { answers_lost: lost } } }
  if (isOk(reply)) {
    return resolvesNothing(operation, reply.body)
      ? notFound(reply, reply.isSuppressed || isHiddenIn(reply.body) ? hiddenNote : null)
      : toAnswer('found', null, reply, true)
  }
  const failure = failureOf(reply.status, reply.body)
  // While the database of a server is away, each row would get no more than that. What was sent stays open, under its key.
  const isAway = failure.stops && isUnavailable(reply)
  if (reply.unknown && isMetered(operation) && !isAway) return { kind: 'answer', answer: unknownAnswer }
  if (failure.stops) return { kind: 'stop', failure }
  if (failure.code === unknownAnswer.error) return { kind: 'answer', answer: unknownAnswer }
  if (asksToWait(reply)) return pause(reply, nowMs)
  if (reply.status === 404 || (reply.status === 400 && saysNothingFound(failure.text)))
    return notFound(reply, reply.isSuppressed ? hiddenNote : failure.text)
  const invalid = reply.status === 400 || reply.status === 422
  return toAnswer(invalid ? 'invalid' : 'failed', failure.text, reply, false)
}

/** Returns the answer of a row that nobody knows; of its reply it keeps which data vendors could not be asked. */
function notFound(reply: Reply, text: string | null): ReplyVerdict {
  const not_asked = notAskedIn(reply.body)
  if (not_asked.length === 0) return toAnswer('not_found', text, reply, false)
  const note = `Not asked: ${notAskedText(not_asked)}`
  return toAnswer('not_found', note, { ...reply, body: { not_asked } }, true)
}

function toAnswer(status: RowStatus, error: string | null, reply: Reply, withBody: boolean): ReplyVerdict {
  return {
    kind: 'answer',
    answer: {
      status,
      error,
      body: withBody ? reply.body : undefined,
      // A replayed reply was paid for the first time it came.
      credits: reply.replayed ?? reply.credits,
      // What credits cut off serves no other lookup.
      ...(withBody && (reply.body as { truncated?: unknown } | null)?.truncated === true
        ? { isCut: true }
        : {}),
      ...(withBody && reply.text !== undefined ? { text: reply.text } : {}),
      ...(isFromStore(reply) ? { ageMs: ageOf(reply), payer: payerOf(reply) ?? '' } : {}),
    },
  }
}

/** The shortest wait that a server gets: one that says 0 and refuses again would be asked without a pause. */
const leastWaitMs = 100

/** A server is asked again after a day, whatever it says. */
function pause({ headers, waitMs }: Reply, nowMs: number): ReplyVerdict {
  const limit = Number(headers['ratelimit-limit'])
  return {
    kind: 'wait',
    ms: waitMs ?? Math.min(dayMs, Math.max(leastWaitMs, askedWaitMs(headers, nowMs) ?? 1_000)),
    atOnce: limit >= 1 ? limit : undefined,
  }
}

export function lostAnswer({ message, unknown }: ConnectionLost, operation: Operation): RowAnswer {
  if (unknown && isMetered(operation)) return unknownAnswer
  return { status: 'failed', error: `No answer: ${message}`, body: undefined, credits: 0 }
}

/** Rows between two durability checkpoints. Each one costs a commit. */
const rowsPerReport = 2_048

/** Reports from time to time which answers survive a power cut. */
export class DurabilityCheckpoint {
  #before = 0
  #reported = 0
  #working: Promise<void> | undefined
  #error: unknown

  constructor(
    private readonly journal: { flush(): Promise<void> },
    private readonly report: ((before: number) => Promise<void>) | undefined,
  ) {}

  /** Notes that every row before this ordinal is kept. Rejects when an earlier report failed. */
  async note(before: number): Promise<void> {
    if (!this.report) return
    if (this.#error !== undefined) throw this.#error
    this.#before = before
    if (before - this.#reported >= rowsPerReport) this.#working ??= this.#work(this.report)
  }

  async reported(): Promise<void> {
    await this.#working
    if (this.report && this.#reported < this.#before) await this.#work(this.report)
    if (this.#error !== undefined) throw this.#error
  }

  async #work(report: (before: number) => Promise<void>): Promise<void> {
    try {
      const before = this.#before
      await this.journal.flush()
      await report(before)
      this.#reported = before
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
}
