import type { Answer, Source } from './answer.js'
import type { Answered, Journal, JournalRow } from './journal.js'

/** An answer that is to be kept, and where it came from. */
interface Found {
  readonly answer: Answer
  readonly source: Source
  readonly origin?: number
}

/** Hands answers to the journal as they come, in as few portions as its speed allows. */
export class Keeper {
  readonly #journal: Journal
  #waiting: Answered[] = []
  #working: Promise<void> | undefined
  #error: unknown

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Whether the journal could not keep an answer. */
  get hasFailed(): boolean {
    return this.#error !== undefined
  }

  add({ ordinal, identity, hash, repeats, most }: JournalRow, { answer, source, origin }: Found): void {
    this.#waiting.push({ ordinal, identity, hash, repeats, most, answer, source, origin })
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
