import { ConnectionLost, type Input, lostCall, type Reply } from '../api/calls/caller.js'
import { failureOf } from '../api/calls/errors.js'
import { concludesEarlier, isInProgress } from '../api/calls/retry.js'
import { isMetered } from '../api/operations/facts.js'
import { hiddenNote, type Operation, operation } from '../api/operations/table.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import type { CsvRow } from '../csv/parse.js'
import {
  cutByBudget,
  DurabilityCheckpoint,
  inProgressNote,
  isUnknown,
  judge,
  longestInProgressMs,
  lostAnswer,
  type RowAnswer,
  sourceOfCall,
  unknownAnswer,
} from '../lookups/answer.js'
import { NumberMap } from '../lookups/numbers.js'
import type { Ask, Claim, Lookups, Settled } from '../lookups/store.js'
import { RequestLauncher } from './bulk.js'
import { InFlightCounter, RateGate, StopReason } from './flow-control.js'
import type { OutputRow } from './output/columns.js'
import { type RunReport, SuspectRows, Tally } from './output/report.js'
import { prepare, RowBatch, type RowState } from './plan/lookup.js'
import type { Batch, CallPorts } from './ports.js'

const defaultConcurrency = 256
/** Larger ones take more memory, and are no quicker. */
const largestBatch = 128
/** How often an answer is looked for that somebody else has under way, in milliseconds. */
const busyMs = 50
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
 *
 * Each portion of rows goes through these steps. The order is what makes a kill at any moment cost nothing:
 * 1. claim: key, input and the most that a row may cost are recorded before it is sent, so that no lookup is paid and unknown;
 * 2. send;
 * 3. settle: the answer is recorded, and what was held is paid or given back, in one transaction;
 * 4. write, in the order of the file: only what is recorded reaches the output, which can therefore be written again;
 * 5. note: only then may the target forget its replies, which bring back an answer that was lost on the way.
 */
export const execute = (batch: Batch): Promise<RunReport> => new Runner(batch).run()

