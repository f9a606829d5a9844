import { ApiError, type Failure, failureOf, RefusedInDoubt } from '../../api/calls/errors.js'
import { CsvError } from '../../csv/csv-error.js'
import { OutputError } from '../input/errors.js'
import type { Shortage } from '../journal/journal.js'

interface Cause {
  readonly reason: string
  readonly hint: string
  readonly exit_code: number
  /** Number of the row, counted from 1. */
  readonly at_row: number | null
}

/** Rows that were paid for without an answer on record are sent again under the keys that paid for them. */
const notLost = 'Check free space and permissions; what was paid for is not lost.'

/** Whether and why a run ends before its last row. The first cause counts. */
export class Ending {
  readonly #controller = new AbortController()
  #cause: Cause | undefined
  #bug: { readonly error: unknown } | undefined

  /** Given when the run is to end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get cause(): Cause | undefined {
    return this.#cause
  }

  /** Ends the run because a row was refused as all further ones would be. */
  refuse({ text, hint, exit }: Failure, ordinal: number): void {
    const row = ordinal + 1
    if (this.#cause?.at_row && row < this.#cause.at_row) this.#cause = { ...this.#cause, at_row: row }
    this.#end({ reason: text, hint, exit_code: exit, at_row: row })
  }

  /** Ends the run because results of rows that were accepted cannot be read. */
  refuseAll({ text, hint, exit }: Failure): void {
    const reason = `What became of accepted rows cannot be read: ${text}`
    // Where nothing is wrong with the key, it is the server that does not know what it accepted.
    this.#end({ reason, hint, exit_code: exit === 3 ? exit : 10, at_row: null })
  }

  /** Ends the run because a budget leaves too little for a row. */
  exhaust({ reason, hint }: Shortage, ordinal: number): void {
    this.#end({ reason, hint, exit_code: 12, at_row: ordinal + 1 })
  }

  /** Ends the run on the user's wish. */
  interrupt(signal: AbortSignal): void {
    const terminated = signal.reason === 'SIGTERM'
    this.#end({
      reason: terminated ? 'Terminated' : 'Interrupted',
      hint: '',
      exit_code: terminated ? 143 : 130,
      at_row: null,
    })
  }

  /** Ends the run because reading, writing or remembering failed; anything else is a bug. */
  fail(error: unknown): void {
    if (error instanceof CsvError || error instanceof OutputError)
      this.#end({ reason: error.message, hint: '', exit_code: error.exit, at_row: null })
    else if (error instanceof ApiError) {
      const isDoubted = error instanceof RefusedInDoubt
      const failure = isDoubted ? error.failure : failureOf(error.status, { error: error.message })
      const hint = error.code === 'storage_failed' ? notLost : failure.hint
      this.#end({ reason: failure.text, hint, exit_code: failure.exit, at_row: null })
    } else {
      this.#bug ??= { error }
      this.#end({ reason: 'Internal error', hint: '', exit_code: 1, at_row: null })
    }
  }

  /** Throws the bug that ended the run, if one did. */
  raise(): void {
    if (this.#bug) throw this.#bug.error
  }

  #end(cause: Cause): void {
    this.#cause ??= cause
    this.#controller.abort()
  }
}
