import type { Row } from '../../csv/parse.js'
import type { Answer } from '../journal/answer.js'
import { Safety } from '../journal/checkpoint.js'
import { Keeper } from '../journal/writer.js'
import type { OutputRow } from '../output/layout.js'
import { type Report, Tally } from '../output/report.js'
import type { Batch } from './batch.js'
import { Calls } from './calls.js'
import { Traffic } from './in-flight.js'
import { Launcher } from './launcher.js'
import { Queue } from './queue.js'
import { Gate } from './rate-gate.js'
import { Group, type Slot } from './row-batch.js'
import { Ending } from './stop-reason.js'

const defaultConcurrency = 256
const largestGroup = 256
/** How often progress is told while no group is complete. */
const tellEveryMs = 200
/**
 * Requests for several rows that fit into a group. They never reach beyond it, so that all their rows are at hand when
 * the run goes on; for that, groups always begin at the same rows.
 */
const requestsPerGroup = 5

/**
 * Turns rows into calls and answers into rows, in the order of the input and in constant memory. A refusal that every
 * further row would meet ends the run; whatever was answered until then is written. Rejects only for bugs.
 */
export function run(batch: Batch): Promise<Report> {
  return new Runner(batch).run()
}

class Runner {
  readonly #batch: Batch
  readonly #ending = new Ending()
  readonly #tally: Tally
  readonly #keeper: Keeper
  readonly #calls: Calls
  readonly #launcher: Launcher
  readonly #safety: Safety
  readonly #groups: Queue<Group>
  readonly #groupSize: number
  #launched = 0
  /** Ordinal of the first row without an answer. */
  #cleared = 0
  #allRead = false
  #unwritten = 0
  #toldAt = 0

  constructor(batch: Batch) {
    const concurrency = batch.concurrency ?? defaultConcurrency
    this.#batch = batch
    this.#tally = new Tally(batch.total)
    this.#keeper = new Keeper(batch.journal)
    this.#safety = new Safety(batch.journal, batch.onSafe)
    this.#groupSize = batch.together
      ? requestsPerGroup * batch.together.most
      : Math.min(largestGroup, Math.max(1, Math.floor(concurrency / 2)))
    this.#groups = new Queue(Math.ceil((2 * concurrency) / this.#groupSize) + 2)
    const ending = this.#ending
    const ports = {
      batch,
      ending,
      gate: new Gate(batch.time, ending.signal),
      traffic: new Traffic(ending.signal),
      answered: (slot: Slot, answer: Answer) => this.#answered(slot, answer),
    }
    this.#calls = new Calls(ports, concurrency)
    this.#launcher = new Launcher(ports, this.#keeper, this.#calls)
  }

  async run(): Promise<Report> {
    const { signal, time } = this.#batch
    const begun = time.now()
    this.#toldAt = begun
    const interrupted = () => signal && this.#ending.interrupt(signal)
    if (signal?.aborted) interrupted()
    signal?.addEventListener('abort', interrupted)
    await Promise.all([this.#send(), this.#write()])
    await this.#safety.told().catch((error: unknown) => this.#ending.fail(error))
    signal?.removeEventListener('abort', interrupted)
    const complete = await this.#close()
    await this.#end(complete)
    this.#ending.raise()
    return this.#report(complete, (time.now() - begun) / 1_000)
  }

  #answered(slot: Slot, answer: Answer): void {
    this.#keeper.add(slot, { answer, source: 'live' })
    this.#tally.answered(slot, answer)
    if (this.#batch.time.now() - this.#toldAt >= tellEveryMs) this.#tell()
  }

  #tell(): void {
    const { time, onProgress } = this.#batch
    this.#toldAt = time.now()
    onProgress?.(this.#tally.ahead)
  }

  async #send(): Promise<void> {
    try {
      for await (const rows of inPortions(this.#batch.table.rows(), this.#groupSize)) {
        if (this.#ending.signal.aborted) return
        const group = new Group(rows, this.#launched)
        await this.#groups.put(group)
        this.#launched += group.slots.length
        await this.#launcher.launch(group)
      }
      this.#allRead = true
    } catch (error) {
      this.#ending.fail(error)
    } finally {
      this.#groups.end()
    }
  }

  async #write(): Promise<void> {
    const { writer } = this.#batch
    let writable = true
    for (let group = await this.#groups.first(); group; group = await this.#groups.first()) {
      await group.settled
      await this.#keeper.kept().catch((error: unknown) => this.#ending.fail(error))
      const rows = group.slots.flatMap(outputRow)
      try {
        if (writable && rows.length > 0) {
          await writer.write(rows)
          for (const row of rows) this.#tally.add(row)
        }
      } catch (error) {
        writable = false
        this.#ending.fail(error)
      }
      for (const slot of group.slots) {
        this.#tally.passed(slot)
        if (slot.outcome) this.#tally.spend(slot.outcome.credits, slot.outcome.kept === true)
      }
      this.#unwritten += writable ? group.slots.length - rows.length : group.slots.length
      await this.#noteWritten(group).catch((error: unknown) => this.#ending.fail(error))
      // Only now: until an answer is kept, equal rows find it here.
      this.#launcher.retire(group)
      this.#groups.drop()
      this.#tell()
    }
  }

  /** What is on record needs to be kept nowhere else; where the journal failed, other places may have what it lacks. */
  async #noteWritten(group: Group): Promise<void> {
    const { journal } = this.#batch
    if (this.#keeper.hasFailed || !this.#calls.isCertain) return
    for (const { ordinal, outcome } of group.slots)
      if (outcome && ordinal === this.#cleared) this.#cleared = ordinal + 1
    await journal.written(this.#cleared, this.#tally.progress.rows)
    await this.#safety.note(this.#cleared)
  }

  /** Completes the output when every row is in it, even if the end was asked for meanwhile. */
  async #close(): Promise<boolean> {
    const { writer } = this.#batch
    try {
      if (this.#allRead && this.#unwritten === 0) {
        await writer.finish()
        return true
      }
    } catch (error) {
      this.#ending.fail(error)
    }
    await writer.abandon()
    return false
  }

  async #end(complete: boolean): Promise<void> {
    const certain = this.#calls.isCertain && !this.#keeper.hasFailed
    try {
      await this.#batch.journal.end({ complete: complete && certain, certain, cleared: this.#cleared })
      await this.#batch.journal.flush()
    } catch (error) {
      // A run that cannot be put on record as ended counts as killed, which loses nothing.
      if (!this.#ending.signal.aborted) this.#ending.fail(error)
    }
  }

  #report(complete: boolean, seconds: number): Report {
    const { writer, total } = this.#batch
    const { total: _, ...counts } = this.#tally.progress
    const { cause } = this.#ending
    const files = {
      output: complete ? (writer.output ?? null) : null,
      partial: complete ? null : (writer.partial ?? null),
    }
    if (complete || !cause) return { ...counts, seconds, ...files }
    const rows_left = total === undefined ? null : total - counts.rows
    return { ...counts, seconds, stopped: { ...cause, rows_left }, ...files }
  }
}

/** The same rows in portions of one size, whatever they come in; the last one may be smaller. */
async function* inPortions(
  batches: AsyncIterable<readonly Row[]>,
  size: number,
): AsyncGenerator<readonly Row[]> {
  let rest: readonly Row[] = []
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

function outputRow({ row, outcome }: Slot): OutputRow[] {
  if (!outcome) return []
  const { answer, source, credits } = outcome
  return [
    { cells: row.cells, body: answer.body, status: answer.status, error: answer.error, credits, source },
  ]
}
