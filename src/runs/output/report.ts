import { notAskedIn, type SkippedVendor } from '../../api/operations/table.js'
import { LeftOutCounter, type LeftOutValues } from '../../csv/names.js'
import type { AnswerSource, RowOutcome, RowStatus } from '../../lookups/answer.js'
import { isNoRecord } from '../input/table.js'
import type { OutputRow } from './columns.js'

/** Why a run ended before its last row. */
export interface RunStop {
  readonly reason: string
  /** What to do about it; may be empty. */
  readonly hint: string
  readonly exit_code: number
  /** The budget that is used up; absent where none is. */
  readonly budget?: 'run' | 'day' | 'flow' | 'profiles'
  /** Number of the first row that was refused, counted from 1 after the header; null where no row was. */
  readonly at_row: number | null
  /** Rows that have no answer; null where the file was not counted. */
  readonly rows_left: number | null
}

/** Reasons counted apart; a reason can quote a cell, and memory has to stay constant. */
const maxReasons = 50

/** Rows named of each reason. */
const maxFirstRows = 20

export interface ReasonCount {
  readonly reason: string
  readonly rows: number
  /** The first of the rows, counted from 1 after the header; absent where their numbers are not known. */
  readonly first_rows?: readonly number[]
}

export class ReasonCounter {
  readonly #counts = new Map<string, { rows: number; readonly first: number[] }>()

  add(text: string, row?: number): void {
    const reason = this.#counts.has(text) || this.#counts.size < maxReasons ? text : 'Other reasons'
    const count = this.#counts.get(reason) ?? { rows: 0, first: [] }
    count.rows++
    if (row !== undefined && count.first.length < maxFirstRows) count.first.push(row)
    this.#counts.set(reason, count)
  }

  /** Returns the counts, the most frequent reason first. */
  get counts(): readonly ReasonCount[] {
    return [...this.#counts]
      .map(([reason, { rows, first }]) => ({
        reason,
        rows,
        ...(first.length > 0 ? { first_rows: first } : {}),
      }))
      .sort((a, b) => b.rows - a.rows)
  }
}

/** Rows with the same status and no result, and why. */
export interface RowsWithout extends ReasonCount {
  readonly status: RowStatus
}

/** A data vendor that could not be asked about a number of rows, and why. */
export interface SkippedRows extends SkippedVendor {
  readonly rows: number
}

/** Answers of a server that are, or may be, those to other requests; their rows are counted from 1 after the header. */
const noAnswers = () => ({ answers: 0, rows: [] as number[] })

const maxNamed = 50

export class SuspectRows {
  /** Suspect before they were taken, so that the outcome of their rows is unknown, or after that. */
  readonly #counts = { discarded: noAnswers(), passed_on: noAnswers() }
  #isClosed = false

