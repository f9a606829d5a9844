import { ApiError } from '../api/errors.js'
import type { Batch } from './batch.js'
import { Calls } from './calls.js'
import { Ending } from './ending.js'
import { Group, type Slot } from './group.js'
import { Keeper } from './keeper.js'
import type { OutputRow } from './layout.js'
import { Queue } from './queue.js'
import { type Report, Tally } from './report.js'

const defaultConcurrency = 512
const largestGroup = 256

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
  readonly #groups: Queue<Group>
  readonly #groupSize: number
  /** By identity, the rows of open groups that equal rows wait for. */
  readonly #leaders = new Map<string, Slot>()
  #allRead = false
  #unwritten = 0

  constructor(batch: Batch) {
    const concurrency = batch.concurrency ?? defaultConcurrency
    this.#batch = batch
    this.#tally = new Tally(batch.total)
    this.#keeper = new Keeper(batch.journal)
    this.#groupSize = Math.min(largestGroup, Math.max(1, Math.floor(concurrency / 4)))
    this.#groups = new Queue(Math.ceil((2 * concurrency) / this.#groupSize) + 2)
    this.#calls = new Calls(batch, concurrency, this.#ending, (slot, answer) => {
      if (answer.status !== 'failed') this.#keeper.add({ ...journalRow(slot), answer })
    })
  }

  async run(): Promise<Report> {
    const { signal, time } = this.#batch
    const begun = time.now()
    const interrupted = () => signal && this.#ending.interrupt(signal)
    if (signal?.aborted) interrupted()
    signal?.addEventListener('abort', interrupted)
    await Promise.all([this.#send(), this.#write()])
    signal?.removeEventListener('abort', interrupted)
    const complete = await this.#close()
    this.#ending.raise()
    return this.#report(complete, (time.now() - begun) / 1_000)
  }

  async #send(): Promise<void> {
    let ordinal = 0
    try {
      for await (const rows of this.#batch.table.rows())
        for (let at = 0; at < rows.length; at += this.#groupSize) {
          if (this.#ending.signal.aborted) return
          const group = new Group(rows.slice(at, at + this.#groupSize), ordinal)
          ordinal += group.slots.length
          await this.#groups.put(group)
          await this.#launch(group)
        }
      this.#allRead = true
    } catch (error) {
      this.#ending.fail(error)
    } finally {
      this.#groups.end()
    }
  }

  async #launch(group: Group): Promise<void> {
    const { journal } = this.#batch
    try {
      const leaders = this.#prepare(group)
      const recalled = await journal.recall(leaders.map(journalRow))
      leaders.forEach((slot, at) => {
        if (recalled[at]) slot.settle(recalled[at])
      })
      const unknown = leaders.filter((_, at) => !recalled[at])
      const keys = await journal.plan(unknown.map(journalRow))
      for (const [at, slot] of unknown.entries()) {
        await this.#calls.room()
        if (this.#ending.signal.aborted) break
        this.#calls.start(slot, keys[at])
      }
    } catch (error) {
      this.#ending.fail(error)
    }
    // After an early end the rest of the group stays without answers.
    if (this.#ending.signal.aborted)
      for (const slot of group.slots) if (!slot.underWay) slot.settle(undefined)
  }

  /** Settles what needs no call, and answers the rows that may: one for each identity. */
  #prepare(group: Group): Slot[] {
    return group.slots.filter((slot) => {
      const problem = this.#problem(slot)
      if (problem !== undefined) {
        const answer = { status: 'invalid', error: problem, body: undefined, credits: 0 } as const
        slot.settle({ answer, source: null, credits: 0 })
        return false
      }
      if (slot.identity === undefined) return true
      const leader = this.#leaders.get(slot.identity)
      if (leader) slot.follow(leader)
      else this.#leaders.set(slot.identity, slot)
      return !leader
    })
  }

  /** What is wrong with a row; one that is right gets its input and identity. */
  #problem(slot: Slot): string | undefined {
    const { table, input, validate, identity } = this.#batch
    const { cells, line } = slot.row
    if (cells.length !== table.header.length)
      return `Line ${line} has ${cells.length === 1 ? '1 cell' : `${cells.length} cells`}; the header has ${table.header.length}`
    try {
      slot.input = input(cells)
      validate?.(slot.input)
      slot.identity = identity(slot.input)
      return undefined
    } catch (error) {
      if (error instanceof ApiError) return error.message
      throw error
    }
  }

  async #write(): Promise<void> {
    const { writer, journal, onProgress } = this.#batch
    let writable = true
    for (let group = await this.#groups.first(); group; group = await this.#groups.first()) {
      await group.settled
      await this.#keeper.kept().catch((error: unknown) => this.#ending.fail(error))
      const rows = group.slots.flatMap(outputRow)
      for (const row of rows) this.#tally.spend(row.credits)
      try {
        if (writable && rows.length > 0) {
          await writer.write(rows)
          for (const row of rows) this.#tally.add(row)
          await journal.written((group.slots.at(-1)?.ordinal ?? 0) + 1)
        }
      } catch (error) {
        writable = false
        this.#ending.fail(error)
      }
      this.#unwritten += writable ? group.slots.length - rows.length : group.slots.length
      // Only now: until an answer is kept, equal rows find it here.
      for (const slot of group.slots)
        if (slot.identity !== undefined && this.#leaders.get(slot.identity) === slot)
          this.#leaders.delete(slot.identity)
      this.#groups.drop()
      onProgress?.(this.#tally.progress)
    }
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

const journalRow = ({ ordinal, identity, input }: Slot) => ({ ordinal, identity, input })

function outputRow({ row, outcome }: Slot): OutputRow[] {
  if (!outcome) return []
  const { answer, source, credits } = outcome
  return [
    { cells: row.cells, body: answer.body, status: answer.status, error: answer.error, credits, source },
  ]
}
