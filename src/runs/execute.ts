import type { CsvRow } from '../csv/parse.js'
import { InFlightCounter, Queue, RateGate, StopReason } from './flow.js'
import { DurabilityCheckpoint, isUnknown, JournalWriter, type RowAnswer } from './journal/journal.js'
import { Calls, Launcher } from './launcher.js'
import type { OutputRow } from './output/columns.js'
import { DoubtedRows, type DoubtedWhen, type RunReport, Tally } from './output/report.js'
import { RowBatch, type RowState } from './plan/lookup.js'
import type { Batch } from './ports.js'

const defaultConcurrency = 256
const largestBatch = 256
/** How often progress is shown while no row batch is complete. */
const showEveryMs = 200
/**
 * Number of requests for several rows in a row batch. A request never spans two of them, so that all its rows are there when
 * the run is resumed. Therefore row batches always begin at the same rows.
 */
const requestsPerBatch = 5

/**
 * Turns rows into calls and answers into rows, in the order of the input and in constant memory. A refusal that would meet
 * every further row ends the run; earlier answers are written. Rejects only for bugs.
 */
export function execute(batch: Batch): Promise<RunReport> {
  return new Runner(batch).run()
}

class Runner {
  readonly #stopReason: StopReason
  readonly #tally: Tally
  readonly #doubted = new DoubtedRows()
  readonly #journalWriter: JournalWriter
  readonly #calls: Calls
  readonly #launcher: Launcher
  readonly #checkpoint: DurabilityCheckpoint
  readonly #rateGate: RateGate
  readonly #rowBatches: Queue<RowBatch>
  readonly #batchSize: number
  #launched = 0
  /** Ordinal of the first row without an answer. */
  #cleared = 0
  /** Ordinal of the first row whose answer was lost: the target keeps the replies to it and to those after it. */
  #lost = Number.POSITIVE_INFINITY
  #allRead = false
  #unwritten = 0
  #shownAt = 0

  constructor(private readonly batch: Batch) {
    const concurrency = batch.concurrency ?? defaultConcurrency
    this.#tally = new Tally(batch.total)
    this.#journalWriter = new JournalWriter(batch.journal)
    this.#checkpoint = new DurabilityCheckpoint(batch.journal, batch.onSafe)
    this.#batchSize = batch.together
      ? requestsPerBatch * batch.together.most
      : Math.min(largestBatch, concurrency)
    this.#rowBatches = new Queue(Math.ceil((2 * concurrency) / this.#batchSize) + 1)
    const stopReason = new StopReason(batch.explainStop)
    this.#stopReason = stopReason
    this.#rateGate = new RateGate(batch.time, stopReason.signal, () => this.#showProgress())
    const ports = {
      batch,
      stopReason,
      rateGate: this.#rateGate,
      inFlight: new InFlightCounter(stopReason.signal),
      answered: (state: RowState, answer: RowAnswer) => this.#answered(state, answer),
      doubted: ({ ordinal }: RowState, when: DoubtedWhen) => this.#doubted.add(ordinal, when),
    }
    this.#calls = new Calls(ports, concurrency)
    this.#launcher = new Launcher(ports, this.#journalWriter, this.#calls)
  }

