import type { Caller, CallOptions, Input } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import type { RepeatFilter } from '../../csv/identity-filter.js'
import type { Table } from '../input/read.js'
import type { Journal } from '../journal/journal.js'
import type { Progress } from '../output/report.js'
import type { Writer } from '../output/write.js'
import type { Together } from './bulk.js'
import type { Time } from './rate-gate.js'

/** A batch: everything a run needs. */
export interface Batch {
  readonly table: Pick<Table, 'header' | 'rows'>
  /** Makes the input of a row; an ApiError makes the row invalid. */
  readonly input: (cells: readonly string[]) => Input
  /** Refuses an input with an ApiError before it is sent. */
  readonly validate?: (input: Input) => void
  /** Rows that are not looked up, because the input has what is asked for. */
  readonly skip?: ((cells: readonly string[]) => boolean) | undefined
  /** Equal for inputs that are the same lookup; undefined where one is like no other. */
  readonly identity: (input: Input) => string | undefined
  /** Identities that may come more than once; any may where it is absent. */
  readonly repeats?: RepeatFilter | undefined
  /** The most credits that an input can cost. */
  readonly most: (input: Input) => number
  /** Price of one record where `limit` says how many there are at most. */
  readonly perRecord?: number | undefined
  readonly operation: OperationId
  /** How several rows go out as one request; each goes by itself where it is absent. */
  readonly together?: Together | undefined
  readonly caller: Caller
  readonly callOptions?: CallOptions
  readonly journal: Journal
  readonly writer: Writer
  readonly time: Time
  /** Calls under way at once; many, so that an engine can commit them together. */
  readonly concurrency?: number
  /** Rows of the file, where they were counted. */
  readonly total?: number
  /** Ends the run early: no further row is sent, and those under way are awaited. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** Told of rows whose answers are on record: whatever a target keeps for them has served. */
  readonly onSafe?: (before: number) => Promise<void>
}
