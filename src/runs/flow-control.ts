import { type Failure, Refusal } from '../api/calls/errors.js'
import { exitCodes } from '../api/calls/exit-codes.js'
import type { BudgetShortage } from '../lookups/answer.js'
import type { RunStop } from './output/report.js'

type Cause = Omit<RunStop, 'rows_left'>

/** Returns the sentences and the exit code of what ends a run. */
export type Explain = (why: Refusal | Failure) => Pick<RunStop, 'reason' | 'hint' | 'exit_code'>

/** Whether and why a run ends before its last row. The first cause counts. */
export class StopReason {
  readonly #controller = new AbortController()
  #bug: { readonly error: unknown } | undefined
  /** Aborted when the run has to end. */
  readonly signal: AbortSignal = this.#controller.signal
  cause: Cause | undefined
  /** Whether reading, writing or recording failed, so that no recorded answers can be written either. */
  isFault = false

  constructor(private readonly explain: Explain) {}

  /** Ends the run because of a refusal that would meet all further rows. */
  refuse(failure: Failure, ordinal: number): void {
    const row = ordinal + 1
    if (this.cause?.at_row && row < this.cause.at_row) this.cause = { ...this.cause, at_row: row }
    this.#end({ ...this.explain(failure), at_row: row })
  }

  /** Ends the run because results of rows that were accepted cannot be read. */
  refuseAll(failure: Failure): void {
    const { reason, ...why } = this.explain(failure)
    // Unless the key is wrong, the server does not know what it accepted.
    const exit_code = failure.exit === exitCodes.key ? failure.exit : exitCodes.unreachable
    this.#end({ ...why, reason: `The results of accepted rows cannot be read: ${reason}`, exit_code })
  }

  /** Ends the run with exit code 12 because a budget leaves too little for a row. */
  exhaust({ budget, credits: max, needed, until }: BudgetShortage, ordinal: number): void {
    const why = this.explain(new Refusal('run.budget_reached', { budget, max, needed, until }))
    this.#end({ ...why, budget, at_row: ordinal + 1 })
  }

  interrupt(signal: AbortSignal): void {
    if (signal.reason === 'SIGTERM') this.#end({ reason: 'Terminated', exit_code: exitCodes.terminated })
    else this.#end({ reason: 'Interrupted', exit_code: exitCodes.interrupted })
  }

  /** Ends the run because reading, writing or recording failed; any other error is a bug. */
  fail(error: unknown): void {
    this.isFault = true
    const known = error instanceof Refusal ? this.explain(error) : undefined
    if (!known) this.#bug ??= { error }
    this.#end(known ?? { reason: 'Internal error', exit_code: exitCodes.bug })
  }

  raise(): void {
    if (this.#bug) throw this.#bug.error
  }

  #end({ reason, exit_code, ...why }: Pick<Cause, 'reason' | 'exit_code'> & Partial<Cause>): void {
    this.cause ??= { reason, hint: '', exit_code, at_row: null, ...why }
    this.#controller.abort()
  }
}

/** Real time, injected. */
export interface Time {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after `ms` milliseconds, or when the signal is given. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Lets calls pass until one has to wait. Then all wait, on one timer. */
export class RateGate {
  /** When calls may pass, in milliseconds since 1970. */
  opensAt = 0
  /** Resolves when calls may pass; `undefined` when they may pass now. */
  opens: Promise<void> | undefined

  /** `closed` is called when calls have to wait, and when they have to wait longer. */
  constructor(
    private readonly time: Time,
    private readonly signal: AbortSignal,
    private readonly closed: () => void = () => {},
  ) {}

  /** Holds every call back for `ms` milliseconds from now. */
  close(ms: number): void {
    const before = this.opensAt
    this.opensAt = Math.max(before, this.time.now() + ms)
    this.opens ??= this.#wait()
    // Many calls are refused at once.
    if (this.opensAt - before >= 1_000) this.closed()
  }

  async #wait(): Promise<void> {
    // Also a wait of nothing, as after `Retry-After: 0`, ends after it is known that it has begun.
    await Promise.resolve()
    for (let ms = this.#left(); ms > 0; ms = this.#left()) await this.time.sleep(ms, this.signal)
    this.opens = undefined
  }

  #left(): number {
    return this.signal.aborted ? 0 : this.opensAt - this.time.now()
  }
}

/** Counts the calls under way. One waiter at a time learns when one has ended. */
export class InFlightCounter {
  underWay = 0
  #wake: () => void = () => {}

  /** Waits end when the signal is given. */
  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', () => this.#wake(), { once: true })
  }

  get isIdle(): boolean {
    return this.underWay === 0
  }

  begin(): void {
    this.underWay++
  }

  end(): void {
    this.underWay--
    this.#wake()
  }

  /** Resolves when a call has ended, or none will be made any more. */
  async progress(): Promise<void> {
    if (this.signal.aborted) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }
}
