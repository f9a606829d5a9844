import type { Child } from 'hono/jsx'
import type { Input, Reply } from '../../api/calls/caller.js'
import { Refusal, type Report } from '../../api/calls/errors.js'
import type { QuotaName } from '../../api/operations/plans.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Source } from '../../api/ports/ports.js'
import type { Catalogue } from '../../catalogue/catalogue.js'
import type { Admin, LimitsReport } from '../../engine/admin/admin.js'
import type { QuotaState } from '../../engine/credits/quotas.js'
import type { AnswerCount, RunFilter } from '../../runs/journal/runs.js'
import type { Spent } from '../../runs/journal/spending.js'
import type { BatchQuote } from '../../runs/plan/quote.js'
import type { EventFilter, KeptEvent, ListedEvent } from '../../storage/state/webhook-inbox.js'

/** What a view shows, as hono's JSX; every text in it is escaped. */
export type Html = Child

export interface Page {
  readonly ports: DashboardPorts
  /** The query of the address: filters, a position in a list, the id of what is shown whole. */
  readonly query: URLSearchParams
  readonly isReadOnly: boolean
}

export interface View {
  /** The last part of its path: `runs` is served at `/dashboard/runs`; empty for the first view. */
  readonly name: string
  readonly title: string
  render(page: Page): Promise<Html>
  /** What its buttons and forms do, by the name in `<form data-action="VIEW/NAME">`. */
  readonly actions?: Readonly<Record<string, Action>>
}

export type Fields = Readonly<Record<string, string>>

/** A thrown refusal is shown with its hint; any other error is a bug. A `Response` is saved as a file. */
export type Action = (ports: DashboardPorts, fields: Fields) => Promise<ActionResult | Response>

/** What the page shows after an action; the view is read again in any case. */
export interface ActionResult {
  readonly message: string
  /** A text to copy that is shown once, such as a new key, or the reply of an operation. */
  readonly detail?: string
  /** Asks before another action of the same view is done: its name, its fields and the text of its button. */
  readonly confirm?: { readonly action: string; readonly fields: Fields; readonly label: string }
}

/** Where calls go: the engine of this machine, or a server, whose credits and limits the pages are about then. */
export interface Target {
  readonly isServer: boolean
  /** The name under which what was spent there is recorded. */
  readonly name: string
  /** The same as it is shown: the host of a server. */
  readonly shown: string
}

/** Limits as far as the target tells them. */
export interface ShownLimits extends Pick<LimitsReport, 'windows'> {
  readonly plan: string | null
  readonly credits: { readonly [Name in keyof LimitsReport['credits']]: LimitsReport['credits'][Name] | null }
  /** Who has the key, where the target says it. */
  readonly member?: string | undefined
  /** Null without a limit; `undefined` where the target does not say. */
  readonly weekly: LimitsReport['weekly'] | undefined
  readonly quotas: Partial<
    Record<QuotaName, { readonly [Name in keyof QuotaState]: QuotaState[Name] | null }>
  >
}

/** Why something is not known, and what to do. */
export type Problem = Pick<Report, 'error' | 'hint'>

export interface DashboardPorts {
  readonly target: Target
  /**
   * Administration of the workspace in use of this machine: status, ledger, jobs, deliveries, members, keys, clock. Creates
   * nothing: `undefined` where there is no workspace.
   */
  admin(): Promise<Admin | undefined>
  /** Returns what is left at the target. */
  limits(): Promise<ShownLimits | Problem>
  /** Real time. */
  now(): number
  /** Calls an operation with the key of this machine, or its key of the server, and records what it cost as a command does. */
  call(operation: OperationId, input: Input, idempotencyKey?: string): Promise<Reply>
  apiUrl(): string
  /** Returns where answers come from, in one phrase as `text`; `undefined` where that is not known. */
  source(member?: string): Promise<{ readonly text: string } | undefined>
  /** Returns what the commands of this machine spent on some days (UTC, both included), oldest first. */
  spent(days: { readonly from: string; readonly to: string }): Promise<readonly Spent[]>
  /** Revokes a key. When it is the key of this machine, the next call makes a new one. */
  revokeKey(id: string): Promise<void>
  render(
    records: () => AsyncIterable<Readonly<Record<string, unknown>>>,
    format: 'csv' | 'ndjson',
  ): AsyncIterable<string>
  /** The catalogue without whom the workspace suppresses. */
  catalogue(): Promise<Source & Pick<Catalogue, 'record' | 'stats'>>
  readonly runs: RunsPort
  readonly inbox: InboxPort
}

export const refused = (status: number, message: string, hint = ''): Refusal =>
  new Refusal('dashboard.refused', { status, message, hint })

/** Returns the administration for what only an engine has. Throws the refusal to show where this machine has none yet. */
export async function engineOf({ admin }: Pick<DashboardPorts, 'admin'>): Promise<Admin> {
  const engine = await admin()
  if (engine) return engine
  throw refused(404, 'This machine has no workspace yet.', 'To create one: prospect init')
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
  export(id: string, shared: boolean): Promise<ReadableStream<Uint8Array>>
}

export interface InboxPort {
  list(filter: EventFilter, limit: number, after?: number): Promise<readonly ListedEvent[]>
  find(id: string): Promise<KeptEvent | undefined>
  /** Sends one event to an address, with the headers and body it came with. Returns the answer. */
  replay(id: string, url: string): Promise<string>
  /** Sends all events of a filter, the oldest first. Returns how many the address accepted. */
  forward(filter: EventFilter, url: string): Promise<number>
}

export interface ServerPorts {
  /** Returns the sentences of a refusal; `undefined` when the error is a bug. */
  explain(error: unknown): Pick<Report, 'error' | 'hint'> | undefined
  report(error: unknown): void
  /** Calls `onChange` after a process has changed a database, this one or another; returns what ends this. */
  watch(onChange: () => void): () => void
  random(size: number): Uint8Array
}
