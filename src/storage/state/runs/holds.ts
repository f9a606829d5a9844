import { isUnknown } from '../../../batch/journal/answer.js'
import type { Answered, Wanted } from '../../../batch/journal/journal.js'
import type { Run } from './runs.js'
import type { Claims } from './spending.js'

/** What answers change in the counters of a run. */
export interface CounterChange {
  readonly credits: number
  readonly calls: number
  /** Credits that are no longer set aside. */
  readonly released: number
  /** Credits that stay set aside because the outcome of their rows is unknown. */
  readonly unknown: number
}

/** The credits set aside for the rows of a run that are under way. */
export class Holds {
  readonly #held = new Map<number, number>()
  /** Rows for which an earlier part set them aside. */
  readonly #covered = new Set<number>()
  /** Rows with an unknown outcome that are sent again. */
  readonly #retried = new Set<number>()

  hold(ordinal: number, credits: number, isCovered: boolean): void {
    this.#held.set(ordinal, credits)
    if (isCovered) this.#covered.add(ordinal)
  }

  retry(ordinal: number): void {
    this.#retried.add(ordinal)
  }

  /** Maximum cost of the rows under way, without those whose recorded outcome is unknown. */
  get underWay(): number {
    let credits = 0
    for (const [ordinal, held] of this.#held) if (!this.#retried.has(ordinal)) credits += held
    return credits
  }

  /** Returns what sending a row at a maximum of `cost` adds to the credits under way or of unknown outcome. */
  addedBy(ordinal: number, cost: number, most: number): number {
    return cost - (this.#retried.has(ordinal) ? most : (this.#held.get(ordinal) ?? 0))
  }

  isRetried(ordinal: number): boolean {
    return this.#retried.has(ordinal)
  }

  /** Returns the credits that this part set aside for rows without an answer, except for some. */
  leftBut(isExcepted: (ordinal: number) => boolean): number {
    let credits = 0
    for (const [ordinal, held] of this.#held)
      if (!this.#covered.has(ordinal) && !isExcepted(ordinal)) credits += held
    return credits
  }

  /** Returns the credits that this part set aside for some rows. */
  freshOf(ordinals: readonly number[]): number {
    const own = ordinals.filter((ordinal) => !this.#covered.has(ordinal))
    return own.reduce((credits, ordinal) => credits + (this.#held.get(ordinal) ?? 0), 0)
  }

  /** Releases the credits that this part set aside for some rows. */
  release(ordinals: readonly number[]): void {
    for (const ordinal of ordinals) if (!this.#covered.has(ordinal)) this.#held.delete(ordinal)
  }

  /** Returns what answers will change. */
  changeBy(rows: readonly Answered[]): CounterChange {
    const change = { credits: 0, calls: 0, released: 0, unknown: 0 }
    for (const { ordinal, answer, source, most } of rows) {
      const wasUnknown = this.#retried.has(ordinal)
      if (source === 'live') {
        change.calls++
        change.credits += answer.credits
      }
      if (isUnknown(answer)) change.unknown += wasUnknown ? 0 : most
      else {
        change.released += this.#held.get(ordinal) ?? 0
        if (wasUnknown) change.unknown -= most
      }
    }
    return change
  }

  /** Removes rows whose answers are recorded. */
  settle(rows: readonly Answered[]): void {
    for (const { ordinal } of rows) {
      this.#held.delete(ordinal)
      this.#covered.delete(ordinal)
      this.#retried.delete(ordinal)
    }
  }
}

/** What earlier parts of a run did with the rows of the current range. */
export class ResumeState {
  readonly #run: Run
  readonly #holds: Holds
  #sent: ReadonlySet<number> = new Set()
  #covered: ReadonlySet<number> = new Set()

  constructor(run: Run, holds: Holds) {
    this.#run = run
    this.#holds = holds
  }

  /** Notes the rows of a range that may have been sent: those that `failed`, and those for which credits are set aside. */
  note(covered: ReadonlySet<number>, failed: ReadonlySet<number>): void {
    this.#covered = covered
    this.#sent = failed.size > 0 ? new Set([...covered, ...failed]) : covered
  }

  /** Notes that no row of the current range was sent. */
  pass(): void {
    if (this.#sent.size > 0) this.#sent = this.#covered = new Set()
  }

  /** Returns whether a row may have been sent. */
  sent(ordinal: number): boolean {
    return this.#sent.has(ordinal)
  }

  /** Returns whether credits are still set aside for a row. */
  covers(ordinal: number): boolean {
    return this.#covered.has(ordinal)
  }

  get coversSome(): boolean {
    return this.#covered.size > 0
  }

  /** Returns the limit that a row was sent with because of a budget. */
  loweredOf(ordinal: number): number | null {
    const { loweredRow, loweredLimit } = this.#run
    return this.sent(ordinal) && ordinal === loweredRow ? loweredLimit : null
  }

  /** Returns the credits set aside for a row. */
  heldFor({ ordinal, most, perRecord = 0 }: Wanted): number {
    const limit = this.loweredOf(ordinal)
    return limit === null ? most : limit * perRecord
  }

  claims(): Claims {
    const holds = this.#holds
    const of = (row: Wanted) =>
      this.covers(row.ordinal) ? holds.addedBy(row.ordinal, this.heldFor(row), row.most) : undefined
    // Only rows of an earlier part have to fit in beside what is under way.
    return { underWay: this.coversSome ? holds.underWay : 0, of }
  }
}
