import type { Input, Reply } from '../api/calls/caller.js'
import type { Operation } from '../api/operations/table.js'
import { parseJson } from '../api/values/json.js'
import type { Driver } from '../storage/driver/connection.js'
import type { Run } from '../storage/state/runs/runs.js'
import type { Mapping, MappingRequest } from './input/mapping.js'
import { type Check, checkTable, type Table } from './input/table.js'
import type { Progress, Report } from './output/report.js'
import type { Rejects } from './output/writer.js'
import { createLookup, toMappingRequest } from './plan/lookup.js'
import {
  type BatchQuote,
  countRows,
  countSpendable,
  createQuote,
  type RateWindow,
  type Results,
  type SpendableCredits,
} from './plan/quote.js'
import { execute } from './run/execute.js'
import { findKnown, identifyRun, type KnownRun, openRunInput } from './run/find-run.js'
import { openJournal, openQuoteJournal, type ResolvedBatch, readBudget } from './run/open-journal.js'
import { openOutput } from './run/open-output.js'
import type { RunPorts } from './run/ports.js'
import { hold, holdRun, lockOfDead, namedLock, openRuns, removeLeftovers } from './run/records.js'
import type { BatchRequest } from './run/request.js'
import type { Lookup } from './run/row-batch.js'

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

/** A run that was executed, at least in part. */
export interface ExecutedBatch {
  readonly kind: 'executed'
  readonly run: Run
  readonly report: Report
  readonly rejects: Rejects | undefined
  /** Whether the reader of our stdout has gone. */
  readonly isAbandoned: boolean
  /** Whether the run was finished before. */
  readonly wasFinished: boolean
  readonly signal: AbortSignal
}

/** How a batch ends: only its mapping or its quote was wanted, nobody agreed to it, or it was executed. */
export type BatchResult =
  | { readonly kind: 'mapping'; readonly mapping: Mapping }
  | { readonly kind: 'quote'; readonly quote: BatchQuote | TargetRefusal }
  | { readonly kind: 'declined' }
  | ExecutedBatch

/** A batch whose rows were counted and whose run was looked for: all that its quote and its execution need. */
interface PlannedBatch extends ResolvedBatch {
  readonly rows: Lookup & { readonly table: Table }
  readonly check: Check
}

/** Looks up every row of a file, or resumes a run: reads the file, finds the run, quotes it and executes it. */
export async function runBatch(asked: BatchRequest, ports: BatchPorts): Promise<BatchResult> {
  const { dialog } = ports
  if (asked.choices.lock !== undefined && !asked.choices.dryRun)
    hold(ports, namedLock(ports, asked.choices.lock), `The lock ${asked.choices.lock}`)
  const input = await openRunInput(ports, asked)
  const { mapping, map } = await dialog.chooseMapping(toMappingRequest(asked, input.table.header))
  if (asked.choices.mapOnly) return { kind: 'mapping', mapping }
  dialog.showMapping(mapping)
  const request = { ...asked, choices: { ...asked.choices, map } }
  const batch = await planBatch(ports, request, input, mapping)
  const quote = () => makeQuote(ports, batch)
  if (request.choices.dryRun) return { kind: 'quote', quote: await quote() }
  if (batch.known?.status !== 'finished' && !(await dialog.confirm(quote))) return { kind: 'declined' }
  return ports.interruptible((signal) => executeBatch(ports, batch, signal))
}

/** Finds the run of a batch, and reads the whole file before the first paid call. */
async function planBatch(
  ports: BatchPorts,
  request: BatchRequest,
  input: ResolvedBatch['input'],
  mapping: Mapping,
): Promise<PlannedBatch> {
  const { table } = input
  const { dryRun } = request.choices
  const lookup = createLookup(request, mapping, table.header)
  const identity = await identifyRun(request, ports, table, mapping)
  const records = await openRuns(ports, { database: request.database }, request.records)
  if (!dryRun) await holdRun(ports, records.locks, identity.knownBy, 'This run')
  const { stopKilled } = await import('../storage/state/runs/killed-runs.js')
  await stopKilled(records.database, ({ knownBy }) =>
    // This command has that lock itself.
    knownBy === identity.knownBy && !dryRun ? { release: () => {} } : lockOfDead(records.locks, knownBy),
  )
  const known = await findKnown(request, identity, records.runs)
  const check = await checkTable(table, (cells) => lookup.identity(lookup.input(cells)), lookup.skip)
  if (check.ragged > 0) ports.dialog.showRagged(check.ragged, check.firstRagged)
  if (known) ports.dialog.showKnownRun(known)
  return {
    request,
    records,
    identity,
    known,
    input,
    check,
    rows: { table, ...lookup, repeats: check.repeats },
  }
}

