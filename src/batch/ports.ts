import type { Input, Reply } from '../api/calls/caller.js'
import type { Operation } from '../api/operations/table.js'
import type { Mapping, MappingRequest } from './input/mapping.js'
import type { Progress } from './output/report.js'
import type { BatchQuote, RateWindow, SpendableCredits } from './plan/quote.js'
import type { KnownRun } from './run/find-run.js'
import type { RunPorts } from './run/ports.js'

/** A target that refuses the free questions of a quote, such as one that does not accept the key. */
export interface TargetRefusal {
  readonly operation: Operation
  readonly reply: Reply
}

/** What is left at a target for the lookups of an operation. */
export interface Remaining {
  readonly spendable: Omit<SpendableCredits, 'budget'>
  /** null where the plan's limits are not known. */
  readonly windows: readonly RateWindow[] | null
}

/** Shows how far long work has come. */
export interface ProgressDisplay {
  update(step: Pick<Progress, 'rows' | 'found' | 'credits' | 'total'>): void
  /** Removes the display. */
  stop(): void
}

/** A mapping, and the `--map` pairs that lead to it again without a question. */
export interface ChosenMapping {
  readonly mapping: Mapping
  readonly map: readonly string[]
}

/** What a person sees of a batch, and decides about it. */
export interface BatchDialog {
  /** Matches the columns of a file with fields; a person at a terminal may be asked. */
  chooseMapping(request: MappingRequest): Promise<ChosenMapping>
  showMapping(mapping: Mapping): void
  showKnownRun(run: KnownRun): void
  /** Says that rows have more or fewer cells than the header. */
  showRagged(rows: number, firstLine: number | undefined): void
  /** Asks whether to start; the quote is made only where a person is asked. */
  confirm(quote: () => Promise<BatchQuote | TargetRefusal>): Promise<boolean>
  showCounting(): Promise<ProgressDisplay>
  /** `workers` returns how many workers take part; `undefined` where this process makes the calls. */
  showProgress(workers: () => number | undefined): Promise<ProgressDisplay>
}

/** What a batch needs of its surroundings. */
export interface BatchPorts extends RunPorts {
  readonly dialog: BatchDialog
  /** Asks a target what is left; asking is free. */
  remaining(operation: Operation, constants: Input): Promise<Remaining | TargetRefusal>
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Does work that a signal of the system ends in order. */
  interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
}
