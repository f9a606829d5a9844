import type { AnswerSource, RowAnswer } from './answer.js'
import type { AnsweredRow, Journal, JournalRow } from './journal.js'

/** An answer that is to be kept, and where it came from. */
interface KnownAnswer {
  readonly answer: RowAnswer
  readonly source: AnswerSource
  readonly origin?: number
  readonly answeredAt?: number | undefined
}

/** Passes answers to the journal as they come, in as few portions as its speed allows. */
export class JournalWriter {
  #waiting: AnsweredRow[] = []
  #working: Promise<void> | undefined
  #error: unknown

  constructor(private readonly journal: Journal) {}

  /** Whether the journal could not keep an answer. */
  get hasFailed(): boolean {
    return this.#error !== undefined
  }

  add(row: JournalRow, { answer, source, origin, answeredAt }: KnownAnswer): void {
    const { ordinal, identity, hash, repeats, most } = row
    this.#waiting.push({ ordinal, identity, hash, repeats, most, answer, source, origin, answeredAt })
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
        // Other answers of this turn of the event loop join the portion.
        await new Promise((resolve) => setImmediate(resolve))
        const rows = this.#waiting
        this.#waiting = []
        await this.journal.keep(rows)
      }
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
}

/** Rows between two durability checkpoints. Each one costs a commit. */
const rowsPerReport = 2_048

/** Reports from time to time which answers survive a power cut. */
export class DurabilityCheckpoint {
  #before = 0
  #reported = 0
  #working: Promise<void> | undefined
  #error: unknown

  constructor(
    private readonly journal: Journal,
    private readonly report: ((before: number) => Promise<void>) | undefined,
  ) {}

  /** Notes that every row before this ordinal is kept. Rejects when an earlier report failed. */
  async note(before: number): Promise<void> {
    if (!this.report) return
    if (this.#error !== undefined) throw this.#error
    this.#before = before
    if (before - this.#reported >= rowsPerReport) this.#working ??= this.#work(this.report)
  }

  /** Resolves when everything has been reported. */
  async reported(): Promise<void> {
    await this.#working
    if (this.report && this.#reported < this.#before) await this.#work(this.report)
    if (this.#error !== undefined) throw this.#error
  }

  async #work(report: (before: number) => Promise<void>): Promise<void> {
    try {
      const before = this.#before
      await this.journal.flush()
      await report(before)
      this.#reported = before
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
}
