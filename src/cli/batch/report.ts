import type { Report } from '../../batch/output/report.js'
import type { Rejects } from '../../batch/output/writer.js'
import type { BatchRequest } from '../../batch/run/request.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { duration } from '../output/progress.js'
import { reportError } from '../output/report-error.js'
import { credited, formatToFix, grouped } from '../output/text.js'

/** Prints to stderr how a run ended: its counts and, if it stopped early, why and how to resume it. */
export async function showReport(
  context: Context,
  report: Report,
  options: GlobalOptions,
  next: string,
  rejects?: Pick<Rejects, 'file' | 'partial'>,
): Promise<void> {
  context.notify(counts(report), options)
  const { stopped, output, partial } = report
  const toFix = rejects?.file ?? rejects?.partial
  if (toFix) context.notify(formatToFix(report.invalid, toFix, rejects?.file ? '' : ' so far'), options)
  if (!stopped) {
    if (output !== null) context.notify(`Written to ${output}`, options)
    return
  }
  const left = stopped.rows_left === null ? '' : ` ${leftOf(stopped.rows_left)}`
  const isTold = partial === null || stopped.reason.includes(partial)
  const kept = isTold ? '' : keptText(report.rows, partial)
  const error = `${stopped.reason.replace(/\.$/, '')}.${left}`
  const hint = [kept, stopped.hint, next].filter((text) => text !== '').join(' ')
  await reportError(
    context,
    { error, code: 'stopped', status: null, exit_code: stopped.exit_code, hint },
    options,
  )
}

/** Returns how to resume a stopped run. The same command does not when it starts a new run each time. */
export function formatResumeHint(
  { choices, place = '' }: Pick<BatchRequest, 'choices' | 'place'>,
  run: string,
): string {
  const again = choices.fresh ? '' : ' the same command, or'
  return `Resume with${again}: prospect runs resume ${run}${choices.retryUnknown ? ' --retry-unknown' : ''}${place}`
}

/** Returns a number of rows in words. */
export const countRows = (rows: number): string => `${grouped(rows)} ${rows === 1 ? 'row' : 'rows'}`

const keptText = (rows: number, partial: string): string =>
  rows === 0
    ? `Nothing was answered yet: ${partial} is empty.`
    : `The rows answered so far are in ${partial}.`

const leftOf = (rows: number): string => `${countRows(rows)} ${rows === 1 ? 'is' : 'are'} left.`

const took = (seconds: number): string => (seconds < 1 ? 'less than a second' : duration(seconds))

const paid = ({ credits, credits_before: before }: Report): string =>
  before === 0 ? credited(credits) : `${credited(credits)}, ${grouped(before)} of them before`

/** The counts of a report in one line; what did not occur is left out. */
export function counts(report: Report): string {
  const parts = [
    [report.found, 'found'],
    [report.not_found, 'not found'],
    [report.invalid, 'invalid'],
    [report.failed, 'failed'],
    [report.skipped, 'skipped'],
    [report.duplicates, `of them ${report.duplicates === 1 ? 'a duplicate' : 'duplicates'}, paid once`],
  ] as const
  const counted = parts
    .filter(([count], at) => count > 0 || at === 0)
    .map(([count, what]) => `${grouped(count)} ${what}`)
  return `${countRows(report.rows)} in ${took(report.seconds)}: ${counted.join(', ')}; ${paid(report)}.`
}
