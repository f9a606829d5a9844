import type { FileHandle } from 'node:fs/promises'
import type { Caller, CallOptions, Input, Reply } from '../api/calls/caller.js'
import type { Note, Refusal } from '../api/calls/errors.js'
import type { Operation, OperationId } from '../api/operations/table.js'
import type { Clock, Ids } from '../api/ports/ports.js'
import type { Fields } from '../api/values/objects.js'
import type { ConvertedFile } from '../csv/workbook/convert.js'
import type { ListKind, RowKeys } from '../lists/list-index.js'
import type { RowAnswer } from '../lookups/answer.js'
import type { Lookups } from '../lookups/store.js'
import type { Explain, InFlightCounter, RateGate, StopReason, Time } from './flow-control.js'
import type { Mapping, MappingRequest } from './input/mapping.js'
import type { Table } from './input/table.js'
import type { Run } from './journal/runs.js'
import type { OutputRow } from './output/columns.js'
import type { Format, Layout } from './output/formats.js'
import type { Progress, RunProgress, SuspectRows } from './output/report.js'
import type { Sink, Writer } from './output/writer.js'
import type { Lookup, RowState, RowSuppressor } from './plan/lookup.js'
import type { BatchQuote, RateWindow, RunFunds } from './plan/quote.js'

export interface BulkRequests {
  /** The operation that accepts several rows, and answers later. */
  readonly operation: OperationId
  /** The operation that reads accepted work by its id. */
  readonly reader: OperationId
  /** The array of the request for the rows; their other options are the same. */
  readonly into: string
  /** Fields of the request beside that array. */
  readonly shared: readonly string[]
  /** Fewest and most rows of a request. */
  readonly least: number
  readonly most: number
  /** Finishes accepted work in this process, unless another one works on it; called before each poll for its results. */
  readonly work?: (id: string, signal: AbortSignal) => Promise<void>
  /** Where the answer to a request has those to all of its rows already: how it is made, and read. */
  readonly direct?: {
    readonly request: (inputs: readonly Input[]) => Input
    readonly replies: (body: unknown) => readonly Reply[]
  }
}

/** A list to look rows up in: a file, or records of the catalogue or of a list of the API. */
export interface KnownList {
  readonly name: string
  readonly header: readonly string[]
  /** Its columns; absent where it is no file. */
  readonly mapping?: Mapping
  /** Yields the line, the fields and the cells of each row; with records, no line and no header. */
  rows(): AsyncIterable<readonly KnownRow[]>
}

interface KnownRow {
  readonly line: number | null
  readonly fields: Fields
  readonly cell: (column: string) => string
  /** What it says beside its fields; absent where it is about somebody else, whom several rows may name. */
  readonly rest?: () => string
  /** The same with its further addresses or domains. */
  readonly others?: readonly Fields[]
  /** What identifies it in place of fields: who is suppressed is known, and nothing more. */
  readonly hashed?: readonly RowKeys[] | undefined
}

/** What was read of a CRM. */
export interface Mirror extends KnownList {
  /** The id and the properties, each once, as the CRM calls them. */
  readonly columns: readonly string[]
  /** The same as fields have our names. */
  readonly names: readonly string[]
  /** The real time from which changes are not in it. */
  readonly readAt: number
}

/** Where this machine's records of runs are, and the clock and ids they are kept with. */
export interface RunHome {
  /** `state` is the path of the state database; the folders of locks and of piped input are beside it. */
  readonly home: { readonly state: string }
  readonly clock: Clock
  readonly ids: Ids
  /** Creates the folders of the home; throws where others can read them. */
  prepareHome(): void
  /** Adds work for the end of the command; the last added runs first. */
  onClose(work: () => Promise<void> | void): void
}

/** Where answers come from, in one phrase as `text`. */
export interface AnswerSource {
  readonly kind: string
  readonly text: string
}

