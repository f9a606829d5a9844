import type { RunRow } from '../../api/calls/caller.js'
import type { Answer, Source } from './answer.js'

/** A row as the journal knows it. */
export interface JournalRow {
  /** Number of the row, counted from 0 after the header. */
  readonly ordinal: number
  /** Equal for rows that are the same lookup; undefined where a row is like no other. */
  readonly identity: string | undefined
  /** Hash of the identity, a whole number of 53 bits. */
  readonly hash: number | undefined
  /** Whether an equal row may come again in this file. */
  readonly repeats: boolean
  /** The most it can cost. */
  readonly most: number
}

/** An answer that is already there, and what it counts for in the row that takes it. */
export interface Recalled {
  readonly answer: Answer
  /** null for a row that is not looked up. */
  readonly source: Source | null
  readonly credits: number
  /** Where in the store of answers it comes from. */
  readonly origin?: number
  /** Whether it is on record for this very row. */
  readonly kept?: true
}

/** A row that is to be sent. */
export interface Wanted extends JournalRow {
  /** Price of one record, where a lower `limit` makes the row cheaper. */
  readonly perRecord?: number | undefined
}

/** A row that may be sent now: what it can cost is set aside for it. */
export interface Planned {
  /** Idempotency key, the same whenever the row is sent. */
  readonly key: string
  readonly row: RunRow
  /** In place of its own `limit`: what the budget leaves. */
  readonly limit?: number
}

/** How many of the wanted rows may be sent; what stands in the way of the next one. */
export interface Plan {
  /** For the first of the wanted rows. */
  readonly planned: readonly Planned[]
  readonly shortage?: BudgetShortage | undefined
}

/** A budget that leaves too little for another row. */
export interface BudgetShortage {
  /** Whether it is that of the run, or that of the profile for a day. */
  readonly budget: 'run' | 'day'
  readonly credits: number
}

/** Rows that go out as one request; a row that goes by itself among such rows is one of them, too. */
export interface Bulk {
  /** Different from that of any other such request. */
  readonly number: number
  readonly ordinals: readonly number[]
  /** Idempotency key, the same whenever the request is sent. */
  readonly key: string
  readonly row: RunRow
  /** What the target knows its work by; absent while no answer to the request is on record. */
  readonly accepted?: Accepted | undefined
  /** What is left of its rows has no known outcome, and is to be sent anew: the request itself is of no more use. */
  readonly isGivenUp?: true
}

/** Work that a target has accepted for several rows. */
export interface Accepted {
  readonly id: string
  /** What each row's part of it is known by, in the order of the rows; null where the target does not say. */
  readonly parts: readonly (string | null)[]
}

/** What a run remembers of rows that go out as one request. */
export interface BulkJournal {
  /** Requests of an earlier part with rows of the range resumed last, where one of them has no answer yet. */
  open(): readonly Bulk[]
  /** Puts rows on record as one request before it is sent, as many as the budget permits; none below `least`. */
  plan(rows: readonly Wanted[], least: number): Promise<{ bulk?: Bulk | undefined; shortage: BudgetShortage }>
  /** Goes on with a request of an earlier part, unless a budget that is lower now leaves too little for its open rows. */
  reopen(bulk: Bulk, rows: readonly Wanted[]): Promise<BudgetShortage | undefined>
  /** The target has accepted the request: from now on it is only asked for the results. */
  accept(bulk: Bulk, accepted: Accepted): Promise<void>
  /** The request surely had no effect: its rows are as they were before. */
  withdraw(bulk: Bulk): Promise<void>
}

/** A row with its answer. */
export interface Answered extends JournalRow {
  readonly answer: Answer
  readonly source: Source
  readonly origin?: number | undefined
}

/** How a run or a part of it ends. */
export interface End {
  /** Whether all rows are in the output. */
  readonly complete: boolean
  /** Whether it is certain what became of each row that was planned. */
  readonly certain: boolean
  /** Every row before this ordinal has an answer. */
  readonly cleared: number
}

/**
 * What a run remembers, whenever and however it ends. A row goes through it in this order: resumed, or recalled, or
 * else planned, then kept, then written.
 */
export interface Journal {
  /** Present where rows can go out together. */
  readonly bulks?: BulkJournal
  /** Answers that rows of this range have from an earlier part of the run, by ordinal. Ranges follow each other. */
  resume(from: number, to: number): Promise<ReadonlyMap<number, Recalled>>
  /** Answers of equal rows, each at the place of its row; undefined where there is none. */
  recall(rows: readonly JournalRow[]): Promise<readonly (Recalled | undefined)[]>
  /** Puts rows on record before they are sent, as many as the budget permits. */
  plan(rows: readonly Wanted[]): Promise<Plan>
  /** Keeps answers; what is kept is recalled for equal rows. */
  keep(rows: readonly Answered[]): Promise<void>
  /** Every row before the ordinal `cleared` has an answer on record; so many rows are in the output. */
  written(cleared: number, rows: number): Promise<void>
  /** Resolves when all that was kept survives a power cut. */
  flush(): Promise<void>
  end(end: End): Promise<void>
}
