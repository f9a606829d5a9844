import { ConnectionLost, lostCall, type Reply } from '../api/calls/caller.js'
import { type Operation, operation } from '../api/operations/table.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import type { CsvRow } from '../csv/parse.js'
import { BulkLauncher } from './bulk.js'
import { InFlightCounter, RateGate, StopReason } from './flow-control.js'
import { turnPollMs } from './journal/answers.js'
import {
  cutAt,
  DurabilityCheckpoint,
  isUnknown,
  JournalWriter,
  judge,
  lostAnswer,
  type PlannedRow,
  type RowAnswer,
} from './journal/journal.js'
import type { OutputRow } from './output/columns.js'
import { DoubtedRows, type RunReport, Tally } from './output/report.js'
import { prepare, RowBatch, type RowState } from './plan/lookup.js'
import type { Batch, CallPorts } from './ports.js'

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
export const execute = (batch: Batch): Promise<RunReport> => new Runner(batch).run()

class Runner {
  readonly #stopReason: StopReason
  readonly #tally: Tally
  readonly #doubted = new DoubtedRows()
  readonly #journalWriter: JournalWriter
  readonly #calls: Calls
  readonly #launcher: Launcher
  readonly #checkpoint: DurabilityCheckpoint
  readonly #rateGate: RateGate
  /** How many batches of rows may be read that are not written yet. */
  readonly #ahead: number
  #isWritable = true
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
    this.#batchSize = batch.bulkRequests
      ? requestsPerBatch * batch.bulkRequests.most
      : Math.min(largestBatch, concurrency)
    this.#ahead = Math.ceil((2 * concurrency) / this.#batchSize) + 1
    const stopReason = new StopReason(batch.explainStop)
    this.#stopReason = stopReason
    this.#rateGate = new RateGate(batch.time, stopReason.signal, () => this.#showProgress())
    const ports = {
      batch,
      stopReason,
      rateGate: this.#rateGate,
      inFlight: new InFlightCounter(stopReason.signal),
      answered: (state: RowState, answer: RowAnswer) => this.#answered(state, answer),
      doubted: this.#doubted,
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
    await this.#process()
    await this.#checkpoint.reported().catch((error: unknown) => this.#stopReason.fail(error))
    signal?.removeEventListener('abort', interrupted)
    const complete = await this.#close()
    await this.#end(complete)
    this.#stopReason.raise()
    return this.#report(complete, (time.now() - begun) / 1_000)
  }

