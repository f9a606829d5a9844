import type { Caller, CallOptions } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Table } from '../input/table.js'
import type { Journal } from '../journal/journal.js'
import type { Progress } from '../output/report.js'
import type { Writer } from '../output/writer.js'
import type { Together } from './bulk.js'
import type { Time } from './flow.js'
import type { Lookup } from './row-batch.js'

/** A batch: everything a run needs. */
export interface Batch extends Lookup {
  readonly table: Pick<Table, 'header' | 'rows'>
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
