import { validate } from '../../api/validation/validate.js'
import { checkTable } from '../../batch/input/table.js'
import { run as runRows } from '../../batch/run/execute.js'
import { exits } from '../context/errors.js'
import { interruptible } from '../context/interrupts.js'
import type { RunRecords } from '../runs/run-store.js'
import { openOutput } from './files.js'
import { findRun, inputOf, runIdentityOf } from './find-run.js'
import { type Job, lookupOf, mappingOf } from './job.js'
import { nobody, readingJournal } from './journal.js'
import { goingOn, tellReport } from './report.js'
import { rowPriceOf } from './row-price.js'

/** Writes what the run of a job has answered, in the order of its rows; nothing is looked up. Answers the exit code. */
export async function exportAnswers(job: Job, records: RunRecords): Promise<number> {
  const { shell, operation, shape, globals } = job
  const { context } = shell
  const { table } = await inputOf(job)
  const mapping = mappingOf(job, table)
  const lookup = lookupOf(job, mapping, table.header)
  const run = await findRun(job, await runIdentityOf(job, table, mapping), records.runs)
  if (!run) throw new Error('a run that is known was not found')
  const { rows, repeats } = await checkTable(
    table,
    (cells) => lookup.identity(lookup.input(cells)),
    lookup.skip,
  )
  const missing = { status: 'skipped', error: 'Not looked up yet' } as const
  const journal = await readingJournal(records, run, missing)
  const output = await openOutput(job, table, async () => false, false)
  return interruptible(context.streams, async (signal) => {
    const report = await runRows({
      table,
      ...lookup,
      ...rowPriceOf(operation, shape),
      repeats,
      validate: (input) => void validate(operation.id, shape, input),
      operation: operation.id,
      ...{ caller: nobody, journal, writer: output.writer, total: rows, signal },
      time: { now: () => context.clock.now(), sleep: async () => {} },
    })
    if (output.isAbandoned()) return exits.ok
    await tellReport(context, report, globals, goingOn(job, run.id))
    return report.stopped?.exit_code ?? exits.ok
  })
}