/** The engine of this machine, which knows what became of rows that were sent to it. */
export interface OwnEngine {
  /** The name that it is recorded under, and the workspace that its key belongs to. */
  readonly name: string
  readonly workspace: string
  readonly caller: Caller
  readonly apiKey: string | undefined
}

/** Opens the engine of this machine; `undefined` where it has none. */
export type OpenOwnEngine = () => Promise<OwnEngine | undefined>

export interface BatchTarget {
  /** The name that spending is counted under. */
  readonly profile: string
  /** Returns the name that it is recorded under, wherever its database is. */
  name(): Promise<string>
  /** Returns the workspace that pays, as far as it is known. */
  workspace(): Promise<string>
  /** Returns the real time before which its answers are out of date: that of the latest import here; 0 where there is none. */
  answersFrom(): Promise<number>
  caller(): Promise<Caller>
  apiKey(): Promise<string | undefined>
  /** Returns whose key this command has: an email, else `key` with its fingerprint; `undefined` where it is not valid. */
  member(): Promise<string | undefined>
  /** Returns where answers come from; `undefined` where that is not known. */
  source(): Promise<AnswerSource | undefined>
  /** Throws a Refusal where it has no record to answer from. */
  requireRecords(): Promise<void>
  /** Returns the email of that member; `undefined` at another server. */
  memberEmail(): Promise<string | undefined>
  /** Returns what keeps out whom the target suppresses; `undefined` where that is nobody. */
  suppressor(): Promise<RowSuppressor | undefined>
  /** Opens the engine of this machine, whatever the target is. */
  readonly engine: OpenOwnEngine
  /** Returns how several rows of a run go out as one request; `undefined` where each goes by itself. */
  bulk(run: string): Promise<BulkRequests | undefined>
  /** Returns the columns of files that rows are asked with, beside the fields of their requests; `shared` has those of all rows. */
  columns(operation: Operation, shared: Input): Promise<readonly string[]>
  /** Returns those of some data vendors that a run may ask now. */
  vendorsToAsk(run: Pick<Run, 'id' | 'operation'>, names: readonly string[]): Promise<ReadonlySet<string>>
  /** Counts what a run has spent at data vendors in the budget of the one that goes on for it. */
  carryBudget(from: string, to: string): Promise<void>
}

/** Makes the sentences of a run: below its command there are codes only. */
export interface RunSentences {
  readonly explainStop: Explain
  readonly describe: (refusal: Refusal) => string
}

export interface RunPorts extends RunHome {
  readonly target: BatchTarget
  readonly streams: {
    readonly stdin: NodeJS.ReadableStream
    readonly stdout: NodeJS.WritableStream
    readonly cwd: string
  }
  /**
   * Converts a sheet of a workbook to CSV in UTF-8, or unpacks a file, to the file that `openCopy` opens. Returns that file;
   * `undefined` where the given one is neither. Throws a Refusal where it cannot be converted, or is another file that is no text.
   */
  convertFile(
    path: string,
    sheet: string | undefined,
    openCopy: () => Promise<FileHandle>,
  ): Promise<ConvertedFile | undefined>
  records(source: string, kind: ListKind): AsyncIterable<Fields>
  /** Opens what was read of a CRM as a list. */
  mirror(crm: string, kind: ListKind): Promise<Mirror>
  /** Where the rows of a person at a terminal go who did not choose a format or a file; absent for anybody else. */
  readonly screen?: {
    readonly stdout: NodeJS.WritableStream
    /** Returns a format that draws a table: the columns `asked` for, else those of the input that say whom a row is about. */
    tableFormat(
      layout: Layout<OutputRow>,
      shown: { readonly asked: readonly string[] | undefined; readonly mapped: readonly string[] },
    ): Promise<Format<OutputRow>>
  }
  notify(note: string | Note): void
  readonly sentences: RunSentences
  /** Opens a file for writing; `name` says what it is. Throws where it is one that must not be replaced. */
  openFile(path: string, name: string, signal?: AbortSignal): Promise<Sink>
  /** Throws where a command may not write to a path, or read it. */
  claimFile(path: string, name: string, use?: 'read' | 'write'): void
}