/** Makes the quote of a batch; only free questions are sent. */
async function makeQuote(ports: BatchPorts, batch: PlannedBatch): Promise<BatchQuote | TargetRefusal> {
  const { request, records, identity, rows } = batch
  const remaining = await ports.remaining(request.operation, request.constants)
  if ('reply' in remaining) return remaining
  const spendable = { ...remaining.spendable, budget: await readBudget(ports, batch) }
  const journal = await openQuoteJournal(ports, batch)
  const progress = await ports.dialog.showCounting()
  const { openFirstSeen } = await import('../storage/state/runs/seen-on-disk.js')
  const seen = openFirstSeen()
  const counted = await countRows({
    ...{ ...rows, journal, funds: countSpendable(spendable), isNew: seen.isNew },
    onCounted: (count) => progress.update({ rows: count, found: 0, credits: 0, total: undefined }),
  }).finally(() => {
    seen.close()
    progress.stop()
  })
  return createQuote({
    counted,
    results: await readResults(request, records.database, identity.target),
    spendable,
    windows: remaining.windows,
    defaultShare: defaultShareOf(request.operation),
  })
}

/** Fields that a price depends on: results of other values say nothing about a row. */
const pricing = ['enrichment_type', 'limit'] as const

/** Reads what this machine's lookups with the same price have cost on the target. */
async function readResults(
  { operation, constants }: BatchRequest,
  database: Driver,
  target: string,
): Promise<Results> {
  const { resultsOfRuns } = await import('../storage/state/runs/cost-average.js')
  const runs = await database.read((connection) => resultsOfRuns(connection, operation.id, target))
  const same = runs.filter(({ request }) => {
    const { constants: theirs = {} } = parseJson(request) as { readonly constants?: Input }
    return pricing.every((field) => JSON.stringify(theirs[field]) === JSON.stringify(constants[field]))
  })
  return {
    credits: same.reduce((sum, { credits }) => sum + credits, 0),
    answers: same.reduce((sum, { answers }) => sum + answers, 0),
  }
}

/** The share of the maximum that is expected without results: few companies have as many jobs as are asked for. */
const defaultShareOf = ({ price }: Operation): number => (price.job === undefined ? 0.5 : 0.1)

/** Sends the rows of a planned batch and writes its output. */
async function executeBatch(
  ports: BatchPorts,
  batch: PlannedBatch,
  signal: AbortSignal,
): Promise<ExecutedBatch> {
  const { request, records, known, input, check, rows } = batch
  const { clock, target, dialog } = ports
  const output = await openOutput(ports, request, input.table, (path) => records.runs.writesTo(path))
  const { run, journal, target: own } = await openJournal(ports, batch, check.rows, output.path)
  const isDistributed = request.choices.distribute && run.status !== 'finished'
  const workers = isDistributed ? await target.distribute(run, own.callOptions?.apiKey, signal) : undefined
  // Records that machines share say nothing about the folders of this one.
  if (records.address === undefined)
    await removeLeftovers(ports, new Set((await records.runs.list()).map(({ id }) => id)))
  const progress = await dialog.showProgress(() => workers?.workers())
  progress.update({ rows: 0, found: 0, credits: 0, total: check.rows })
  const together = await target.bulk(run.id)
  const report = await execute({
    ...rows,
    ...own,
    ...(workers ? { caller: workers.caller, concurrency: workers.concurrency } : {}),
    ...(together ? { together } : {}),
    operation: request.operation.id,
    journal,
    writer: output.writer,
    time: {
      now: () => clock.now(),
      sleep: (ms, aborted) => ports.sleep(ms, aborted).catch(() => {}),
    },
    total: check.rows,
    signal,
    onProgress: (step) => progress.update(step),
  }).finally(() => progress.stop())
  return {
    ...{ kind: 'executed', run, report, rejects: output.rejects, signal },
    isAbandoned: output.isAbandoned(),
    wasFinished: known?.status === 'finished',
  }
}
