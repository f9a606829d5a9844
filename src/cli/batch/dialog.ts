import { isPriced } from '../../api/operations/facts.js'
import { describeMapping } from '../../batch/input/mapping.js'
import type { RunReport } from '../../batch/output/report.js'
import type { Rejects } from '../../batch/output/writer.js'
import type { BatchDialog, KnownRun } from '../../batch/run/ports.js'
import type { BatchRequest } from '../../batch/run/request.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { requireOptions } from '../operation/request.js'
import { canDraw, progressParts, startProgress } from '../output/progress.js'
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
  oneLine,
} from '../output/text.js'
import { readRemaining } from '../quote/limits.js'
import { confirmQuote } from '../quote/show.js'
import { chooseMapping } from './map-columns.js'
import { workersText } from './ports.js'
import type { BatchCommand } from './request.js'

/** Returns the dialog of a batch with the person at the terminal. */
export function createDialog(
  context: Context,
  { operation, choices, constants, globals, shape }: BatchCommand,
): BatchDialog {
  const notify = (text: string) => context.notify(text, globals)
  let balance: number | null | undefined
  /** Returns the balance that the quote has, or asks for it, which is free. */
  const readBalance = async () => {
    if (balance !== undefined) return balance
    const found = await readRemaining(context, operation, constants, globals).catch(() => undefined)
    return found && 'spendable' in found ? found.spendable.balance : undefined
  }
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
    showKnownRun: (run) => notify(describeKnownRun({ ...run, id: formatId(run.id, context.streams) })),
    showRagged: (rows, firstLine) =>
      notify(
        rows === 1
          ? `The row on line ${firstLine} has more or fewer cells than the header.`
          : `${formatNumber(rows)} rows have more or fewer cells than the header; the first is on line ${firstLine}.`,
      ),
    confirm: (makeQuote) => {
      const remember = async () => {
        const quote = await makeQuote()
        if (!('reply' in quote)) balance = quote.balance
        return quote
      }
      return confirmQuote(context, remember, globals)
    },
    showCounting: () => startProgress(context, globals, ({ rows }) => `${formatNumber(rows)} rows counted`),
    showProgress: async (workers) => {
      const isPaid = isPriced(operation)
      const isShown = isPaid && canDraw(context.streams) && !globals.quiet
      const money = {
        balance: isShown ? await readBalance() : undefined,
        budget: isPaid ? choices.maxCredits : undefined,
      }
      return startProgress(context, globals, (step, elapsedMs, now) => {
        const count = workers()
        const parts = progressParts(step, elapsedMs, now, money)
        return count === undefined ? parts : [...parts, [workersText(count), 8]]
      })
    },
  }
}

/** Returns what an earlier part of a run did, as a sentence. */
function describeKnownRun({ id, done, total, status, credits, onlyUnknown }: KnownRun): string {
  if (onlyUnknown) return `Run ${id} is finished: only its rows with an unknown outcome are sent again.`
  return status === 'finished'
    ? `Run ${id} is finished: its output is written again, and nothing is spent. --fresh starts a new run.`
    : `Resuming run ${id}: ${formatNumber(done)} of ${countRows(total)} are answered, ${formatCredits(credits)} paid.`
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
