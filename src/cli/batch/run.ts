import { describeMapping, type Mapping } from '../../batch/input/mapping.js'
import { exitCodeOf } from '../../batch/output/report.js'
import type { KnownRun } from '../../batch/run/find-run.js'
import { type BatchDialog, type ExecutedBatch, runBatch } from '../../batch/run-batch.js'
import type { Context } from '../context/context.js'
import { exits } from '../context/errors.js'
import { exitOfSignal } from '../context/interrupts.js'
import { progressText, startProgress } from '../output/progress.js'
import { grouped } from '../output/terminal.js'
import { credited } from '../output/text.js'
import { confirmQuote, showQuote } from '../quote/show.js'
import type { Shell } from '../shell/shell.js'
import { workersText } from './distributed.js'
import { chooseMapping, showMapping } from './map-columns.js'
import { createPorts, withRunDatabase } from './ports.js'
import { countRows, formatResumeHint, showReport } from './report.js'
import { type BatchCommand, toRequest } from './request.js'
import { withSummary } from './summary-json.js'

/** Runs a batch, or resumes it, and shows how it ends; returns the exit code. */
export async function batch(shell: Shell, given: BatchCommand): Promise<number> {
  const { context, command } = withRunDatabase(shell.context, given)
  const { globals, choices } = command
  return withSummary(context, command, async (ended) => {
    const dialog = createDialog(context, command)
    const ports = createPorts(context, command, dialog)
    const result = await runBatch(toRequest(command, context.streams), ports)
    if (result.kind === 'mapping') return showMapping(shell, result.mapping, globals)
    if (result.kind === 'quote') return showQuote(shell, result.quote, globals)
    // A reader that left early (`| head`) has what it wanted.
    if (result.kind === 'declined' || result.isAbandoned) return exits.ok
    ended(result)
    const { run, report, rejects } = result
    await showReport(context, report, globals, formatResumeHint(command, run.id), rejects)
    return exitOf(result, choices.failOn)
  })
}

function exitOf({ report, wasFinished, signal }: ExecutedBatch, failOn: 'any' | 'none'): number {
  if (wasFinished && !report.stopped) return exits.ok
  return exitOfSignal(signal) ?? exitCodeOf(report, failOn)
}

/** Returns how a batch is shown, and a person asked, on the command line. */
function createDialog(context: Context, { choices, globals, shape }: BatchCommand): BatchDialog {
  const notify = (text: string) => context.notify(text, globals)
  return {
    chooseMapping: (request) => chooseMapping(context, globals, choices, request, shape.input),
    showMapping: (mapping: Mapping) => describeMapping(mapping).forEach(notify),
    showKnownRun: (run) => notify(describeKnownRun(run)),
    showRagged: (rows, firstLine) =>
      notify(
        rows === 1
          ? `The row on line ${firstLine} has more or fewer cells than the header.`
          : `${grouped(rows)} rows have more or fewer cells than the header; the first is on line ${firstLine}.`,
      ),
    confirm: async (quote) => confirmQuote(context, quote, globals),
    showCounting: () => startProgress(context, globals, ({ rows }) => `${grouped(rows)} rows counted`),
    showProgress: (workers) =>
      startProgress(context, globals, (step, elapsedMs) => {
        const count = workers()
        return `${progressText(step, elapsedMs)}${count === undefined ? '' : ` · ${workersText(count)}`}`
      }),
  }
}

/** Says what an earlier part of a run has done. */
function describeKnownRun({ id, done, total, status, credits, onlyUnknown }: KnownRun): string {
  if (onlyUnknown) return `Run ${id} is finished: only its rows with an unknown outcome are sent again.`
  return status === 'finished'
    ? `Run ${id} is finished: its output is written again, and nothing is spent. --fresh starts a new run.`
    : `Going on with run ${id}: ${grouped(done)} of ${countRows(total)} are answered, ${credited(credits)} paid.`
}
