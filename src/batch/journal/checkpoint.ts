import type { Journal } from './journal.js'

/** Rows that are told together: what is told after each group costs a commit after each group. */
const rowsPerWord = 2_048

/** Tells of rows whose answers survive a power cut. */
export class Safety {
  readonly #journal: Journal
  readonly #told: ((before: number) => Promise<void>) | undefined
  #before = 0
  #said = 0
  #working: Promise<void> | undefined
  #error: unknown

  constructor(journal: Journal, told: ((before: number) => Promise<void>) | undefined) {
    this.#journal = journal
    this.#told = told
  }

  /** Every row before this ordinal is kept; rejects when an earlier one could not be told. */
  async note(before: number): Promise<void> {
    if (!this.#told) return
    if (this.#error !== undefined) throw this.#error
    this.#before = before
    if (before - this.#said >= rowsPerWord) this.#working ??= this.#work(this.#told)
  }

  /** Resolves when all has been told. */
  async told(): Promise<void> {
    await this.#working
    if (this.#told && this.#said < this.#before) await this.#work(this.#told)
    if (this.#error !== undefined) throw this.#error
  }

  async #work(tell: (before: number) => Promise<void>): Promise<void> {
    try {
      const before = this.#before
      await this.#journal.flush()
      await tell(before)
      this.#said = before
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
}
