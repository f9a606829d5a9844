import type { Answer, Source } from './answer.js'
import type { Answered, Journal, JournalRow } from './journal.js'

/** An answer that is to be kept, and where it came from. */
interface Found {
  readonly answer: Answer
  readonly source: Source
  readonly origin?: number
}

/** Hands answers to the journal as they come, in as few portions as its speed allows. */
export class JournalWriter {
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

/** Rows between two durability checkpoints. Each one costs a commit. */
const rowsPerWord = 2_048

/** Tells of rows whose answers survive a power cut. */
export class DurabilityCheckpoint {
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
