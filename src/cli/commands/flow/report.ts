import { stepNames } from '../../../flows/chain.js'
import type { FlowReport } from '../../../flows/run.js'
import { unknownAnswer } from '../../../lookups/answer.js'
import { formatSkipped, formatSuspect, hintOfSkipped } from '../../batch/report.js'
import type { Context } from '../../context/context.js'
import { withoutStop } from '../../context/errors.js'
import {
  countOf,
  countRows,
  duration,
  formatCredits,
  formatNumber,
  formatPath,
  formatReasons,
  oneLine,
} from '../../output/text.js'
import { notifySourceAtEnd } from '../../target/local-target.js'

/** Writes to the log how a flow has ended, and what it has spent. */
export function logReport({ log }: Context, { run, steps, written, stopped }: FlowReport): void {
  const sum = steps.reduce((all, { credits, credits_before: before }) => all + credits - before, 0)
  log?.write('result', { run, written, steps })
  log?.spend(sum)
  if (!stopped) return
  const { reason: error, exit_code, hint } = stopped
  log?.write('error', { error, code: 'stopped', status: null, exit_code, hint })
}

/** Says on stderr how each step of a flow has ended, what was written, and how to go on. */
export async function showReport(
  context: Context,
  { flow, steps, reasons, written, outputs, leftAlone, stopped, seconds, run, wasFinished }: FlowReport,
): Promise<void> {
  const names = stepNames(steps)
  for (const [at, step] of steps.entries()) {
    const {
      credits,
      credits_before: before,
      invalid,
      failed,
      suppressed = 0,
      left_out = 0,
      passed_by: passedBy = 0,
      dropped = 0,
      doubtful = 0,
    } = step
    const paid = formatCredits(credits) + (before > 0 ? ` (${formatNumber(before)} before)` : '')
    const parts = [
      `${formatNumber(step.in)} in`,
      passedBy > 0 && `${formatNumber(passedBy)} passed by`,
      `${formatNumber(step.found)} ${step.run !== null ? 'found' : step.step === 'set' ? 'set' : 'kept'}`,
      step.duplicates > 0 && countOf(step.duplicates, 'duplicate'),
      step.run !== null && step.out !== step.found && `${formatNumber(step.out)} go on`,
      invalid > 0 && `${formatNumber(invalid)} invalid`,
      suppressed > 0 && `${formatNumber(suppressed)} suppressed`,
      left_out > 0 && `${formatNumber(left_out)} known from earlier runs`,
      failed > 0 && `${formatNumber(failed)} failed`,
      dropped > 0 && `${formatNumber(dropped)} dropped`,
      doubtful > 0 && `${formatNumber(doubtful)} could not be compared`,
      credits > 0 && paid,
    ]
    context.notify(oneLine(`${names[at]}: ${parts.filter(Boolean).join(' · ')}`))
    const what = failed === 0 ? 'Invalid' : invalid === 0 ? 'Failed' : 'Invalid or failed'
    for (const line of formatReasons(reasons[at] ?? [])) context.notify(oneLine(`${what}: ${line}`))
    for (const vendor of step.not_asked ?? [])
      context.notify(`${formatSkipped(vendor)}${hintOfSkipped(context, vendor)}`)
    for (const line of formatSuspect(step.suspect)) context.notify(line)
  }
  const files = outputs.map((path) => formatPath(path, context.streams)).join(', ')
  const where = stopped || outputs.length === 0 ? '' : `, written to ${files}`
  const before = wasFinished ? ' It was finished before: nothing was paid.' : ''
  context.notify(oneLine(`${flow}: ${countRows(written)} in ${duration(seconds)}${where}.${before}`))
  for (const path of leftAlone)
    context.notify(`No row is left, and some failed: ${formatPath(path, context.streams)} stays as it was.`)
  const isUnknown = reasons.flat().some(({ reason }) => reason === unknownAnswer.error)
  if (!stopped && isUnknown)
    context.notify('Add --retry-unknown to ask again about rows whose outcome is unknown.')
  else if (wasFinished && steps.some(({ failed }) => failed > 0))
    context.notify('Add --fresh to retry the rows that failed; paid answers are reused.')
  if (stopped) {
    const reason = `Stopped in ${stopped.step}: ${withoutStop(stopped.reason)}.`
    const more = stopped.budget === 'flow' ? ' --max-credits N' : ''
    const parts = [reason, stopped.hint, `Resume: prospect flow resume ${run.slice(0, 8)}${more}`]
    context.notify(oneLine(parts.filter(Boolean).join(' ')))
  }
  const source = await context.source()
  const isMissing = steps.every((step) => step.run === null || step.found === 0)
  notifySourceAtEnd(context, source, isMissing)
}
