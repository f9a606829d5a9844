import type { Journal } from './journal.js'

/** Tells of rows whose answers survive a power cut, as often as the disk says so. */
export class Safety {
  readonly #journal: Journal
  readonly #told: ((before: number) => Promise<void>) | undefined
  #before = 0
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
    this.#working ??= this.#work(this.#told)
  }

  /** Resolves when all has been told. */
  async told(): Promise<void> {
    await this.#working
    if (this.#error !== undefined) throw this.#error
  }

  async #work(tell: (before: number) => Promise<void>): Promise<void> {
    try {
      for (let told = 0; told < this.#before; ) {
        const before = this.#before
        await this.#journal.flush()
        await tell(before)
        told = before
      }
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
}
