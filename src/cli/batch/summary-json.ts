import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { toPrintableJson } from '../../api/values/json.js'
import type { RunReport, Stop } from '../../batch/output/report.js'
import type { Rejects } from '../../batch/output/writer.js'
import type { BatchRequest } from '../../batch/run/request.js'
import type { Run } from '../../storage/state/runs/runs.js'
import type { ClockContext, GlobalOptions, StreamsContext } from '../context/context.js'
import { reportOf, UsageError } from '../context/errors.js'
import { interruptible } from '../context/interrupts.js'
import { openFile } from '../output/output.js'

/** The end of a batch. */
export interface EndedBatch {
  /** null where no run is recorded. */
  readonly run: Run | null
  readonly report: RunReport
  readonly rejects: Pick<Rejects, 'file' | 'partial'> | undefined
}

/** What a summary needs to know of a batch. */
export interface SummarisedBatch extends Pick<BatchRequest, 'operation'> {
  readonly choices: Pick<BatchRequest['choices'], 'summaryJson' | 'dryRun' | 'file' | 'rejects'>
  readonly globals: GlobalOptions
}

type SummaryContext = StreamsContext & ClockContext

type Work = (ended: (what: EndedBatch) => void) => Promise<number>

/** Runs a batch, and writes how it ended to the file of `--summary-json`, also where it fails. */
export async function withSummary(
  context: SummaryContext,
  batch: SummarisedBatch,
  work: Work,
): Promise<number> {
  const { summaryJson: file } = batch.choices
  if (file === undefined || batch.choices.dryRun) return work(() => {})
  await checkFile(file)
  // A signal that comes when the rows are done has to end the wait for the reader of a pipe.
  return interruptible(context.streams, (interrupted) => runAndWrite(context, batch, file, work, interrupted))
}

async function runAndWrite(
  context: SummaryContext,
  batch: SummarisedBatch,
  file: string,
  work: Work,
  interrupted: AbortSignal,
): Promise<number> {
  const startedAt = context.clock.now()
  let what: EndedBatch | undefined
  const writeSummary = async (exit: number, stop: Stop | null) => {
    const text = toPrintableJson(createSummary(context, batch, startedAt, what, exit, stop), 2)
    const sink = await openFile(context, file, '--summary-json', interrupted)
    await sink.write(`${text}\n`)
    await sink.finish()
  }
  const exit = await work((ended) => {
    what = ended
  }).catch(async (error) => {
    const { error: reason, hint, exit_code } = reportOf(error) ?? bugOf(error)
    await writeSummary(exit_code, { reason, hint, exit_code, at_row: null, rows_left: null }).catch(() => {})
    throw error
  })
  if (what) await writeSummary(exit, what.report.stopped ?? null)
  return exit
}

const bugOf = (error: unknown) => ({
  error: error instanceof Error ? error.message : String(error),
  hint: '',
  exit_code: exitCodes.bug,
})

async function checkFile(file: string): Promise<void> {
  const found = await stat(dirname(file)).catch(() => undefined)
  if (!found?.isDirectory())
    throw new UsageError(
      `--summary-json: ${dirname(file)} is not a folder.`,
      'Create it, or name another file.',
    )
  const there = await stat(file).catch(() => undefined)
  if (there?.isDirectory()) throw new UsageError(`--summary-json: ${file} is a folder; name a file in it.`)
}

const inputOf = (file: string, { streams }: StreamsContext): string =>
  file === '-' ? file : resolve(streams.cwd, file)

const nothing: RunReport = {
  invalid_reasons: [],
  ...{ rows: 0, found: 0, not_found: 0, invalid: 0, failed: 0, skipped: 0 },
  ...{ live: 0, stored: 0, duplicates: 0, credits: 0, credits_before: 0 },
  ...{ seconds: 0, output: null, partial: null },
}

/** Returns the content of the file of `--summary-json`. */
function createSummary(
  context: SummaryContext,
  { operation, choices }: SummarisedBatch,
  startedAt: number,
  ended: EndedBatch | undefined,
  exit_code: number,
  stopped: Stop | null,
) {
  const { report = nothing, run, rejects } = ended ?? {}
  const { rows, found, not_found, invalid, failed, skipped, credits, credits_before } = report
  const { output, partial, invalid_reasons } = report
  return {
    // null when no run was begun or recorded.
    run: run?.id ?? null,
    operation: operation.id,
    // `refused` and `declined`: nothing was begun.
    status:
      exit_code === exitCodes.declined
        ? 'declined'
        : ended === undefined
          ? 'refused'
          : stopped
            ? 'stopped'
            : 'finished',
    ...{ exit_code, stopped, rows, found, not_found, invalid, failed, skipped },
    invalid_reasons,
    sources: { live: report.live, store: report.stored, duplicate: report.duplicates },
    ...{ credits, credits_before },
    files: {
      ...{ input: run?.file ?? inputOf(choices.file, context), output, partial },
      // `rejects_partial`: invalid rows before the run stopped.
      ...{ rejects: rejects?.file ?? null, rejects_partial: rejects?.partial ?? null },
    },
    started_at: new Date(startedAt).toISOString(),
    finished_at: new Date(context.clock.now()).toISOString(),
    seconds: report.seconds,
  }
}
