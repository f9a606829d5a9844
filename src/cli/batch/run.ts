import type { Input } from '../../api/calls/caller.js'
import { validate } from '../../api/validation/validate.js'
import { describeMapping } from '../../batch/input/mapping.js'
import { type Check, checkTable, type Table } from '../../batch/input/table.js'
import { exitCodeOf } from '../../batch/output/report.js'
import { run as runRows } from '../../batch/run/execute.js'
import { exits } from '../context/errors.js'
import { exitOfSignal, interruptible } from '../context/interrupts.js'
import { progressText, startProgress } from '../output/progress.js'
import { grouped } from '../output/terminal.js'
import { credited } from '../output/text.js'
import { agreedTo, showQuote } from '../quote/show.js'
import { hold, holdRun, lockOfDead, namedLock } from '../runs/locks.js'
import { removeLeftovers } from '../runs/run-folder.js'
import { openRuns } from '../runs/run-store.js'
import { togetherOf } from './bulk.js'
import { placed, sendingOf, workersText } from './distributed.js'
import { openOutput } from './files.js'
import { findKnown, inputOf, type Known, runIdentityOf } from './find-run.js'
import { type Job, type Lookup, lookupOf } from './job.js'
import { type Beginning, openJournal } from './journal.js'
import { mapRows } from './map-columns.js'
import { goingOn, rowed, tellReport } from './report.js'
import { rowPriceOf } from './row-price.js'
import { showMapping } from './show-mapping.js'
import { type Ended, summarised } from './summary-json.js'

/** Looks up every row of a file, or goes on where that was stopped; answers the exit code. */
export async function runBatch(given: Job): Promise<number> {
  const job = placed(given)
  return summarised(job, (ended) => runMapped(job, ended))
}

async function runMapped(unmapped: Job, ended: (what: Ended) => void): Promise<number> {
  const { shell, choices, globals } = unmapped
  const { context } = shell
  if (choices.lock !== undefined && !choices.dryRun)
    hold(context, namedLock(context, choices.lock), `The lock ${choices.lock}`)
  const input = await inputOf(unmapped)
  const { mapping, job } = await mapRows(unmapped, input.table)
  if (choices.mapOnly) return showMapping(shell, mapping, globals)
  for (const line of describeMapping(mapping)) context.notify(line, globals)
  const lookup = lookupOf(job, mapping, input.table.header)
  const identity = await runIdentityOf(job, input.table, mapping)
  const records = await openRuns(context, { database: unmapped.database }, unmapped.records)
  if (!choices.dryRun) await holdRun(context, records.locks, identity.knownBy, 'This run')
  const { stopKilled } = await import('../../storage/state/runs/killed-runs.js')
  await stopKilled(records.database, ({ knownBy }) =>
    // This command has that lock itself.
    knownBy === identity.knownBy && !choices.dryRun
      ? { release: () => {} }
      : lockOfDead(records.locks, knownBy),
  )
  const known = await findKnown(job, identity, records.runs)
  const check = await checked(job, input.table, lookup)
  tellKnown(job, known)
  const rows = rowsOf(job, input.table, lookup, check)
  const quote = async () =>
    (await import('./make-quote.js')).makeQuote({ job, records, identity, known }, rows)
  if (choices.dryRun) return showQuote(shell, await quote(), globals)
  if (known?.status !== 'finished' && !(await agreedTo(context, quote, globals))) return exits.ok
  const beginning = { records, identity, known, input }
  return interruptible(context.streams, (signal) => runAll(job, rows, check, beginning, signal, ended))
}

/** Says what is there already. */
function tellKnown({ shell, globals }: Job, known: Known | undefined): void {
  if (!known) return
  const { id, done, total, status, credits, onlyUnknown } = known
  const ended =
    status === 'finished'
      ? `Run ${id} is finished: its output is written again, and nothing is spent. --fresh starts a new run.`
      : `Going on with run ${id}: ${grouped(done)} of ${rowed(total)} are answered, ${credited(credits)} paid.`
  const text = onlyUnknown
    ? `Run ${id} is finished: only its rows with an unknown outcome are sent again.`
    : ended
  shell.context.notify(text, globals)
}

/** Reads the whole file before the first paid call, and learns which answers will be needed again. */
async function checked({ shell, globals }: Job, table: Table, lookup: Lookup): Promise<Check> {
  const { input, identity, skip } = lookup
  const check = await checkTable(table, (cells) => identity(input(cells)), skip)
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

/** What the rows of a checked file ask for, and what they can cost. */
const rowsOf = ({ operation, shape }: Job, table: Table, lookup: Lookup, { repeats }: Check) => ({
  table,
  ...lookup,
  ...rowPriceOf(operation, shape),
  repeats,
  validate: (input: Input) => void validate(operation.id, shape, input),
})

async function runAll(
  job: Job,
  rows: ReturnType<typeof rowsOf>,
  check: Check,
  beginning: Beginning,
  signal: AbortSignal,
  ended: (what: Ended) => void,
): Promise<number> {
  const { shell, operation, globals, choices } = job
  const { context } = shell
  const { records, known, input } = beginning
  const { table } = input
  const output = await openOutput(job, table, (path) => records.runs.writesTo(path))
  const { run, journal, target } = await openJournal(job, beginning, check.rows, output.path)
  const sending = await sendingOf(job, { run, target }, signal)
  // What others have on record says nothing of the folders of this machine.
  if (records.address === undefined)
    await removeLeftovers(context, new Set((await records.runs.list()).map(({ id }) => id)))
  const progress = await startProgress(context, globals, (step, elapsedMs) => {
    const workers = sending.workers()
    const taking = workers === undefined ? '' : ` · ${workersText(workers)}`
    return `${progressText(step, elapsedMs)}${taking}`
  })
  progress.update({ rows: 0, found: 0, credits: 0, total: check.rows })
  const report = await runRows({
    ...rows,
    ...(await togetherOf(job, run.id)),
    ...sending.target,
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
  const { rejects } = output
  ended({ run, report, rejects })
  await tellReport(context, report, globals, goingOn(job, run.id), rejects)
  if (known?.status === 'finished' && !report.stopped) return exits.ok
  return exitOfSignal(signal) ?? exitCodeOf(report, choices.failOn)
}