  async run(): Promise<RunReport> {
    const { signal, time } = this.batch
    const begun = time.now()
    this.#shownAt = begun
    const interrupted = () => signal && this.#stopReason.interrupt(signal)
    if (signal?.aborted) interrupted()
    signal?.addEventListener('abort', interrupted)
    await Promise.all([this.#send(), this.#write()])
    await this.#checkpoint.reported().catch((error: unknown) => this.#stopReason.fail(error))
    signal?.removeEventListener('abort', interrupted)
    const complete = await this.#close()
    await this.#end(complete)
    this.#stopReason.raise()
    return this.#report(complete, (time.now() - begun) / 1_000)
  }

  #answered(state: RowState, answer: RowAnswer): void {
    this.#journalWriter.add(state, { answer, source: 'live' })
    this.#tally.noted(state, { answer, credits: answer.credits })
    this.#launcher.note(state, answer)
    // While calls wait, nothing else would show the last answers.
    const isDue = this.batch.time.now() - this.#shownAt >= showEveryMs
    if (isDue || this.#rateGate.opens) this.#showProgress()
  }

  #showProgress(): void {
    const { time, onProgress } = this.batch
    this.#shownAt = time.now()
    onProgress?.({ ...this.#tally.ahead, waitsUntil: this.#rateGate.opensAt })
  }

  /** Whether no further row can get an answer. After an early end, those of earlier parts are still written. */
  get #isOver(): boolean {
    const { isFault, signal } = this.#stopReason
    return isFault || (signal.aborted && this.#launched >= this.batch.journal.answeredUpTo)
  }

  async #send(): Promise<void> {
    try {
      for await (const rows of inPortions(this.batch.table.rows(), this.#batchSize)) {
        if (this.#isOver) return
        const rowBatch = new RowBatch(rows, this.#launched, (state) => {
          if (state.outcome) this.#tally.noted(state, state.outcome)
        })
        await this.#rowBatches.put(rowBatch)
        this.#launched += rowBatch.states.length
        await this.#launcher.launch(rowBatch)
      }
      this.#allRead = true
    } catch (error) {
      this.#stopReason.fail(error)
    } finally {
      this.#rowBatches.end()
    }
  }

  async #write(): Promise<void> {
    const { writer } = this.batch
    let writable = true
    for (let rowBatch = await this.#rowBatches.first(); rowBatch; rowBatch = await this.#rowBatches.first()) {
      await rowBatch.settled
      await this.#journalWriter.kept().catch((error: unknown) => this.#stopReason.fail(error))
      let rows = rowBatch.states.flatMap(outputRow)
      try {
        rows = await withoutSuppressed(this.batch, rows)
        if (writable && rows.length > 0) {
          await writer.write(rows)
          for (const row of rows) this.#tally.add(row)
          for (const { outcome, leftOut } of rowBatch.states)
            if (outcome && outcome.answer.status !== 'invalid') this.#tally.addLeftOut(leftOut)
        }
      } catch (error) {
        writable = false
        this.#stopReason.fail(error)
      }
      for (const state of rowBatch.states) {
        this.#tally.passed(state)
        if (state.outcome) this.#tally.spend(state.outcome)
      }
      this.#unwritten += writable ? rowBatch.states.length - rows.length : rowBatch.states.length
      await this.#noteWritten(rowBatch).catch((error: unknown) => this.#stopReason.fail(error))
      // Not earlier: until an answer is recorded, equal rows find it here.
      this.#launcher.retire(rowBatch)
      this.#rowBatches.drop()
      this.#showProgress()
    }
  }

  /** Reports recorded rows, so that targets need not keep their replies; not where the journal failed. */
  async #noteWritten(rowBatch: RowBatch): Promise<void> {
    const { journal } = this.batch
    if (this.#journalWriter.hasFailed || !this.#calls.isCertain) return
    for (const { ordinal, outcome } of rowBatch.states) {
      if (outcome && ordinal === this.#cleared) this.#cleared = ordinal + 1
      if (outcome && isUnknown(outcome.answer)) this.#lost = Math.min(this.#lost, ordinal)
    }
    // Where the output cannot be written, the rows that have recorded answers count.
    await journal.written(this.#cleared, Math.max(this.#cleared, this.#tally.progress.rows))
    await this.#checkpoint.note(Math.min(this.#cleared, this.#lost))
  }

  /** Completes the output when every row is in it, even if the end was asked for meanwhile. */
  async #close(): Promise<boolean> {
    const { writer } = this.batch
    try {
      if (this.#allRead && this.#unwritten === 0) {
        await writer.finish()
        return true
      }
    } catch (error) {
      this.#stopReason.fail(error)
    }
    await writer.abandon()
    return false
  }

  async #end(complete: boolean): Promise<void> {
    const certain = this.#calls.isCertain && !this.#journalWriter.hasFailed
    try {
      const isAll = complete && certain && this.batch.hasMore !== true
      const { invalid } = this.#tally.progress
      const doubted = this.#doubted.counts?.passed_on.answers
      await this.batch.journal.end({ complete: isAll, certain, cleared: this.#cleared, invalid, doubted })
      await this.batch.journal.flush()
    } catch (error) {
      // A run whose end cannot be recorded counts as killed, which loses nothing.
      if (!this.#stopReason.signal.aborted) this.#stopReason.fail(error)
    }
  }

  #report(complete: boolean, seconds: number): RunReport {
    const { writer, total } = this.batch
    const { total: _, replayed: __, ...progress } = this.#tally.progress
    const doubted = this.#doubted.counts
    const { reasons, leftOut } = this.#tally
    const counts = {
      ...progress,
      invalid_reasons: reasons,
      not_understood: leftOut,
      ...(doubted === undefined ? {} : { doubted }),
    }
    const { cause } = this.#stopReason
    const files = {
      output: complete ? (writer.output ?? null) : null,
      partial: complete ? null : (writer.partial ?? null),
    }
    if (complete || !cause) return { ...counts, seconds, ...files }
    const rows_left = total === undefined ? null : total - counts.rows
    return { ...counts, seconds, stopped: { ...cause, rows_left }, ...files }
  }
}

/** Yields rows in portions of one size; the last one may be smaller. */
async function* inPortions(
  batches: AsyncIterable<readonly CsvRow[]>,
  size: number,
): AsyncGenerator<readonly CsvRow[]> {
  let rest: readonly CsvRow[] = []
  let broken: { readonly error: unknown } | undefined
  try {
    for await (const batch of batches) {
      const rows = rest.length === 0 ? batch : [...rest, ...batch]
      const whole = rows.length - (rows.length % size)
      for (let at = 0; at < whole; at += size) yield rows.slice(at, at + size)
      rest = rows.slice(whole)
    }
  } catch (error) {
    broken = { error }
  }
  if (rest.length > 0) yield rest
  if (broken) throw broken.error
}

/** Returns rows without results about people and companies that are suppressed: they keep the columns of the input. */
async function withoutSuppressed({ suppressor }: Batch, rows: readonly OutputRow[]): Promise<OutputRow[]> {
  const bodies = rows.map(({ body }) => body)
  const suppressed = await suppressor?.areAbout(bodies)
  if (!suppressor || !suppressed) return [...rows]
  const { results } = (await suppressor.records({ results: bodies })) as { results: readonly unknown[] }
  return rows.map((row, at) =>
    suppressed[at]
      ? { ...row, status: 'suppressed', error: null, body: undefined, source: null }
      : row.body === undefined
        ? row
        : { ...row, body: results[at] },
  )
}

function outputRow({ row, outcome }: RowState): OutputRow[] {
  if (!outcome) return []
  const { answer, source, credits } = outcome
  const { body, status, error } = answer
  return [{ ...row, body, status, error, credits, source }]
}
