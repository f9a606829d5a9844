import {
  type ConnectionLost,
  type Input,
  isOk,
  type Reply,
  type RunRow,
  retryAfterMs,
} from '../../api/calls/caller.js'
import { type Failure, failureOf } from '../../api/calls/errors.js'
import { asksToWait } from '../../api/calls/retry.js'
import { isMetered } from '../../api/operations/facts.js'
import {
  lostIn,
  notAskedIn,
  notAskedText,
  type Operation,
  resolvesNothing,
  saysNothingFound,
} from '../../api/operations/table.js'

export interface JournalRow {
  /** Number of the row, counted from 0 after the header. */
  readonly ordinal: number
  /** Equal for rows that are the same lookup; `undefined` for a row without equals. */
  readonly identity: string | undefined
  /** Hash of the identity, a whole number of 53 bits. */
  readonly hash: number | undefined
  /** Whether an equal row may come again in this file. */
  readonly repeats: boolean
  /** Its maximum cost in credits. */
  readonly most: number
}

/** How a row ends: its answer, and the source and cost of it for this row. */
export interface RowOutcome {
  readonly answer: RowAnswer
  /** null for a row that is not looked up. */
  readonly source: AnswerSource | null
  readonly credits: number
  /** Whether it is of a sample of the same file, and is taken whatever its age. */
  readonly sampled?: true
  /** Its place in the store of answers. */
  readonly origin?: number
  /** Real time at which another run, or a single lookup, got it; absent for one of this run. */
  readonly storedAt?: number
  /** Whether it is recorded for this row. */
  readonly kept?: true
}

export interface AskedRow extends JournalRow {
  readonly input: Input
}

export interface WantedRow extends JournalRow {
  /** How much of a quota it can use up. */
  readonly units?: number
  /** Price of one record, where a lower `limit` makes the row cheaper. */
  readonly perRecord?: number | undefined
}

/** A row that may be sent now: its maximum cost is set aside. */
export interface PlannedRow {
  /** Idempotency key, the same every time the row is sent. */
  readonly key: string
  /** Absent where the key is that of a single lookup. */
  readonly row?: RunRow | undefined
  /** What is sent in its place: the same lookup, as it was sent under this key before. */
  readonly input?: Input | undefined
  /** Replaces its own `limit`, because the budget leaves less. */
  readonly limit?: number
}

/** A budget that leaves too little for another row. */
export interface BudgetShortage {
  /** The credits of the run, of the profile for a day, or of several runs; or the profiles that the run may extract. */
  readonly budget: 'run' | 'day' | 'flow' | 'profiles'
  readonly credits: number
}

/** A request for several rows; also one for a single row of such a run. */
export interface Bulk {
  /** Unique among these requests. */
  readonly number: number
  readonly ordinals: readonly number[]
  /** Idempotency key, the same every time the request is sent. */
  readonly key: string
  readonly row: RunRow
  /** The ids of its work at the target; absent while no answer to the request is recorded. */
  readonly accepted?: Accepted | undefined
  /** Its remaining rows have no known outcome and are sent again; the request itself is not used any more. */
  readonly isGivenUp?: true
}

/** Work that a target has accepted for several rows. */
export interface Accepted {
  readonly id: string
  /** Id of each row's part of it, in the order of the rows; null where the target gives none. */
  readonly parts: readonly (string | null)[]
}

export interface AnsweredRow extends JournalRow {
  readonly answer: RowAnswer
  readonly source: AnswerSource
  readonly origin?: number | undefined
  /** Real time at which the answer was given, where that is not now. */
  readonly answeredAt?: number | undefined
}

export interface RunEnd {
  /** Whether all rows are in the output. */
  readonly complete: boolean
  /** Whether the outcome of each planned row is certain. */
  readonly certain: boolean
  /** Every row before this ordinal has an answer. */
  readonly cleared: number
  /** Rows of the output that are invalid. */
  readonly invalid: number
  /** Answers of this part that may be those to other requests. */
  readonly doubted?: number | undefined
}

export type RowStatus = 'found' | 'not_found' | 'invalid' | 'failed' | 'skipped' | 'known' | 'suppressed'

/** Where an answer came from: a call, the store of earlier runs, or an equal row of this file. */
export type AnswerSource = 'live' | 'store' | 'duplicate'

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

export const isUnknown = ({ error }: RowAnswer): boolean => error === unknownAnswer.error

/** The meaning of a reply for a run: an answer, a pause before the same call, or the end. */
type ReplyVerdict =
  | { readonly kind: 'answer'; readonly answer: RowAnswer }
  | { readonly kind: 'wait'; readonly ms: number; readonly atOnce: number | undefined }
  | { readonly kind: 'stop'; readonly failure: Failure }

/** Returns the meaning of a reply; `nowMs` is real time, for a `Retry-After` that is a date. */
export function judge(reply: Reply, operation: Operation, nowMs: number): ReplyVerdict {
  if (isOk(reply)) {
    const lost = lostIn(reply.body)
    if (lost.length > 0) return { kind: 'answer', answer: { ...unknownAnswer, body: { answers_lost: lost } } }
    return resolvesNothing(operation, reply.body)
      ? notFound(reply, null)
      : toAnswer('found', null, reply, true)
  }
  if (reply.unknown && isMetered(operation)) return { kind: 'answer', answer: unknownAnswer }
  const failure = failureOf(reply.status, reply.body)
  if (failure.stops) return { kind: 'stop', failure }
  if (failure.code === unknownAnswer.error) return { kind: 'answer', answer: unknownAnswer }
  if (asksToWait(reply)) return pause(reply, nowMs)
  if (reply.status === 404 || (reply.status === 400 && saysNothingFound(failure.text)))
    return notFound(reply, failure.text)
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
      ...(withBody && reply.text !== undefined ? { text: reply.text } : {}),
    },
  }
}

function pause({ headers, waitMs }: Reply, nowMs: number): ReplyVerdict {
  const limit = Number(headers['ratelimit-limit'])
  return {
    kind: 'wait',
    ms: waitMs ?? retryAfterMs(headers['retry-after'] ?? headers['ratelimit-reset'], nowMs) ?? 1_000,
    atOnce: limit >= 1 ? limit : undefined,
  }
}

export function lostAnswer({ message, unknown }: ConnectionLost, operation: Operation): RowAnswer {
  if (unknown && isMetered(operation)) return unknownAnswer
  return { status: 'failed', error: `No answer: ${message}`, body: undefined, credits: 0 }
}

/** Passes answers to the journal as they come, in as few portions as its speed allows. */
export class JournalWriter {
  #waiting: AnsweredRow[] = []
  #working: Promise<void> | undefined
  #error: unknown

  constructor(private readonly journal: { keep(rows: readonly AnsweredRow[]): Promise<void> }) {}

  /** Whether the journal could not keep an answer. */
  get hasFailed(): boolean {
    return this.#error !== undefined
  }

  add(row: JournalRow, { answer, source, origin, answeredAt }: Omit<AnsweredRow, keyof JournalRow>): void {
    const { ordinal, identity, hash, repeats, most } = row
    this.#waiting.push({ ordinal, identity, hash, repeats, most, answer, source, origin, answeredAt })
    this.#working ??= this.#work()
  }

  /** Resolves when all that was added is kept; rejects when the journal failed. */
  async kept(): Promise<void> {
    await this.#working
    if (this.#error !== undefined) throw this.#error
  }

  async #work(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        // Other answers of this turn of the event loop join the portion.
        await new Promise((resolve) => setImmediate(resolve))
        const rows = this.#waiting
        this.#waiting = []
        await this.journal.keep(rows)
      }
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
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
