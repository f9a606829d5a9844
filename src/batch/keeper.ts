import type { Answered, Journal } from './journal.js'

/** Hands answers to the journal as they come, in as few portions as its speed allows. */
export class Keeper {
  readonly #journal: Journal
  #waiting: Answered[] = []
  #working: Promise<void> | undefined
  #error: unknown

  constructor(journal: Journal) {
    this.#journal = journal
  }

  add(row: Answered): void {
    this.#waiting.push(row)
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
        // Whatever else this turn of the event loop brings joins the portion.
        await new Promise((resolve) => setImmediate(resolve))
        const rows = this.#waiting
        this.#waiting = []
        await this.#journal.keep(rows)
      }
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
}
