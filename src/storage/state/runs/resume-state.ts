import type { Wanted } from '../../../batch/journal/journal.js'
import type { Claims } from './budget.js'
import type { Holds } from './holds.js'
import type { Run } from './runs.js'

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
