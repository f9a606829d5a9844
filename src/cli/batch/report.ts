import type { RunReport } from '../../batch/output/report.js'
import type { BatchRequest } from '../../batch/run/request.js'
import type { ExecutedBatch } from '../../batch/run-batch.js'
import type { Context } from '../context/context.js'
import { emptyCatalogueHint } from '../operation/refusal.js'
import { reportError } from '../output/report-error.js'
import {
  countRows,
  duration,
  formatCredits,
  formatId,
  formatNumber,
  formatPath,
  formatReasons,
  formatToFix,
} from '../output/text.js'
import type { BatchCommand } from './request.js'

/** A part of a run that ended. */
type EndedPart = Pick<ExecutedBatch, 'run' | 'report'> & Partial<Pick<ExecutedBatch, 'rejects'>>

/** Prints on stderr how a batch ended, and what else its user should know. */
export async function showEnd(context: Context, ended: EndedPart, command: BatchCommand): Promise<void> {
  const { run, report } = ended
  const { globals } = command
  await showReport(context, ended, command)
  const isMissing = report.found === 0 && report.not_found > 0
  const hint = isMissing ? await emptyCatalogueHint(context, globals) : undefined
  if (hint !== undefined) context.notify(hint, globals)
  if (run.total > report.rows && !report.stopped)
    context.notify(
      `Looked up the first ${countRows(report.rows)} of ${formatNumber(run.total)}. Without --rows, the same command goes on with the others.`,
      globals,
    )
}

/** Prints on stderr how a run ended: its counts, and where it stopped, the reason and how to resume it. */
export async function showReport(
  context: Context,
  { run, report, rejects }: EndedPart,
  command: BatchCommand,
): Promise<void> {
  const options = command.globals
  const next = formatResumeHint(command, formatId(run.id, context.streams))
  context.notify(counts(report), options)
  for (const line of formatReasons(report.invalid_reasons)) context.notify(`Invalid: ${line}`, options)
  const { stopped } = report
  const shown = (path: string | null | undefined) => path && formatPath(path, context.streams)
  const [output, partial] = [shown(report.output), shown(report.partial)]
  const toFix = shown(rejects?.file ?? rejects?.partial)
  if (toFix) context.notify(formatToFix(report.invalid, toFix, rejects?.file ? '' : ' so far'), options)
  if (!stopped) {
    if (output) context.notify(`Written to ${output}`, options)
    return
  }
  const left = stopped.rows_left === null ? '' : ` ${leftOf(stopped.rows_left)}`
  const isTold = !partial || stopped.reason.includes(report.partial ?? '')
  const kept = isTold ? '' : keptText(report.rows, partial)
  const error = `${stopped.reason.replace(/\.$/, '')}.${left}`
  const hint = [kept, stopped.hint, next].filter((text) => text !== '').join(' ')
  await reportError(
    context,
    { error, code: 'stopped', status: null, exit_code: stopped.exit_code, hint },
    options,
  )
}

/** Returns how to resume a run. With `--fresh` the same command would start a new run, so it is not suggested. */
function formatResumeHint(
  { choices, place = '' }: Pick<BatchRequest, 'choices' | 'place'>,
  run: string,
): string {
  const again = choices.fresh ? '' : ' the same command, or'
  return `Resume with${again}: prospect runs resume ${run}${choices.retryUnknown ? ' --retry-unknown' : ''}${place}`
}

const keptText = (rows: number, partial: string): string =>
  rows === 0
    ? `Nothing was answered yet: ${partial} is empty.`
    : `The rows answered so far are in ${partial}.`

const leftOf = (rows: number): string => `${countRows(rows)} ${rows === 1 ? 'is' : 'are'} left.`

const took = (seconds: number): string => (seconds < 1 ? 'less than a second' : duration(seconds))

const paid = ({ credits, credits_before: before }: RunReport): string =>
  before === 0
    ? formatCredits(credits)
    : `${formatCredits(credits)}, ${formatNumber(before)} of them paid before`

/** Returns the counts of a report that are not zero, in one line. */
export function counts(report: RunReport): string {
  const parts = [
    [report.found, 'found'],
    [report.not_found, 'not found'],
    [report.invalid, 'invalid'],
    [report.failed, 'failed'],
    [report.skipped, 'skipped'],
    [report.duplicates, `${report.duplicates === 1 ? 'duplicate' : 'duplicates'} (not charged again)`],
  ] as const
  const counted = parts
    .filter(([count], at) => count > 0 || at === 0)
    .map(([count, what]) => `${formatNumber(count)} ${what}`)
  return `${countRows(report.rows)} in ${took(report.seconds)}: ${[...counted, paid(report)].join(' · ')}`
}
