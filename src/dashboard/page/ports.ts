import type { Input, Reply } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Catalogue } from '../../catalogue/catalogue.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { LimitsReport } from '../../engine/admin/limits.js'

/** What the dashboard reads and does: the ports behind the commands. */
export interface DashboardPorts {
  /** Administration of the engine: status, ledger, jobs, deliveries, members, keys, clock. */
  readonly admin: Admin
  /** Returns what is left of credits, quotas and rate windows, for the key of this machine. */
  limits(): Promise<LimitsReport>
  /** Calls an operation with the key of this machine. */
  call(operation: OperationId, input: Input): Promise<Reply>
  catalogue(): Promise<Catalogue>
}

/** A refusal as a person reads it: what happened, and what to do. */
export interface Explanation {
  readonly error: string
  readonly hint: string
}

/** What the server of the dashboard needs besides. */
export interface ServerPorts {
  /** Returns the sentences of a refusal; `undefined` when the error is a bug. */
  explain(error: unknown): Explanation | undefined
  /** Reports a bug. */
  report(error: unknown): void
  /** Calls `onChange` after a process has changed a database, this one or another; returns what ends this. */
  watch(onChange: () => void): () => void
  /** Returns unguessable bytes. */
  random(size: number): Uint8Array
}