  #answered(state: RowState, answer: RowAnswer): void {
    this.#journalWriter.add(state, { answer, source: 'live' })
    this.#launcher.note(state, answer)
  }

  #settled({ outcome }: RowState): void {
    if (!outcome) return
    this.#tally.settle(outcome)
    // While calls wait, nothing else would show the last answers.
    const isDue = this.batch.time.now() - this.#shownAt >= showEveryMs
    if (isDue || this.#rateGate.opens) this.#showProgress()
  }

  #showProgress(): void {
    const { time, onProgress } = this.batch
    this.#shownAt = time.now()
    onProgress?.({ ...this.#tally.progress, waitsUntil: this.#rateGate.opensAt })
  }

  /** Whether no further row can get an answer. After an early end, those of earlier parts are still written. */
  get #isOver(): boolean {
    const { isFault, signal } = this.#stopReason
    return isFault || (signal.aborted && this.#launched >= this.batch.journal.answeredUpTo)
  }

  async #process(): Promise<void> {
    let written = Promise.resolve()
    const open: Promise<void>[] = []
    try {
      for await (const rows of inPortions(this.batch.table.rows(), this.#batchSize)) {
        if (this.#isOver) return
        const rowBatch = new RowBatch(rows, this.#launched, (state) => this.#settled(state))
        if (open.length >= this.#ahead) await open.shift()
        written = written.then(() => this.#write(rowBatch))
        open.push(written)
        this.#launched += rowBatch.states.length
        await this.#launcher.launch(rowBatch)
      }
      this.#allRead = true
    } catch (error) {
      this.#stopReason.fail(error)
    } finally {
      await written
    }
  }

  async #write(rowBatch: RowBatch): Promise<void> {
    await rowBatch.settled
    await this.#journalWriter.kept().catch((error: unknown) => this.#stopReason.fail(error))
    let rows = rowBatch.states.flatMap(outputRow)
    try {
      rows = await withoutSuppressed(this.batch, rows)
      if (this.#isWritable && rows.length > 0) {
        await this.batch.writer.write(rows)
        for (const row of rows) this.#tally.add(row)
        for (const { outcome, leftOut } of rowBatch.states)
          if (leftOut.length > 0 && outcome && outcome.answer.status !== 'invalid')
            this.#tally.leftOut.addRow(leftOut)
      }
    } catch (error) {
      this.#isWritable = false
      this.#stopReason.fail(error)
    }
    this.#unwritten += this.#isWritable ? rowBatch.states.length - rows.length : rowBatch.states.length
    await this.#noteWritten(rowBatch).catch((error: unknown) => this.#stopReason.fail(error))
    // Not earlier: until an answer is recorded, equal rows find it here.
    this.#launcher.retire(rowBatch)
    this.#showProgress()
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
    await journal.written(this.#cleared, Math.max(this.#cleared, this.#tally.written.rows))
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
      const { invalid } = this.#tally.written
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
    const doubted = this.#doubted.counts
    const { written, reasons, leftOut, notAsked } = this.#tally
    const { cause } = this.#stopReason
    const rows_left = total === undefined ? null : total - written.rows
    return {
      ...written,
      invalid_reasons: reasons.counts,
      not_understood: leftOut.counts,
      not_asked: [...notAsked.values()],
      ...(doubted === undefined ? {} : { doubted }),
      seconds,
      ...(complete || !cause ? {} : { stopped: { ...cause, rows_left } }),
      output: complete ? (writer.output ?? null) : null,
      partial: complete ? null : (writer.partial ?? null),
    }
  }
}

async function* inPortions(
  batches: AsyncIterable<readonly CsvRow[]>,
  size: number,
): AsyncGenerator<readonly CsvRow[]> {
  let rest: readonly CsvRow[] = []
  try {
    for await (const batch of batches) {
      const rows = rest.length === 0 ? batch : [...rest, ...batch]
      const whole = rows.length - (rows.length % size)
      for (let at = 0; at < whole; at += size) yield rows.slice(at, at + size)
      rest = rows.slice(whole)
    }
  } finally {
    // Rows before an error come first.
    if (rest.length > 0) yield rest
  }
}

/** Returns rows without results about people and companies that are suppressed: they keep the columns of the input. */
async function withoutSuppressed(
  { suppressor, input, about = (_, given) => given }: Batch,
  rows: readonly OutputRow[],
): Promise<OutputRow[]> {
  if (!suppressor) return [...rows]
  const bodies = rows.map(({ body }) => body)
  // An answer need not say which company was asked for.
  const suppressed = await suppressor.areAbout(
    rows.map(({ cells, body }) =>
      body === undefined ? undefined : { body, input: about(cells, input(cells)) },
    ),
  )
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

class Calls {
  readonly #operation: Operation
  #calling = 0
  /** Calls that wait until another one has ended. */
  readonly #line: (() => void)[] = []
  /** Whether each call was answered or certainly not made. */
  isCertain = true

  constructor(
    private readonly ports: CallPorts,
    private atOnce: number,
  ) {
    this.#operation = operation(ports.batch.operation)
    ports.stopReason.signal.addEventListener('abort', () => this.#line.splice(0).forEach((go) => void go()), {
      once: true,
    })
  }

  /** Resolves when another row may be sent, or when none will be any more. */
  async room(): Promise<void> {
    while (this.ports.inFlight.underWay >= this.atOnce && !this.ports.stopReason.signal.aborted)
      await this.ports.inFlight.progress()
  }

  start(state: RowState, planned: PlannedRow): void {
    this.ports.inFlight.begin()
    state.sent = true
    if (planned.limit !== undefined) state.lower(planned.limit)
    void this.#finish(state, planned)
  }

  async #finish(state: RowState, planned: PlannedRow): Promise<void> {
    try {
      const answer = await this.#ask(state, planned)
      if (answer) this.ports.answered(state, answer)
      state.settle(answer && { answer, source: 'live', credits: answer.credits })
    } catch (error) {
      this.isCertain = false
      this.ports.stopReason.fail(error)
      state.settle(undefined)
    }
    this.ports.inFlight.end()
  }

  /** Counts a call that may be made now: the rate gate is open, and a window admits another one. */
  #enters(): boolean {
    const { stopReason, rateGate } = this.ports
    if (stopReason.signal.aborted || rateGate.opens || this.#calling >= this.atOnce) return false
    this.#calling++
    return true
  }

  /** Counts a call as soon as it may be made. Returns false where the run stops first. */
  async #enter(): Promise<boolean> {
    const { stopReason, rateGate } = this.ports
    while (!stopReason.signal.aborted) {
      if (this.#enters()) return true
      await (rateGate.opens ?? new Promise<void>((resolve) => this.#line.push(resolve)))
    }
    return false
  }

  #leave(): void {
    this.#calling--
    this.#line.shift()?.()
  }

  async #ask(state: RowState, { key, row, limit, input }: PlannedRow): Promise<RowAnswer | undefined> {
    const { batch, doubted } = this.ports
    const { caller, time, callOptions: { apiKey, origin, signal } = {} } = batch
    for (let again = false; ; again = true) {
      if (!this.#enters() && !(await this.#enter())) return undefined
      const own = row && again ? { ...row, fresh: false } : row
      const onDoubted = doubted.onDoubted([state.ordinal])
      const options = { apiKey, idempotencyKey: key, row: own, signal, origin, onDoubted }
      let reply: Reply | ConnectionLost
      try {
        reply = await caller.call(this.#operation.id, input ?? state.input, options)
      } catch (error) {
        reply = lostCall(error)
      } finally {
        this.#leave()
      }
      if (reply instanceof ConnectionLost) {
        if (!signal?.aborted) return lostAnswer(reply, this.#operation)
        // What was started goes on, and the next part of the run asks for it under the same key.
        this.isCertain = false
        return undefined
      }
      if (reply.isDoubted) doubted.add([state.ordinal], 'discarded')
      const verdict = judge(reply, this.#operation, time.now())
      if (verdict.kind === 'answer')
        return limit === undefined ? verdict.answer : cutAt(limit, verdict.answer, this.#operation)
      if (verdict.kind === 'stop') {
        // A call to a database that could no longer be reached may have been executed.
        if (verdict.failure.code === 'outcome_unknown') this.isCertain = false
        this.ports.stopReason.refuse(verdict.failure, state.ordinal)
        return undefined
      }
      // More calls at once than a window admits would only be refused again.
      if (verdict.atOnce !== undefined) this.atOnce = Math.min(this.atOnce, verdict.atOnce)
      this.ports.rateGate.close(verdict.ms)
    }
  }
}

class Launcher {
  /** Absent where each row is a request. */
  readonly #bulks: BulkLauncher | undefined
  /** By identity, the rows of open row batches that equal rows wait for. */
  readonly #originals = new Map<string, RowState>()

  constructor(
    private readonly ports: CallPorts,
    private readonly journalWriter: JournalWriter,
    private readonly calls: Calls,
  ) {
    const { bulkRequests, journal } = ports.batch
    if (bulkRequests)
      this.#bulks = new BulkLauncher({ ...ports, bulkRequests, journal: journal.bulks }, () =>
        journalWriter.kept(),
      )
  }

  /** Resolves when the rows of a row batch are under way or settled. */
  async launch(rowBatch: RowBatch): Promise<void> {
    try {
      const valid = await this.#resumed(rowBatch)
      const sent = this.#bulks?.resumable(rowBatch) ?? []
      const rows = this.#originalsOf(valid, new Set(sent.flatMap(([states]) => states)))
      if (this.#bulks) await this.#bulks.send(await this.#bulks.resume(sent))
      for (let left = rows; left.length > 0; ) {
        const busy = await this.ports.batch.journal.takeTurns(left)
        // Not earlier: another run may answer a row just before its turn is free.
        const open = await this.#recall(left)
        const mine = busy ? open.filter(({ ordinal }) => !busy.has(ordinal)) : open
        if (this.#bulks) await this.#bulks.send(mine)
        else await this.#send(mine)
        left = busy ? open.filter(({ ordinal }) => busy.has(ordinal)) : []
        if (this.ports.stopReason.signal.aborted) break
        // Whatever turn this run has is in use by now, so no two runs wait for each other.
        if (left.length > 0) await this.ports.batch.time.sleep(turnPollMs, this.ports.stopReason.signal)
      }
    } catch (error) {
      this.ports.stopReason.fail(error)
    }
    // After an early end the rest of the row batch has no answers.
    if (this.ports.stopReason.signal.aborted)
      for (const state of rowBatch.states) if (!state.underWay) state.settle(undefined)
  }

  /** Forgets the rows of a row batch: from now on, equal rows find their recorded answers. */
  retire(rowBatch: RowBatch): void {
    for (const state of rowBatch.states)
      if (state.repeats && state.identity !== undefined && this.#originals.get(state.identity) === state)
        this.#originals.delete(state.identity)
  }

  /** Notes which other rows of the file the recorded answer to a row is about. */
  note({ ordinal, input, identity }: RowState, { status, body }: RowAnswer): void {
    const { stated, repeats, journal } = this.ports.batch
    if (!stated || status !== 'found') return
    for (const other of stated(input, body, repeats?.kinds)) {
      const hash = hashOf(other)
      if (other !== identity && (repeats?.hasOnce(hash) ?? true))
        journal.stated.add(hashNumber(hash), ordinal)
    }
  }

  /** Returns the row of this run whose answer may be about another row. */
  #statedBy({ hash, ordinal }: RowState): number | undefined {
    const { stated, journal } = this.ports.batch
    if (!stated || hash === undefined || journal.isMaybeSent(ordinal)) return undefined
    return journal.stated.find(hash)
  }

  /** Returns the rows that no answer of this run is about. The others take that answer, and it is recorded for them too. */
  async #takeStated(rows: readonly RowState[]): Promise<readonly RowState[]> {
    const { stated, journal } = this.ports.batch
    const about = rows.map((row) => this.#statedBy(row))
    const ordinals = about.filter((ordinal) => ordinal !== undefined)
    if (ordinals.length === 0) return rows
    await this.journalWriter.kept()
    const answers = await journal.stated.answers(ordinals)
    return rows.filter((state, at) => {
      const { answer, answeredAt } = answers.get(about[at] ?? -1) ?? {}
      const { identity = '', input } = state
      if (answer?.status !== 'found' || !stated?.(input, answer.body).includes(identity)) return true
      state.settle({ answer, source: 'duplicate', credits: 0 })
      this.journalWriter.add(state, { answer, source: 'duplicate', answeredAt })
      return false
    })
  }

  /** Returns the valid rows. Settles those that an earlier part answered. */
  async #resumed({ states }: RowBatch): Promise<RowState[]> {
    const valid = states.filter((state) => this.#isValid(state))
    const from = states[0]?.ordinal ?? 0
    const { journal, suppressor, about } = this.ports.batch
    const resumed = await journal.resume(from, from + states.length)
    const suppressed = await suppressor?.areAbout(
      valid.map(({ input, row }) => about?.(row.cells, input) ?? input),
    )
    for (const [at, state] of valid.entries()) {
      const own = resumed.get(state.ordinal)
      if (suppressed?.[at]) {
        // What an earlier part paid for it stays paid.
        const answer = { status: 'suppressed', error: null, body: undefined, credits: 0 } as const
        state.settle({ source: null, credits: 0, ...own, answer })
        continue
      }
      if (!own) continue
      state.settle(own)
      this.note(state, own.answer)
    }
    return valid
  }

  /** Returns the open rows, one for each identity. Others follow one of these, or of those that were `sent` together before. */
  #originalsOf(valid: readonly RowState[], sent: ReadonlySet<RowState>): readonly RowState[] {
    return valid.filter((state) => {
      if (state.isSettled) return false
      if (!sent.has(state)) return this.#leads(state)
      if (state.identity !== undefined && state.repeats && !this.#originals.has(state.identity))
        this.#originals.set(state.identity, state)
      return false
    })
  }

  async #recall(rows: readonly RowState[]): Promise<readonly RowState[]> {
    const recalled = await this.ports.batch.journal.recall(rows)
    const open = rows.filter((state, at) => {
      const answer = recalled[at]
      if (!answer) return true
      state.settle(answer)
      // Another run's answer, or an unknown outcome, is recorded for this row too, with its age.
      const { source, storedAt: answeredAt } = answer
      if (source === null || source === 'duplicate') return false
      this.journalWriter.add(state, { ...answer, source, answeredAt })
      this.note(state, answer.answer)
      return false
    })
    return this.#takeStated(open)
  }

  /** Settles a row that is invalid or needs nothing. Any other gets its input and identity. */
  #isValid(state: RowState): boolean {
    const { batch } = this.ports
    const { cells } = state.row
    const unneeded = batch.skip?.(cells) ? 'skipped' : batch.isKnown?.(cells) ? 'known' : undefined
    const problem = unneeded === undefined ? prepare(batch, batch.table.header, state) : null
    if (problem === undefined) return true
    const status = unneeded ?? 'invalid'
    const answer = { status, error: problem, body: undefined, credits: 0 } as const
    state.settle({ answer, source: null, credits: 0 })
    return false
  }

  /** Whether a row is the first of its identity; any other follows the first one. */
  #leads(state: RowState): boolean {
    if (state.identity === undefined || !state.repeats) return true
    const original = this.#originals.get(state.identity)
    if (original) state.follow(original)
    else this.#originals.set(state.identity, state)
    return !original
  }

  async #send(states: readonly RowState[]): Promise<void> {
    const { journal, othersUnderWay = () => false, time } = this.ports.batch
    let settled = false
    for (let left = states; left.length > 0 && !this.ports.stopReason.signal.aborted; ) {
      const { planned, shortage } = await journal.plan(left)
      if (!(await this.#start(left, planned))) return
      left = left.slice(planned.length)
      if (!shortage) continue
      if (settled && planned.length === 0)
        return this.ports.stopReason.exhaust(shortage, left[0]?.ordinal ?? 0)
      // Calls under way may cost less than was set aside for them.
      settled = this.ports.inFlight.isIdle && !othersUnderWay()
      if (!this.ports.inFlight.isIdle) await this.ports.inFlight.progress()
      else if (!settled) await time.sleep(turnPollMs, this.ports.stopReason.signal)
      await this.journalWriter.kept()
      left = await this.#takeStated(left)
    }
  }

  async #start(states: readonly RowState[], planned: readonly PlannedRow[]): Promise<boolean> {
    for (const [at, plan] of planned.entries()) {
      await this.calls.room()
      if (this.ports.stopReason.signal.aborted) return false
      const state = states[at] as RowState
      // The answer that made room may be about this row.
      if (this.#statedBy(state) === undefined || (await this.#takeStated([state])).length > 0)
        this.calls.start(state, plan)
    }
    return true
  }
}
