import { isUnknown } from '../../../batch/journal/answer.js'
import type { Answered } from '../../../batch/journal/journal.js'

/** What answers change in the books of a run. */
export interface Change {
  readonly credits: number
  readonly calls: number
  /** Was set aside, and no longer is. */
  readonly released: number
  /** Stays set aside because nobody knows what became of it. */
  readonly unknown: number
}

/** What is set aside for the rows of a run that are under way. */
export class Holds {
  readonly #held = new Map<number, number>()
  /** Rows for which an earlier part set it aside. */
  readonly #covered = new Set<number>()
  /** Rows on record as unknown that are sent again. */
  readonly #retried = new Set<number>()

  hold(ordinal: number, credits: number, isCovered: boolean): void {
    this.#held.set(ordinal, credits)
    if (isCovered) this.#covered.add(ordinal)
  }

  retry(ordinal: number): void {
    this.#retried.add(ordinal)
  }

  /** What the rows under way can cost, without those on record as unknown. */
  get underWay(): number {
    let credits = 0
    for (const [ordinal, held] of this.#held) if (!this.#retried.has(ordinal)) credits += held
    return credits
  }

  /** What sending a row adds to what is under way or on record as unknown, when it can cost `cost` this time. */
  addedBy(ordinal: number, cost: number, most: number): number {
    return cost - (this.#retried.has(ordinal) ? most : (this.#held.get(ordinal) ?? 0))
  }

  isRetried(ordinal: number): boolean {
    return this.#retried.has(ordinal)
  }

  /** What this part set aside for rows that have no answer, except for some. */
  leftBut(isExcepted: (ordinal: number) => boolean): number {
    let credits = 0
    for (const [ordinal, held] of this.#held)
      if (!this.#covered.has(ordinal) && !isExcepted(ordinal)) credits += held
    return credits
  }

  /** What this part set aside for some rows. */
  freshOf(ordinals: readonly number[]): number {
    const own = ordinals.filter((ordinal) => !this.#covered.has(ordinal))
    return own.reduce((credits, ordinal) => credits + (this.#held.get(ordinal) ?? 0), 0)
  }

  /** Gives back what this part set aside for some rows. */
  release(ordinals: readonly number[]): void {
    for (const ordinal of ordinals) if (!this.#covered.has(ordinal)) this.#held.delete(ordinal)
  }

  /** What answers will change. */
  changeBy(rows: readonly Answered[]): Change {
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

  /** Takes rows whose answers are on record off the books. */
  settle(rows: readonly Answered[]): void {
    for (const { ordinal } of rows) {
      this.#held.delete(ordinal)
      this.#covered.delete(ordinal)
      this.#retried.delete(ordinal)
    }
  }
}
