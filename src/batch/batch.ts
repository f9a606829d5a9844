import type { Caller, CallOptions, Input } from '../api/caller.js'
import type { OperationId } from '../api/table.js'
import type { Time } from './gate.js'
import type { Journal } from './journal.js'
import type { Table } from './read.js'
import type { Progress } from './report.js'
import type { Writer } from './write.js'

/** A batch: everything a run needs. */
export interface Batch {
  readonly table: Pick<Table, 'header' | 'rows'>
  /** Makes the input of a row; an ApiError makes the row invalid. */
  readonly input: (cells: readonly string[]) => Input
  /** Refuses an input with an ApiError before it is sent. */
  readonly validate?: (input: Input) => void
  /** Equal for inputs that are the same lookup; undefined where one is like no other. */
  readonly identity: (input: Input) => string | undefined
  readonly operation: OperationId
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
}
