import { describeMapping } from '../../batch/input/mapping.js'
import type { RunReport } from '../../batch/output/report.js'
import type { Rejects } from '../../batch/output/writer.js'
import type { BatchDialog, KnownRun } from '../../batch/run/ports.js'
import type { BatchRequest } from '../../batch/run/request.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { requireOptions } from '../operation/request.js'
import { progressText, startProgress } from '../output/progress.js'
import { reportError } from '../output/report-error.js'
import {
  countRows,
  duration,
  formatCredits,
  formatNumber,
  formatReasons,
  formatToFix,
  oneLine,
} from '../output/text.js'
import { confirmQuote } from '../quote/show.js'
import { chooseMapping } from './map-columns.js'
import { workersText } from './ports.js'
import type { BatchCommand } from './request.js'

/** Returns the dialog of a batch with the person at the terminal. */
export function createDialog(
  context: Context,
  { choices, constants, globals, shape }: BatchCommand,
): BatchDialog {
  const notify = (text: string) => context.notify(text, globals)
  return {
    chooseMapping: (request) => chooseMapping(context, globals, choices, request, shape.input),
    completeConstants: ({ columns }) =>
      requireOptions(
        context,
        shape,
        constants,
        globals,
        columns.map(({ field }) => field),
      ),
    showMapping: (mapping) => {
      for (const line of describeMapping(mapping, context.streams.stderr.columns)) notify(oneLine(line))
    },
    showKnownRun: (run) => notify(describeKnownRun(run)),
    showRagged: (rows, firstLine) =>
      notify(
        rows === 1
          ? `The row on line ${firstLine} has more or fewer cells than the header.`
          : `${formatNumber(rows)} rows have more or fewer cells than the header; the first is on line ${firstLine}.`,
      ),
    confirm: (quote) => confirmQuote(context, quote, globals),
    showCounting: () => startProgress(context, globals, ({ rows }) => `${formatNumber(rows)} rows counted`),
    showProgress: (workers) =>
      startProgress(context, globals, (step, elapsedMs) => {
        const count = workers()
        return `${progressText(step, elapsedMs)}${count === undefined ? '' : ` · ${workersText(count)}`}`
      }),
  }
}

/** Returns what an earlier part of a run did, as a sentence. */
function describeKnownRun({ id, done, total, status, credits, onlyUnknown }: KnownRun): string {
  if (onlyUnknown) return `Run ${id} is finished: only its rows with an unknown outcome are sent again.`
  return status === 'finished'
    ? `Run ${id} is finished: its output is written again, and nothing is spent. --fresh starts a new run.`
    : `Going on with run ${id}: ${formatNumber(done)} of ${countRows(total)} are answered, ${formatCredits(credits)} paid.`
}

/** Prints on stderr how a run ended: its counts, and where it stopped, the reason and how to resume it. */
export async function showReport(
  context: Context,
  report: RunReport,
  options: GlobalOptions,
  next: string,
  rejects?: Pick<Rejects, 'file' | 'partial'>,
): Promise<void> {
  context.notify(counts(report), options)
  for (const line of formatReasons(report.invalid_reasons)) context.notify(`Invalid: ${line}`, options)
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

/** Returns how to resume a run. With `--fresh` the same command would start a new run, so it is not suggested. */
export function formatResumeHint(
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
  before === 0 ? formatCredits(credits) : `${formatCredits(credits)}, ${formatNumber(before)} of them before`

/** Returns the counts of a report that are not zero, in one line. */
export function counts(report: RunReport): string {
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
    .map(([count, what]) => `${formatNumber(count)} ${what}`)
  return `${countRows(report.rows)} in ${took(report.seconds)}: ${counted.join(', ')}; ${paid(report)}.`
}