class Runner {
  readonly #stopReason: StopReason
  readonly #tally: Tally
  readonly #suspect = new SuspectRows()
  readonly #writer: AnswerWriter
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
    this.#writer = new AnswerWriter(batch.lookups)
    this.#checkpoint = new DurabilityCheckpoint(batch.lookups, batch.onSafe)
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
      sending: (state: RowState, isSent: boolean) => this.#launcher.sending(state, isSent),
      suspect: this.#suspect,
    }
    this.#calls = new Calls(ports, concurrency)
    this.#launcher = new Launcher(ports, this.#writer, this.#calls)
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
    this.#writer.add({ ...rowOf(state), answer, source: sourceOfCall(answer), ask: state.ask })
    this.#launcher.note(state, answer)
  }

  #settled(state: RowState): void {
    const { outcome, original } = state
    if (!outcome) return
    if (original) {
      const from = original.origin ?? original.ordinal
      this.#writer.add({ ...rowOf(state), answer: outcome.answer, source: 'duplicate', from })
    }
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

  /** Whether no further row can get an answer. After an early end, those of earlier executions are still written. */
  get #isOver(): boolean {
    const { isFault, signal } = this.#stopReason
    return isFault || (signal.aborted && this.#launched >= this.batch.lookups.answeredUpTo)
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
    await this.#writer.kept().catch((error: unknown) => this.#stopReason.fail(error))
    const answered = rowBatch.states.filter(({ outcome }) => outcome !== undefined)
    let rows = answered.flatMap(outputRow)
    try {
      rows = await withoutSuppressed(this.batch, rows)
      if (this.#isWritable && rows.length > 0) {
        await this.batch.writer.write(rows)
        for (const [at, row] of rows.entries()) this.#tally.add(row, answered[at]?.ordinal ?? 0)
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
    const { lookups } = this.batch
    if (this.#writer.hasFailed || !this.#calls.isCertain) return
    for (const { ordinal, outcome } of rowBatch.states) {
      if (outcome && ordinal === this.#cleared) this.#cleared = ordinal + 1
      if (outcome && isUnknown(outcome.answer)) this.#lost = Math.min(this.#lost, ordinal)
    }
    // Where the output cannot be written, the rows that have recorded answers count.
    lookups.written(Math.max(this.#cleared, this.#tally.written.rows))
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
    const certain = this.#calls.isCertain && !this.#writer.hasFailed
    try {
      const isAll = complete && certain && this.batch.hasMore !== true
      const { invalid } = this.#tally.written
      this.#launcher.close()
      await this.#launcher.withdraw()
      this.#suspect.close()
      await this.batch.lookups.end(isAll, invalid, this.#suspect.counts?.passed_on.answers)
      await this.batch.lookups.flush()
    } catch (error) {
      // A run whose end cannot be recorded counts as killed, which loses nothing.
      if (!this.#stopReason.signal.aborted) this.#stopReason.fail(error)
    }
  }

  #report(complete: boolean, seconds: number): RunReport {
    const { writer, total } = this.batch
    const suspect = this.#suspect.counts
    const { written, reasons, leftOut, notAsked } = this.#tally
    const { cause } = this.#stopReason
    const rows_left = total === undefined ? null : total - written.rows
    return {
      ...written,
      ...reasons,
      not_understood: leftOut.counts,
      not_asked: [...notAsked.values()],
      ...(suspect === undefined ? {} : { suspect }),
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
  { suppressor, read, about = (_, given) => given }: Batch,
  rows: readonly OutputRow[],
): Promise<OutputRow[]> {
  if (!suppressor) return [...rows]
  const bodies = rows.map(({ body }) => body)
  // An answer need not say which company was asked for.
  const suppressed = await suppressor.areAbout(
    rows.map(({ cells, body }) =>
      body === undefined ? undefined : { body, input: about(cells, read(cells).input) },
    ),
  )
  const { results } = (await suppressor.records({ results: bodies })) as { results: readonly unknown[] }
  return rows.map((row, at) =>
    suppressed[at]
      ? { ...row, status: 'suppressed', error: null, body: undefined, source: null }
      : row.body === undefined
        ? row.error === hiddenNote
          ? { ...row, status: 'suppressed', error: null }
          : row
        : { ...row, body: results[at] },
  )
}

function outputRow({ row, outcome }: RowState): OutputRow[] {
  if (!outcome) return []
  const { answer, source, credits } = outcome
  const { body, status, error } = answer
  return [{ ...row, body, status, error, credits, source }]
}

/** A wait that is too short to record who waits. */
const shortWaitMs = 1_000

/** Answers in a row that cannot be read end a run, and no more calls are made at once before one can be read. */
const mostUnreadable = 5

class Calls {
  readonly #operation: Operation
  #calling = 0
  /** Whether an answer could be read, and how many after it could not. */
  #isReadable = false
  #unreadable = 0
  /** Calls that wait until another one has ended. */
  readonly #line: (() => void)[] = []
  /** Whether each call was answered or certainly not made. */
  isCertain = true
  #isInProgressNoted = false
  #marks: { readonly ordinal: number; readonly input: Input | undefined }[] = []
  #marking: Promise<void> | undefined

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
    while (this.ports.inFlight.underWay >= this.#limit && !this.ports.stopReason.signal.aborted)
      await this.ports.inFlight.progress()
  }

  /** Resolves when several of so many rows may be sent: how many; 0 when none will be any more. */
  async roomFor(rows: number): Promise<number> {
    const { inFlight, rateGate, stopReason } = this.ports
    const free = () => this.#limit - inFlight.underWay
    while (!stopReason.signal.aborted) {
      if (rateGate.opens) await rateGate.opens
      // Claiming few rows takes as long as claiming many.
      else if (free() >= Math.min(rows, Math.ceil(this.#limit / 2))) return Math.min(rows, free())
      else await inFlight.progress()
    }
    return 0
  }

  get #limit(): number {
    return this.#isReadable ? this.atOnce : Math.min(this.atOnce, mostUnreadable)
  }

  /** A server that answers in another way than this API would be asked, and maybe paid, for every row. */
  #noteReply(reply: Reply, ordinal: number): void {
    if (reply.unusable === undefined) {
      this.#isReadable = true
      this.#unreadable = 0
    } else if (++this.#unreadable >= mostUnreadable) {
      this.ports.stopReason.refuse(failureOf(reply.status, reply.body), ordinal)
    }
  }

  start(state: RowState, ask: Ask): void {
    this.ports.inFlight.begin()
    state.sent = true
    if (ask.limit !== undefined) state.lower(ask.limit)
    void this.#finish(state, ask)
  }

  async #finish(state: RowState, ask: Ask): Promise<void> {
    try {
      const came = await this.#ask(state, ask)
      if (came === 'unsent') this.ports.sending(state, false)
      const answer = came === 'unsent' ? undefined : came
      if (answer) this.ports.answered(state, answer)
      const source = answer && sourceOfCall(answer)
      const stored = source === 'team' ? { storedAt: this.ports.batch.time.now() - (answer?.ageMs ?? 0) } : {}
      state.settle(answer && source && { answer, source, credits: answer.credits, ...stored })
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

  /** Returns the answer; `unsent` where there certainly was no effect, `undefined` where that is not known. */
  async #ask(
    state: RowState,
    { key, row, limit, input, isNew, units }: Ask,
  ): Promise<RowAnswer | 'unsent' | undefined> {
    const { batch, suspect } = this.ports
    const { caller, time, callOptions: { apiKey, origin, signal, maxAgeMs } = {} } = batch
    // Whether the target may have received it before: then only an answer to its key shows whether it was paid for.
    let isOpen = !isNew
    let isMarkedUnsent = false
    let inProgressMs = 0
    for (let again = false; ; again = true) {
      if (!this.#enters()) {
        if (!isOpen && units === 0) isMarkedUnsent = this.#noteWaiting(state) || isMarkedUnsent
        if (!(await this.#enter())) return isOpen ? undefined : 'unsent'
      }
      if (isMarkedUnsent) await this.#mark(state.ordinal, input ?? state.input)
      isMarkedUnsent = false
      const own = row && again ? { ...row, fresh: false } : row
      const onSuspect = suspect.onSuspect([state.ordinal])
      const options = { apiKey, idempotencyKey: key, row: own, signal, origin, maxAgeMs, onSuspect }
      let reply: Reply | ConnectionLost
      try {
        reply = await caller.call(this.#operation.id, input ?? state.input, options)
      } catch (error) {
        reply = lostCall(error)
      } finally {
        this.#leave()
      }
      if (reply instanceof ConnectionLost) {
        if (!signal?.aborted) return this.#orUnknown(isOpen, lostAnswer(reply, this.#operation))
        // What was started goes on, and the next execution of the run asks for it under the same key.
        this.isCertain = false
        return undefined
      }
      if (reply.isSuspect) suspect.add([state.ordinal], 'discarded')
      this.#noteReply(reply, state.ordinal)
      const verdict = judge(reply, this.#operation, time.now())
      if (verdict.kind === 'answer') {
        const answer = this.#orUnknown(isOpen && !concludesEarlier(reply), verdict.answer)
        return limit === undefined ? answer : cutByBudget(limit, answer, this.#operation)
      }
      if (verdict.kind === 'stop') {
        this.ports.stopReason.refuse(verdict.failure, state.ordinal)
        if (verdict.failure.code !== 'outcome_unknown') return isOpen || reply.unknown ? undefined : 'unsent'
        // A call to a database that could no longer be reached may have been executed.
        this.isCertain = false
        return undefined
      }
      if (isInProgress(reply)) {
        isOpen = true
        inProgressMs += verdict.ms
        if (inProgressMs > longestInProgressMs) {
          this.#noteInProgress()
          return unknownAnswer
        }
        // Other rows need not wait for it.
        await time.sleep(verdict.ms, this.ports.stopReason.signal)
        continue
      }
      // More calls at once than a window admits would only be refused again.
      if (verdict.atOnce !== undefined) this.atOnce = Math.min(this.atOnce, verdict.atOnce)
      this.ports.rateGate.close(verdict.ms)
    }
  }

  #noteInProgress(): void {
    if (this.#isInProgressNoted) return
    this.#isInProgressNoted = true
    this.ports.batch.notify?.(inProgressNote)
  }

  /** Records that a row is certainly not sent where it has to wait for long: if this process is killed, nothing is held for it. */
  #noteWaiting({ ordinal }: RowState): boolean {
    const { rateGate, batch, stopReason } = this.ports
    if (!rateGate.opens || rateGate.opensAt - batch.time.now() < shortWaitMs) return false
    this.#mark(ordinal, undefined).catch((error: unknown) => stopReason.fail(error))
    return true
  }

  /** Records of rows at the same time that they are certainly not sent, or what they are about to be sent with. */
  #mark(ordinal: number, input: Input | undefined): Promise<void> {
    this.#marks.push({ ordinal, input })
    this.#marking ??= Promise.resolve().then(() => {
      this.#marking = undefined
      return this.ports.batch.lookups.waiting(this.#marks.splice(0))
    })
    return this.#marking
  }

  /** Returns an answer; where it failed and an earlier attempt may have been paid for, that the outcome is unknown. */
  #orUnknown(isOpen: boolean, answer: RowAnswer): RowAnswer {
    return isOpen && answer.status === 'failed' && isMetered(this.#operation) ? unknownAnswer : answer
  }
}

class Launcher {
  /** Absent where each row is a request. */
  readonly #requests: RequestLauncher | undefined
  /** By ordinal, the rows of open row batches that equal rows wait for. */
  readonly #open = new Map<number, RowState>()
  /** By hash, what the answers of this run identify besides their own rows. Later executions note it again. */
  readonly #answered = new NumberMap()
  /** Rows that are recorded and not sent yet. */
  readonly #unsent = new Set<RowState>()
  #isClaiming = false
  /** Rows to claim though fewer may be sent: twice as many as before where none of those had to be. */
  #ahead = 0
  readonly #retired: RowBatch[] = []

  constructor(
    private readonly ports: CallPorts,
    private readonly writer: AnswerWriter,
    private readonly calls: Calls,
  ) {
    const { bulkRequests, lookups } = ports.batch
    if (bulkRequests)
      this.#requests = new RequestLauncher({ ...ports, bulkRequests, lookups }, () => writer.kept())
  }

  /** Resolves when the rows of a row batch are under way or settled. */
  async launch(rowBatch: RowBatch): Promise<void> {
    const { stopReason } = this.ports
    try {
      const valid = await this.#valid(rowBatch)
      let isLast = false
      for (let left: readonly RowState[] = valid; !stopReason.signal.aborted; ) {
        left = await this.#takeAnswered(left)
        if (left.length === 0) break
        // What is claimed is sent at once: nothing is held for rows that only wait for others.
        const room = this.#requests ? left.length : await this.calls.roomFor(left.length)
        if (room === 0) break
        const next = left.slice(0, Math.max(room, this.#ahead))
        const isOpen = (ordinal: number) => this.#open.has(ordinal)
        this.#isClaiming = true
        const claims = await this.ports.batch.lookups.claim(next, isOpen, room)
        const portion = left.slice(0, claims.length)
        const rest = left.slice(claims.length)
        const asks = portion.filter((state, at) => this.#take(state, claims[at] as Claim))
        this.#isClaiming = false
        this.#ahead = asks.length === 0 ? 2 * claims.length : 0
        for (const old of this.#retired.splice(0)) this.retire(old)
        if (this.#requests) await this.#requests.send(asks)
        else await this.#send(asks)
        const again = portion.filter((state) => !state.isSettled && !state.underWay && !asks.includes(state))
        if (again.length + rest.length === 0 || stopReason.signal.aborted) break
        const short = claims.find((claim) => claim.is === 'short')
        const isBusy = claims.some((claim) => claim.is === 'busy')
        // Rows that wait for others keep none behind them waiting, but those that a budget is too small for.
        left = short ? [...again, ...rest] : [...rest, ...again]
        if (rest.length > 0 && !short && (again.length === 0 || asks.length > 0)) continue
        if (short && !isBusy && isLast && asks.length === 0) {
          const at = claims.indexOf(short)
          stopReason.exhaust(short.shortage, portion[at]?.ordinal ?? 0)
          break
        }
        isLast = await this.#wait(short !== undefined)
      }
      // After an early end, the answers of earlier executions are still written.
      if (stopReason.signal.aborted)
        await this.#takeOwn(valid.filter((state) => !state.isSettled && !state.underWay))
    } catch (error) {
      stopReason.fail(error)
    }
    // After an early end the rest of the row batch has no answers.
    if (stopReason.signal.aborted)
      for (const state of rowBatch.states) if (!state.underWay) state.settle(undefined)
  }

  async #takeOwn(states: readonly RowState[]): Promise<void> {
    const outcomes = await this.ports.batch.lookups.peek(states)
    for (const [at, state] of states.entries()) if (outcomes[at]?.kept) state.settle(outcomes[at])
  }

  /** Waits until calls have ended, which may cost less than was held for them. Returns whether none is under way. */
  async #wait(isShort: boolean): Promise<boolean> {
    const { inFlight, batch, stopReason } = this.ports
    const isLast = inFlight.isIdle && batch.othersUnderWay?.() !== true
    if (isShort && !inFlight.isIdle) await inFlight.progress()
    // Whatever this run has claimed is in use by now, so no two runs wait for each other.
    else if (!isLast || !isShort) await batch.time.sleep(busyMs, stopReason.signal)
    await this.writer.kept()
    return isLast
  }

  /** Settles a row, or has it follow another one. Returns whether it has to be sent. */
  #take(state: RowState, claim: Claim): boolean {
    if (claim.is === 'answered') {
      state.settle(claim.outcome)
      // The answer to an equal row was noted with that row.
      if (claim.outcome.source !== 'duplicate') this.note(state, claim.outcome.answer)
    } else if (claim.is === 'follow') {
      const original = this.#open.get(claim.ordinal)
      // What has failed is asked again, once that is on record.
      if (original && original.outcome?.answer.status !== 'failed') state.follow(original)
    } else if (claim.is === 'ask') {
      state.ask = claim.ask
      this.#open.set(state.ordinal, state)
      this.#unsent.add(state)
      return true
    }
    return false
  }

  async #send(asks: readonly RowState[]): Promise<void> {
    for (const state of asks) {
      await this.calls.room()
      if (this.ports.stopReason.signal.aborted) return
      this.sending(state, true)
      // The answer that made room may be about this row.
      const isOpen = this.#answeredBy(state) === undefined || (await this.#takeAnswered([state])).length > 0
      if (isOpen) this.calls.start(state, state.ask as Ask)
    }
  }

  sending(state: RowState, isSent: boolean): void {
    if (isSent) this.#unsent.delete(state)
    else this.#unsent.add(state)
  }

  /**
   * Forgets the rows of a row batch: from now on, equal rows find their recorded answers. Not while rows are claimed, which
   * may have read the record just before.
   */
  retire(rowBatch: RowBatch): void {
    if (this.#isClaiming) this.#retired.push(rowBatch)
    else for (const { ordinal } of rowBatch.states) this.#open.delete(ordinal)
  }

  /** Takes back what was recorded and certainly not sent. */
  async withdraw(): Promise<void> {
    await this.ports.batch.lookups.withdraw([...this.#unsent].map(({ ask }) => ask as Ask))
  }

  /** Notes which other rows of the file the answer to a row is about. */
  note({ ordinal, identity }: RowState, { status, body }: RowAnswer): void {
    const { alsoAnswers, repeats } = this.ports.batch
    if (!alsoAnswers || status !== 'found' || identity === undefined) return
    for (const other of alsoAnswers(identity, body, repeats?.kinds)) {
      const hash = hashOf(other)
      if (other !== identity && (repeats?.hasOnce(hash) ?? true))
        this.#answered.add(hashNumber(hash), ordinal)
    }
  }

  /** Returns the row whose answer may be about another row, which was certainly not sent: a claim shows that of early rows. */
  #answeredBy({ hash, ask, ordinal }: RowState): number | undefined {
    const { alsoAnswers, lookups } = this.ports.batch
    const wasSent = ask ? !ask.isNew : ordinal < lookups.answeredUpTo
    if (!alsoAnswers || hash === undefined || wasSent) return undefined
    return this.#answered.get(hash)
  }

  /** Returns the rows that no answer of this run is about. The others take that answer, and it is recorded for them too. */
  async #takeAnswered(states: readonly RowState[]): Promise<readonly RowState[]> {
    const { alsoAnswers, lookups } = this.ports.batch
    const about = states.map((state) => this.#answeredBy(state))
    const ordinals = about.filter((ordinal) => ordinal !== undefined)
    if (!alsoAnswers || ordinals.length === 0) return states
    await this.writer.kept()
    const answers = await lookups.answersOf(ordinals)
    return states.filter((state, at) => {
      const { answer, from } = answers.get(about[at] ?? -1) ?? {}
      const { identity = '' } = state
      if (answer?.status !== 'found' || !alsoAnswers(identity, answer.body).includes(identity)) return true
      state.origin = from
      state.settle({ answer, source: 'duplicate', credits: 0 })
      const { ask } = state
      this.writer.add({ ...rowOf(state), answer, source: 'duplicate', ask, from, isSpelling: true })
      return false
    })
  }

  close(): void {
    this.#answered.close()
  }

  /** Returns the rows that are looked up. Settles those that are invalid, need nothing or are about somebody suppressed. */
  async #valid({ states }: RowBatch): Promise<RowState[]> {
    const { suppressor, about, lookups } = this.ports.batch
    const valid = states.filter((state) => this.#isValid(state))
    if (!suppressor || valid.length === 0) return valid
    const suppressed = await suppressor.areAskedAbout(
      valid.map(({ input, row }) => about?.(row.cells, input) ?? input),
    )
    const gone = valid.filter((_, at) => suppressed[at])
    if (gone.length === 0) return valid
    const known = await lookups.peek(gone)
    for (const [at, state] of gone.entries()) {
      // What an earlier execution paid for it stays paid.
      const own = known[at]?.kept ? known[at] : { source: null, credits: 0 }
      state.settle({ ...own, answer: { status: 'suppressed', error: null, body: undefined, credits: 0 } })
    }
    return valid.filter((_, at) => !suppressed[at])
  }

  /** Settles a row that is invalid or needs nothing. Any other gets its input and identity. */
  #isValid(state: RowState): boolean {
    const { batch } = this.ports
    const { cells } = state.row
    const unneeded = batch.skip?.(state.row) ? 'skipped' : batch.isKnown?.(cells) ? 'known' : undefined
    const problem = unneeded === undefined ? prepare(batch, batch.table.header, state) : null
    if (problem === undefined) return true
    const status = unneeded ?? 'invalid'
    const answer = { status, error: problem, body: undefined, credits: 0 } as const
    state.settle({ answer, source: null, credits: 0 })
    return false
  }
}

const rowOf = ({ ordinal, identity, hash, most, units, input, repeats }: RowState) => ({
  ordinal,
  identity,
  hash,
  most,
  units,
  input,
  repeats,
})

/** Records answers as they come, in as few portions as the database allows. */
class AnswerWriter {
  #waiting: Settled[] = []
  #working: Promise<void> | undefined
  #error: unknown

  constructor(private readonly lookups: Pick<Lookups, 'settle'>) {}

  /** Whether an answer could not be recorded. */
  get hasFailed(): boolean {
    return this.#error !== undefined
  }

  add(row: Settled): void {
    this.#waiting.push(row)
    this.#working ??= this.#work()
  }

  /** Resolves when all that was added is recorded. */
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
        await this.lookups.settle(rows)
      }
    } catch (error) {
      this.#error = error
    }
    this.#working = undefined
  }
}
