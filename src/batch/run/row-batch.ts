import type { Input } from '../../api/calls/caller.js'
import type { Row } from '../../csv/parse.js'
import type { Answer, Source } from '../journal/answer.js'
import type { Wanted } from '../journal/journal.js'

/** What a row ends with: an answer, and how this row came by it. */
export interface Outcome {
  readonly answer: Answer
  /** null for rows that were never looked up. */
  readonly source: Source | null
  readonly credits: number
  /** Whether an earlier part of the run had it. */
  readonly kept?: true
}

/** A row on its way through a run. */
export class Slot {
  readonly row: Row
  /** Number of the row, counted from 0 after the header. */
  readonly ordinal: number
  readonly #group: Group
  input: Input = {}
  identity: string | undefined
  hash: number | undefined
  repeats = false
  most = 0
  /** Absent while the row is on its way, and for good when the run stops before its answer. */
  outcome: Outcome | undefined
  /** Whether its call has been made. */
  sent = false
  #follows = false
  #settled = false
  #followers: Slot[] = []

  constructor(row: Row, ordinal: number, group: Group) {
    this.row = row
    this.ordinal = ordinal
    this.#group = group
  }

  get isSettled(): boolean {
    return this.#settled
  }

  /** Asks for fewer records than the row does. */
  lower(limit: number): void {
    this.input = { ...this.input, limit }
  }

  /** The row as a journal is asked to plan it, where a lower `limit` would make it cheaper. */
  wanted(perRecord: number): Wanted {
    const { ordinal, identity, hash, repeats, most } = this
    return { ordinal, identity, hash, repeats, most, perRecord }
  }

  /** Whether its answer will come by itself: by its own call or by that of an equal row. */
  get underWay(): boolean {
    return this.sent || this.#follows
  }

  /** Ends the row, and with it the equal rows that wait for its answer. */
  settle(outcome: Outcome | undefined): void {
    if (this.#settled) return
    this.outcome = outcome
    this.#settled = true
    this.#group.close()
    for (const follower of this.#followers) follower.settle(asDuplicate(outcome))
    this.#followers = []
  }

  /** Takes the answer of an equal row, now or when it comes. */
  follow(leader: Slot): void {
    this.#follows = true
    if (leader.#settled) this.settle(asDuplicate(leader.outcome))
    else leader.#followers.push(this)
  }
}

const asDuplicate = (outcome: Outcome | undefined): Outcome | undefined =>
  outcome && { answer: outcome.answer, source: 'duplicate', credits: 0 }

/** Rows that are read, prepared and written together. */
export class Group {
  readonly slots: readonly Slot[]
  /** Resolves when every row of the group is settled. */
  readonly settled: Promise<void>
  #open: number
  #resolve: () => void = () => {}

  constructor(rows: readonly Row[], firstOrdinal: number) {
    this.slots = rows.map((row, at) => new Slot(row, firstOrdinal + at, this))
    this.#open = rows.length
    this.settled = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Counts one row as settled. */
  close(): void {
    this.#open--
    if (this.#open === 0) this.#resolve()
  }
}