/** A target that refuses the free questions of a quote, such as one that does not accept the key. */
export interface TargetRefusal {
  readonly operation: Operation
  readonly reply: Reply
}

export interface Remaining {
  readonly spendable: Omit<RunFunds, 'budget'>
  /** null where the plan's limits are not known. */
  readonly windows: readonly RateWindow[] | null
}

/** A mapping, and the `--map` pairs that lead to it again without a question. */
export interface ChosenMapping {
  readonly mapping: Mapping
  readonly map: readonly string[]
}

export interface KnownRun extends Run {
  /** The run is finished, and only its rows of unknown outcome are sent again. */
  readonly onlyUnknown?: boolean
  /** The run is finished, and only rows are looked up again that the budget of a data vendor had left out. */
  readonly onlyLeftOut?: boolean
}

/** What a person sees of a batch and decides. */
export interface BatchDialog {
  /** Returns which encoding of several a file has. Throws the refusal that names them without a person to ask. */
  chooseEncoding(refusal: Refusal): Promise<string>
  /** Matches the columns of a file with fields; a person at a terminal may be asked. */
  chooseMapping(request: MappingRequest): Promise<ChosenMapping>
  /** Returns the input of all rows, with required options that no column fills. Throws without a person to ask. */
  completeConstants(mapping: Mapping): Promise<Input>
  showMapping(mapping: Mapping): void
  showKnownRun(run: KnownRun): void
  /** Asks whether another member resumes a run. Throws where the answer is no, or nobody can be asked. */
  confirmMember(run: Run, starter: string, member: string): Promise<void>
  showRagged(rows: number, firstLine: number | undefined): void
  /** Asks whether to start, and throws where the answer is no. The quote is made only where a person is asked. */
  confirm(quote: () => Promise<BatchQuote | TargetRefusal>): Promise<void>
  showCounting(): Promise<Progress>
  /** A run begins. */
  showProgress(run: Run): Promise<Progress>
}

export interface BatchPorts extends RunPorts {
  readonly dialog: BatchDialog
  /** Asks a target for its remaining credits and requests, which is free. */
  remaining(operation: Operation, constants: Input): Promise<Remaining | TargetRefusal>
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Runs work whose signal is given on Ctrl-C or SIGTERM. */
  interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
}

export interface Batch extends Lookup {
  readonly table: Pick<Table, 'header' | 'rows'>
  readonly operation: OperationId
  /** How several rows are sent as one request; where absent, each row is a request. */
  readonly bulkRequests?: BulkRequests | undefined
  readonly caller: Caller
  readonly callOptions?: CallOptions
  readonly lookups: Lookups
  readonly writer: Writer
  readonly time: Time
  /** Maximum number of calls at once; many, so that an engine can commit them together. */
  readonly concurrency?: number | undefined
  /** Number of rows, where they were counted. */
  readonly total?: number
  /** Whether the file has rows behind them: the run is not finished then, even when all these are answered. */
  readonly hasMore?: boolean
  /** Whether other runs have calls under way that may release credits of a budget that they share. */
  readonly othersUnderWay?: () => boolean
  /** Ends the run early: no further row is sent, and calls under way are awaited. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: RunProgress) => void
  readonly explainStop: Explain
  readonly notify?: (note: string | Note) => void
  /** Called when all rows before an ordinal have recorded answers: a target need not keep their replies any longer. */
  readonly onSafe?: (before: number) => Promise<void>
}

export interface CallPorts {
  readonly batch: Batch
  readonly stopReason: StopReason
  readonly rateGate: RateGate
  readonly inFlight: InFlightCounter
  readonly answered: (state: RowState, answer: RowAnswer) => void
  /** Notes whether a row that is recorded was sent. */
  readonly sending: (state: RowState, isSent: boolean) => void
  readonly suspect: SuspectRows
}
