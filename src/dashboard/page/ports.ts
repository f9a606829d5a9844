import type { Input, Reply } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Fields } from '../../api/values/objects.js'
import type { Catalogue } from '../../catalogue/catalogue.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { LimitsReport } from '../../engine/admin/limits.js'
import type { AnswerCount, RunFilter } from '../../runs/journal/runs.js'
import type { Spent } from '../../runs/journal/spending.js'
import type { BatchQuote } from '../../runs/plan/quote.js'
import type { EventFilter, KeptEvent, ListedEvent } from '../../storage/state/webhook-inbox.js'

/** What the dashboard reads and does: the ports behind the commands. */
export interface DashboardPorts {
  /** Administration of the engine: status, ledger, jobs, deliveries, members, keys, clock. */
  readonly admin: Admin
  /** Returns what is left of credits, quotas and rate windows, for the key of this machine. */
  limits(): Promise<LimitsReport>
  /** Calls an operation with the key of this machine, and records what it cost as a command does. */
  call(operation: OperationId, input: Input, idempotencyKey?: string): Promise<Reply>
  /** Returns the base address at which the API is served. */
  apiUrl(): string
  /** Returns where answers come from, in one phrase as `text`; `undefined` where that is not known. */
  source(): Promise<{ readonly text: string } | undefined>
  /** Returns what the commands of this machine spent on some days (UTC, both included), oldest first. */
  spent(days: { readonly from: string; readonly to: string }): Promise<readonly Spent[]>
  /** Revokes a key. When it is the key of this machine, the next call makes a new one. */
  revokeKey(id: string): Promise<void>
  /** Yields records as the commands print them. */
  render(records: () => AsyncIterable<Fields>, format: 'csv' | 'ndjson'): AsyncIterable<string>
  catalogue(): Promise<Catalogue>
  readonly runs: RunsPort
  readonly inbox: InboxPort
}

/** A run as `prospect runs` prints it, with what a list needs. */
export interface ListedRun {
  readonly id: string
  readonly number: number
  readonly operation: string
  readonly file: string
  readonly output: string | null
  readonly target: string
  readonly status: string
  readonly rows: number
  readonly done: number
  readonly credits: number
  readonly started_at: string | null
  readonly finished_at: string | null
  /** Rows answered per second of late; absent while that is not known. */
  readonly rate?: number
}

/** What became of rows in a step of a flow. */
export interface ShownStep {
  readonly step: string
  /** Rows that came to it, that it found something for, and that went on. */
  readonly in: number
  readonly found: number
  readonly out: number
  readonly credits: number
}

export interface ShownRun extends ListedRun {
  /** The steps of a flow; absent for a run of one lookup. */
  readonly steps?: readonly ShownStep[]
  readonly answers: readonly AnswerCount[]
  /** Rows that are invalid; null where that is not recorded. */
  readonly invalid: number | null
  /** Who works on it, as part of a sentence. */
  readonly holder: string | undefined
  /** What the last command said that was started from here and failed. */
  readonly problem: string | undefined
}

/** What `prospect runs resume --dry-run` says of a run. */
export type RestQuote = Pick<
  BatchQuote,
  'credits' | 'balance' | 'lookups' | 'invalid' | 'invalid_reasons' | 'seconds'
>

/** The runs of this machine, or those that machines share. */
export interface RunsPort {
  /** Whether the engine's database is on a server, where machines can share runs. */
  readonly canShare: boolean
  list(filter: RunFilter, shared: boolean): Promise<readonly ListedRun[]>
  /** Throws a refusal when there is no such run. */
  show(id: string, shared: boolean): Promise<ShownRun>
  /** Returns what the rest of a run can cost. It sends nothing. */
  quote(id: string, shared: boolean): Promise<RestQuote>
  /** Starts `prospect runs resume` as a process. It spends at most so many credits more. */
  resume(id: string, shared: boolean, mostCredits: number): Promise<void>
  /** Sends SIGTERM to the process of a run. Throws a refusal when none runs on this machine. */
  stop(id: string, shared: boolean): Promise<void>
  /** Returns the output of a run as far as it is. */
  export(id: string, shared: boolean): Promise<ReadableStream<Uint8Array>>
}

/** The received events of this machine. */
export interface InboxPort {
  list(filter: EventFilter, limit: number, after?: number): Promise<readonly ListedEvent[]>
  find(id: string): Promise<KeptEvent | undefined>
  /** Sends one event to an address, with the headers and body it came with. Returns the answer. */
  replay(id: string, url: string): Promise<string>
  /** Sends all events of a filter, the oldest first. Returns how many the address accepted. */
  forward(filter: EventFilter, url: string): Promise<number>
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
  report(error: unknown): void
  /** Calls `onChange` after a process has changed a database, this one or another; returns what ends this. */
  watch(onChange: () => void): () => void
  /** Returns unguessable bytes. */
  random(size: number): Uint8Array
}
