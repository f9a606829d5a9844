import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { hashNumber, hashOf, type RepeatFilter } from '../../csv/identity-filter.js'
import type { LeaveOut, LeftOutValue } from '../../csv/names.js'
import type { CsvRow } from '../../csv/parse.js'
import type { Mapping } from '../input/mapping.js'
import type { AnswerSource, RowAnswer } from '../journal/answer.js'
import type { WantedRow } from '../journal/journal.js'

/** The end of a row: its answer, and the source and cost of it for this row. */
interface RowOutcome {
  readonly answer: RowAnswer
  /** null for rows that were never looked up. */
  readonly source: AnswerSource | null
  readonly credits: number
  /** Whether an earlier part of the run had it. */
  readonly kept?: true
  /** Real time at which another run, or a single lookup, got the answer. */
  readonly storedAt?: number
}

const none: readonly never[] = []

/** A row on its way through a run. */
export class RowState {
  readonly row: CsvRow
  /** Number of the row, counted from 0 after the header. */
  readonly ordinal: number
  readonly #rowBatch: RowBatch
  input: Input = {}
  identity: string | undefined
  hash: number | undefined
  repeats = false
  most = 0
  /** Cells that were left out of the input. */
  leftOut: readonly Pick<LeftOutValue, 'field' | 'value'>[] = none
  /** Absent while the row is on its way, and for good when the run stops before its answer. */
  outcome: RowOutcome | undefined
  /** Whether its call has been made. */
  sent = false
  #follows = false
  #settled = false
  #duplicates: RowState[] = []

  constructor(row: CsvRow, ordinal: number, rowBatch: RowBatch) {
    this.row = row
    this.ordinal = ordinal
    this.#rowBatch = rowBatch
  }

  get isSettled(): boolean {
    return this.#settled
  }

  /** Asks for fewer records than the row does. */
  lower(limit: number): void {
    this.input = { ...this.input, limit }
  }

  /** Returns the row for planning, where a lower `limit` would make it cheaper. */
  wanted(perRecord: number): WantedRow {
    const { ordinal, identity, hash, repeats, most } = this
    return { ordinal, identity, hash, repeats, most, perRecord }
  }

  /** Whether its answer is on the way: by its own call, or by that of an equal row. */
  get underWay(): boolean {
    return this.sent || this.#follows
  }

  /** Ends the row, and with it the equal rows that wait for its answer. */
  settle(outcome: RowOutcome | undefined): void {
    if (this.#settled) return
    this.outcome = outcome
    this.#settled = true
    this.#rowBatch.close(this)
    for (const duplicate of this.#duplicates) duplicate.settle(asDuplicate(outcome))
    this.#duplicates = []
  }

  /** Takes the answer of an equal row, now or when it comes. */
  follow(original: RowState): void {
    this.#follows = true
    if (original.#settled) this.settle(asDuplicate(original.outcome))
    else original.#duplicates.push(this)
  }
}

const asDuplicate = (outcome: RowOutcome | undefined): RowOutcome | undefined =>
  outcome && { answer: outcome.answer, source: 'duplicate', credits: 0 }

/** Rows that are read, prepared and written together. */
export class RowBatch {
  readonly states: readonly RowState[]
  readonly #end = Promise.withResolvers<void>()
  #open: number

  constructor(
    rows: readonly CsvRow[],
    firstOrdinal: number,
    private readonly onSettled?: (state: RowState) => void,
  ) {
    this.states = rows.map((row, at) => new RowState(row, firstOrdinal + at, this))
    this.#open = rows.length
  }

  /** Resolves when every row is settled. */
  get settled(): Promise<void> {
    return this.#end.promise
  }

  /** Counts one row as settled. */
  close(state: RowState): void {
    this.onSettled?.(state)
    this.#open--
    if (this.#open === 0) this.#end.resolve()
  }
}

/** Returns what makes the reasons of invalid rows, in the names of their columns and of options. */
export type ExplainRows = (
  fields: readonly string[],
  mapping: Mapping,
  constants?: Input,
) => (refusal: Refusal) => string

/** How rows become lookups, and what these can cost. */
export interface Lookup {
  /** Returns the input of a row; an ApiError makes the row invalid. */
  readonly input: (cells: readonly string[], leaveOut?: LeaveOut) => Input
  /** Throws an ApiError for an input that must not be sent. */
  readonly validate?: (input: Input) => void
  /** Returns why a row is invalid, in the names of the file and the command. */
  readonly explain: (refusal: Refusal) => string
  /** Whether a row is not looked up, because it already has the wanted result. */
  readonly skip?: ((cells: readonly string[]) => boolean) | undefined
  /** Whether a row is not looked up, because a list of known rows has it. */
  readonly isKnown?: ((cells: readonly string[]) => boolean) | undefined
  /** Whether a row without a profile URL is looked up for its email address only. */
  readonly isEmailOnly?: (input: Input) => boolean
  /** Equal for inputs that are the same paid lookup; `undefined` for one that is like no other. */
  readonly identity: (input: Input) => string | undefined
  /** Returns the identities of other inputs that a found body is the answer to; absent where an answer serves its input only. */
  readonly stated?: ((input: Input, body: unknown) => readonly string[]) | undefined
  /** Identities that may occur more than once; any may where it is absent. */
  readonly repeats?: RepeatFilter | undefined
  /** Returns the maximum cost of an input in credits. */
  readonly most: (input: Input) => number
  /** Price of one record where `limit` is the maximum number of records. */
  readonly perRecord?: number | undefined
}

/** Throws a Refusal for a row with more or fewer cells than the header. */
export function checkWidth(
  { length: cells }: readonly string[],
  { length: header }: readonly string[],
): void {
  if (cells !== header) throw new Refusal('csv.ragged', { cells, header })
}

/** Sets a row's input, price and identity. Returns what is wrong with an invalid row. */
export function prepare(
  { input, validate, explain, identity, most, repeats }: Lookup,
  header: readonly string[],
  state: RowState,
): string | undefined {
  const { cells } = state.row
  try {
    checkWidth(cells, header)
    state.input = input(cells, (field, value) => {
      state.leftOut = [...state.leftOut, { field, value }]
    })
    validate?.(state.input)
    state.most = most(state.input)
    state.identity = identity(state.input)
  } catch (error) {
    if (error instanceof Refusal) return explain(error)
    throw error
  }
  if (state.identity === undefined) return undefined
  const hash = hashOf(state.identity)
  state.hash = hashNumber(hash)
  state.repeats = repeats?.has(hash) ?? true
  return undefined
}
