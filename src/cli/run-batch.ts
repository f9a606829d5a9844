import { validate } from '../api/invalid.js'
import { isPriced } from '../api/operation.js'
import { type Check, checkTable } from '../batch/check.js'
import { describeMapping } from '../batch/mapping.js'
import type { Table } from '../batch/read.js'
import { exitCodeOf } from '../batch/report.js'
import { run as runRows } from '../batch/run.js'
import type { Run } from '../storage/runs.js'
import { confirm } from './ask.js'
import { openInput, openOutput } from './batch-files.js'
import { type Job, type Lookup, lookupOf, mappingOf } from './batch-job.js'
import { exits } from './exit.js'
import { credited, priceText } from './facts.js'
import { findRun, runIdentityOf } from './find-run.js'
import { exitOfSignal, interruptible } from './interrupts.js'
import { type Beginning, openJournal } from './open-journal.js'
import { openRuns } from './open-runs.js'
import { startProgress } from './progress.js'
import { rowed, tellReport } from './report.js'
import { rowPriceOf } from './row-price.js'
import { removeLeftovers } from './run-folder.js'
import { hold, namedLock, runLock } from './run-lock.js'
import { showMapping } from './show-mapping.js'
import { grouped } from './terminal.js'

/** Looks up every row of a file, or goes on where that was stopped; answers the exit code. */
export async function runBatch(job: Job): Promise<number> {
  const { shell, choices, globals } = job
  const { context } = shell
  if (choices.lock !== undefined) hold(context, namedLock(context, choices.lock), `The lock ${choices.lock}`)
  const input = await openInput(context, choices)
  const mapping = mappingOf(job, input.table)
  if (choices.mapOnly) return showMapping(shell, mapping, globals)
  for (const line of describeMapping(mapping)) context.notify(line, globals)
  const lookup = lookupOf(job, mapping)
  const identity = await runIdentityOf(job, input.table, mapping)
  const records = await openRuns(context)
  hold(context, runLock(context, identity.knownBy), 'This run')
  const known = await findRun(job, identity, records.runs)
  const check = await checked(job, input.table, lookup)
  tellKnown(job, known)
  if (known?.status !== 'finished' && !(await agreed(job, check.rows - (known?.done ?? 0)))) return exits.ok
  const beginning = { records, identity, known, input }
  return interruptible(context.streams, (signal) => runAll(job, lookup, check, beginning, signal))
}

/** Says what is there already. */
function tellKnown({ shell, globals }: Job, known: Run | undefined): void {
  if (!known) return
  const { id, done, total, status, credits } = known
  const text =
    status === 'finished'
      ? `Run ${id} is finished: its output is written again, and nothing is spent. --fresh starts a new run.`
      : `Going on with run ${id}: ${grouped(done)} of ${rowed(total)} are answered, ${credited(credits)} paid.`
  shell.context.notify(text, globals)
}

/** Reads the whole file before the first paid call, and learns which answers will be needed again. */
async function checked({ shell, globals }: Job, table: Table, { input, identity }: Lookup): Promise<Check> {
  const check = await checkTable(table, (cells) => identity(input(cells)))
  const { ragged, firstRagged } = check
  if (ragged > 0)
    shell.context.notify(
      ragged === 1
        ? `The row on line ${firstRagged} has more or fewer cells than the header.`
        : `${grouped(ragged)} rows have more or fewer cells than the header; the first is on line ${firstRagged}.`,
      globals,
    )
  return check
}

/** On a terminal, what may be spent is agreed on first. */
async function agreed({ shell, operation, globals }: Job, rows: number): Promise<boolean> {
  if (!isPriced(operation) || rows === 0) return true
  return confirm(shell.context, `${rowed(rows)}, ${mostText(operation, rows)} Start?`, globals)
}

/** The most that rows can cost where each is one lookup; where a row may find several, what each of them costs. */
function mostText(operation: Job['operation'], rows: number): string {
  const single = operation.needs === 'unit' && operation.price.job === undefined
  const price = Math.max(0, ...Object.values(operation.price))
  return single ? `at most ${credited(rows * price)}.` : priceText(operation)
}

async function runAll(
  job: Job,
  lookup: Lookup,
  check: Check,
  beginning: Beginning,
  signal: AbortSignal,
): Promise<number> {
  const { shell, operation, shape, globals, choices } = job
  const { context } = shell
  const { records, known, input } = beginning
  const { table } = input
  const output = await openOutput(context, table.header, shape, choices, globals, (path) =>
    records.runs.writesTo(path),
  )
  const { run, journal, target } = await openJournal(job, beginning, check.rows, output.path)
  await removeLeftovers(context, new Set((await records.runs.list()).map(({ id }) => id)))
  const progress = await startProgress(context, globals)
  const report = await runRows({
    table,
    ...lookup,
    ...rowPriceOf(operation, shape),
    ...target,
    repeats: check.repeats,
    validate: (input) => void validate(operation.id, shape, input),
    operation: operation.id,
    journal,
    writer: output.writer,
    time: {
      now: () => context.clock.now(),
      sleep: (ms, aborted) => context.sleep(ms, aborted).catch(() => {}),
    },
    total: check.rows,
    signal,
    onProgress: (step) => progress.update(step),
  }).finally(() => progress.stop())
  // A reader that left early (`| head`) has what it wanted.
  if (output.isAbandoned()) return exits.ok
  await tellReport(context, report, globals, run.id)
  if (known?.status === 'finished' && !report.stopped) return exits.ok
  return exitOfSignal(signal) ?? exitCodeOf(report, choices.failOn)
}
