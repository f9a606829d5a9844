import { exitCodes } from '../../api/calls/exit-codes.js'
import { exportRun } from '../../batch/export-run.js'
import type { Context } from '../context/context.js'
import { interruptible } from '../context/interrupts.js'
import { createRunPorts } from './ports.js'
import { formatResumeHint, showReport } from './report.js'
import { type BatchCommand, toRequest } from './request.js'

/** Writes what the run of a batch has answered, in the order of its rows; returns the exit code. */
export async function exportAnswers(context: Context, command: BatchCommand): Promise<number> {
  const { globals } = command
  const ports = createRunPorts(context, command)
  const request = toRequest(command, context.streams)
  const { run, report, isAbandoned } = await interruptible(context.streams, (signal) =>
    exportRun(request, ports, signal),
  )
  if (isAbandoned) return exitCodes.ok
  await showReport(context, report, globals, formatResumeHint(command, run.id))
  return report.stopped?.exit_code ?? exitCodes.ok
}
