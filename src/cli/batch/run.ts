import { exitCodes } from '../../api/calls/exit-codes.js'
import { exitCodeOf } from '../../batch/output/report.js'
import { type ExecutedBatch, runBatch } from '../../batch/run-batch.js'

import { exitOfSignal } from '../context/interrupts.js'
import { showQuote } from '../quote/show.js'
import type { Shell } from '../shell/shell.js'
import { createDialog } from './dialog.js'
import { showMapping } from './map-columns.js'
import { createPorts, withRunDatabase } from './ports.js'
import { formatResumeHint, showReport } from './report.js'
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
    if (result.kind === 'declined' || result.isAbandoned) return exitCodes.ok
    ended(result)
    const { run, report, rejects } = result
    await showReport(context, report, globals, formatResumeHint(command, run.id), rejects)
    return exitOf(result, choices.failOn)
  })
}

function exitOf({ report, wasFinished, signal }: ExecutedBatch, failOn: 'any' | 'none'): number {
  if (wasFinished && !report.stopped) return exitCodes.ok
  return exitOfSignal(signal) ?? exitCodeOf(report, failOn)
}
