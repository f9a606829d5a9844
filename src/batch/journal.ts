import type { Input } from '../api/caller.js'
import type { Answer, Source } from './answer.js'

/** A row as the journal knows it. */
export interface JournalRow {
  /** Number of the row, counted from 0 after the header. */
  readonly ordinal: number
  /** Equal for rows that are the same lookup; undefined where a row is like no other. */
  readonly identity: string | undefined
  readonly input: Input
}

/** An answer that is already there, and what it counts for in the row that takes it. */
export interface Recalled {
  readonly answer: Answer
  readonly source: Source
  readonly credits: number
}

/** A row with the answer it got by a call. */
export interface Answered extends JournalRow {
  readonly answer: Answer
}

/**
 * What a run remembers. A row goes through it in this order: recalled, or else planned, then kept, then written.
 * A durable journal can end at any moment and say afterwards where each row stood.
 */
export interface Journal {
  /** Answers that need no call, each at the place of its row; undefined where there is none. */
  recall(rows: readonly JournalRow[]): Promise<readonly (Recalled | undefined)[]>
  /** Puts rows on record before they are sent; answers their idempotency keys, each at the place of its row. */
  plan(rows: readonly JournalRow[]): Promise<readonly (string | undefined)[]>
  /** Keeps answers; what is kept is recalled for equal rows. */
  keep(rows: readonly Answered[]): Promise<void>
  /** Every row before this ordinal that has an answer is in the output. */
  written(before: number): Promise<void>
  close(): Promise<void>
}