  add(ordinals: readonly number[], when: 'discarded' | 'passed_on'): void {
    if (this.#isClosed) return
    const count = this.#counts[when]
    count.answers += ordinals.length
    for (const ordinal of ordinals) if (count.rows.length < maxNamed) count.rows.push(ordinal + 1)
  }

  /** Returns what to call when the answers to rows are suspect later. It is kept for each call, so it holds no rows. */
  onSuspect(ordinals: readonly number[]): () => void {
    return () => this.add(ordinals, 'passed_on')
  }

  /** Counts no more, so that what is recorded and what is reported are the same. */
  close(): void {
    this.#isClosed = true
  }

  /** Returns the counts; `undefined` where no answer was suspect. */
  get counts() {
    const { discarded, passed_on } = this.#counts
    return discarded.answers + passed_on.answers === 0 ? undefined : this.#counts
  }
}

/** The counts of no rows; `rows` are those in the output. */
export const noRows = {
  rows: 0,
  found: 0,
  not_found: 0,
  invalid: 0,
  failed: 0,
  skipped: 0,
  /** Rows that a list of known rows has. */
  known: 0,
  /** Rows about people and companies that are suppressed. */
  suppressed: 0,
  /** Rows that were answered by a call. */
  live: 0,
  /** Rows that a proxy answered from what others behind it have paid for. */
  team: 0,
  /** Rows that took an answer of an earlier run. */
  stored: 0,
  /** Rows that took the answer of an equal row. */
  duplicates: 0,
  credits: 0,
  /** Those of the credits that an earlier execution of the run paid. */
  credits_before: 0,
}

type Counts = Readonly<typeof noRows> & {
  /** When the oldest of the stored answers was given, in milliseconds since 1970; absent without any. */
  readonly oldest_stored?: number | undefined
}

export interface RunReport extends Counts {
  readonly seconds: number
  /** Why rows are invalid, the most frequent reason first. */
  readonly invalid_reasons: readonly ReasonCount[]
  /** All rows that have no result, by their status and the reason. */
  readonly without_result: readonly RowsWithout[]
  /** Data vendors that could not be asked about rows of this execution of the run. */
  readonly not_asked: readonly SkippedRows[]
  /** Absent where the server's answers all belonged to their requests. */
  readonly suspect?: NonNullable<SuspectRows['counts']>
  /** Values that valid rows were looked up without. */
  readonly not_understood: readonly LeftOutValues[]
  readonly stopped?: RunStop
  /** File with all rows; null when there is none. */
  readonly output: string | null
  /** File with the rows answered before the run stopped; null when it did not. */
  readonly partial: string | null
}

export interface RunProgress extends Counts {
  /** Rows of the file, where they were counted. */
  readonly total: number | undefined
  /** Rows that an earlier execution of the run answered. */
  readonly replayed: number
  /** When the rate limit permits the next call, in milliseconds since 1970. */
  readonly waitsUntil?: number | undefined
}

/** How far work has come: how many rows, and what else is counted. */
export type Step = Pick<RunProgress, 'rows'> & Partial<RunProgress>

export interface Progress {
  update(step: Step): void
  stop(): void
}

const countOf = { live: 'live', team: 'team', store: 'stored', duplicate: 'duplicates' } as const

/** Why a row has no result, where its answer does not say so. */
const usualReasons: Partial<Readonly<Record<RowStatus, string>>> = {
  not_found: 'Nothing was found',
  skipped: 'It has a value already',
  known: 'A list of known rows has it',
  suppressed: 'It is suppressed',
}

const reasonOf = (row: OutputRow): string =>
  row.status === 'skipped' && isNoRecord(row)
    ? 'The row is blank or a footer'
    : (usualReasons[row.status] ?? '')

/** Counts rows when they have their outcome, and again as they are written, because rows are written in order. */
export class Tally {
  readonly #reasons = new Map<RowStatus, ReasonCounter>()
  /** Cells that written rows were looked up without. */
  readonly leftOut = new LeftOutCounter()
  /** By vendor and reason. */
  readonly notAsked = new Map<string, SkippedRows>()
  #replayed = 0
  #oldest = Number.POSITIVE_INFINITY
  readonly #settled = { ...noRows }
  readonly #written = { ...noRows }

  constructor(private readonly total: number | undefined) {}

  /** Counts a row that is in the output: that at an ordinal of the rows looked up. */
  add(row: OutputRow, ordinal: number): void {
    const { body, source, status, error } = row
    count(this.#written, status, source)
    if (status !== 'found') {
      const reasons = this.#reasons.get(status) ?? new ReasonCounter()
      reasons.add(error ?? reasonOf(row), ordinal + 1)
      this.#reasons.set(status, reasons)
    }
    // Hardly any has it, and every row comes by.
    const hasVendors = source === 'live' && typeof body === 'object' && body !== null && 'not_asked' in body
    for (const { provider, reason } of hasVendors ? notAskedIn(body) : []) {
      const key = `${provider} ${reason}`
      this.notAsked.set(key, { provider, reason, rows: (this.notAsked.get(key)?.rows ?? 0) + 1 })
    }
  }

  /** Returns why rows are invalid, and why any have no result. */
  get reasons(): Pick<RunReport, 'invalid_reasons' | 'without_result'> {
    return {
      invalid_reasons: this.#reasons.get('invalid')?.counts ?? [],
      without_result: [...this.#reasons].flatMap(([status, { counts }]) =>
        counts.map((one) => ({ status, ...one })),
      ),
    }
  }

  /** Counts a row that has its outcome. Its credits are spent even where it can no longer be written. */
  settle({ answer, source, credits, kept, storedAt = Number.POSITIVE_INFINITY }: RowOutcome): void {
    count(this.#settled, answer.status, source)
    this.#oldest = Math.min(this.#oldest, storedAt)
    this.#settled.credits += credits
    if (!kept) return
    this.#settled.credits_before += credits
    this.#replayed++
  }

  /** Returns the counts of the output. */
  get written(): Counts {
    const { credits, credits_before, oldest_stored } = this.progress
    return { ...this.#written, credits, credits_before, oldest_stored }
  }

  /** Returns the counts of the rows that have their outcome. */
  get progress(): RunProgress {
    const oldest = Number.isFinite(this.#oldest) ? { oldest_stored: this.#oldest } : {}
    return { ...this.#settled, ...oldest, total: this.total, replayed: this.#replayed }
  }
}

function count(counts: typeof noRows, status: RowStatus, source: AnswerSource | null): void {
  counts.rows++
  counts[status]++
  if (source !== null) counts[countOf[source]]++
}

/** Exit code of a finished or stopped run: by default rows that failed or were invalid make it 11. */
export function exitCodeOf(report: RunReport, failOn: 'any' | 'none' = 'any'): number {
  if (report.stopped) return report.stopped.exit_code
  return failOn === 'any' && report.failed + report.invalid > 0 ? 11 : 0
}
