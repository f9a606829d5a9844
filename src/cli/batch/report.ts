import { resolve } from 'node:path'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { needsWords, type temporaryReasons } from '../../api/operations/table.js'
import { toPrintableJson } from '../../api/values/json.js'
import { eventOf } from '../../api/webhooks/events.js'
import { unknownAnswer } from '../../lookups/answer.js'
import type { Run } from '../../runs/journal/runs.js'
import { noRows, type RunReport, type RunStop, type SkippedRows } from '../../runs/output/report.js'
import type { RunPorts } from '../../runs/ports.js'
import type { BatchRequest } from '../../runs/request.js'
import type { ExecutedBatch } from '../../runs/run-batch.js'
import { describeMissingData } from '../call/missing-data.js'
import type { Context } from '../context/context.js'
import { withoutStop } from '../context/errors.js'
import { interruptible, styledStream } from '../context/io.js'
import { reportOf } from '../messages.js'
import { isoTime } from '../options/values.js'
import { openFile } from '../output/output.js'
import { reportError } from '../output/print.js'
import { columnsOfKind } from '../output/records.js'
import {
  countRows,
  duration,
  formatCredits,
  formatId,
  formatLeftOut,
  formatNumber,
  formatPath,
  formatReasons,
  formatReused,
  formatToFix,
  lookOn,
  oneLine,
} from '../output/text.js'
import { notifySourceAtEnd, sourceOfRun } from '../target/local-target.js'
import { isOnScreen } from './options.js'
import type { BatchCommand } from './request.js'

/** Returns how rows are shown to a person who chose no format and no file. */
export function screenOf(context: Context, { operation, choices }: BatchCommand): Pick<RunPorts, 'screen'> {
  const { streams } = context
  if (!isOnScreen(context) || choices.format !== 'csv' || choices.excel || choices.raw) return {}
  const tableFormat: NonNullable<RunPorts['screen']>['tableFormat'] = async (layout, { asked, mapped }) => {
    const { tableFormat: createTable } = await import('../output/table.js')
    const kind = eventOf(operation.id)
    const usual = [...(kind ? columnsOfKind(kind) : []), ...operation.columns]
    const ofResult = asked ?? layout.header.filter((name) => usual.includes(name))
    const isLayout = choices.layout !== undefined
    const names = [...new Set(choices.columns || isLayout ? ofResult : [...mapped, ...ofResult, '_status'])]
    // What the file has already is left out before what was found; columns that were asked for stay.
    const optional = [...(isLayout ? [] : mapped.slice(1).reverse()), ...names.slice(1, -1).reverse()]
    const shown = choices.columns ? { fields: names } : { optional }
    const look = lookOn(context, streams.stdout)
    return createTable(layout, names, look, (text) => context.notify(text), shown)
  }
  return { screen: { stdout: styledStream(streams.stdout), tableFormat } }
}

type EndedExecution = Pick<ExecutedBatch, 'run' | 'report'> &
  Partial<Pick<ExecutedBatch, 'rejects' | 'selection'>>

/** Prints on stderr how a run ended: its counts, and where it stopped, the reason and how to resume it. */
export async function showReport(
  context: Context,
  { run, report, rejects, selection }: EndedExecution,
  command: BatchCommand,
): Promise<void> {
  context.notify(counts(report))
  for (const line of formatSelection(selection)) context.notify(line)
  const { oldest_stored: oldest } = report
  const oldestMs = oldest === undefined ? undefined : context.clock.now() - oldest
  const reused = formatReused(report.stored + report.team, report.rows, oldestMs, wordOf(report))
  // With --refresh, what is reused are the answers of a sample.
  if (reused !== '')
    context.notify(`${reused}; --${command.choices.refresh ? 'fresh' : 'refresh'} asks again.`)
  for (const line of formatReasons(report.invalid_reasons)) context.notify(`Invalid: ${line}`)
  for (const line of formatSuspect(report.suspect)) context.notify(line)
  const unknown = report.without_result.find(({ reason }) => reason === unknownAnswer.error)
  if (unknown) context.notify(formatUnknown(unknown.rows, formatId(run.id, context.streams), command))
  for (const one of report.not_asked) context.notify(`${formatSkipped(one)}${hintOfSkipped(context, one)}`)
  if (command.choices.sources) {
    const { notifyVendorCosts } = await import('./vendor-costs.js')
    await notifyVendorCosts(context, run.id, command)
  }
  for (const line of formatLeftOut(report.not_understood)) context.notify(`Not understood: ${oneLine(line)}`)
  const { stopped } = report
  const shown = (path: string | null | undefined) => path && formatPath(path, context.streams)
  const [output, partial] = [shown(report.output), shown(report.partial)]
  const toFix = shown(rejects?.file ?? rejects?.partial)
  if (toFix) context.notify(formatToFix(report.invalid, toFix, rejects?.file ? '' : ' so far'))
  if (!stopped) {
    if (output) context.notify(`Written to ${output}`)
    return showSource(context, run, report, command)
  }
  await showSource(context, run, report, command)
  const left =
    stopped.rows_left === null
      ? ''
      : ` ${countRows(stopped.rows_left)} ${stopped.rows_left === 1 ? 'is' : 'are'} left.`
  const isReported = !partial || stopped.reason.includes(report.partial ?? '')
  const kept = isReported ? '' : keptText(report.rows, partial)
  const error = `${withoutStop(stopped.reason)}.${left}`
  const next = formatResumeHint(command, formatId(run.id, context.streams), stopped)
  const hint = [kept, next].filter((text) => text !== '').join(' ')
  await reportError(context, { error, code: 'stopped', status: null, exit_code: stopped.exit_code, hint })
}

function formatSelection(selection: ExecutedBatch['selection']): string[] {
  if (!selection) return []
  const { written, doubtful } = selection
  const doubt = `--where compared a missing value or one of another type in ${countRows(doubtful)}; such a comparison is false.`
  return [`${countRows(written)} written.`, ...(doubtful > 0 ? [doubt] : [])]
}

/** Names on stderr where the answers of a run came from; of practice data it says so where nothing was found. */
async function showSource(
  context: Context,
  run: Run,
  { found, not_found: missed }: RunReport,
  { operation, constants: input }: BatchCommand,
): Promise<void> {
  const source = sourceOfRun(run)
  const isMissing = found === 0 && missed > 0
  const lacking = isMissing ? await describeMissingData(context, { operation, input }) : undefined
  notifySourceAtEnd(context, source, isMissing)
  if (lacking !== undefined) context.notify(lacking)
}

/** Says whose the answers are that are reused. */
const wordOf = ({ stored, team }: RunReport): string => {
  if (team === 0) return ' reused'
  return stored === 0
    ? ' paid for by your team'
    : ` reused, ${formatNumber(team)} of them paid for by your team`
}

/** Returns how to resume the run, not with `--fresh`: the same command would start a new run. */
function formatResumeHint(
  { choices, databaseOption = '' }: Pick<BatchRequest, 'choices' | 'databaseOption'>,
  run: string,
  { hint: first, budget }: RunStop,
): string {
  const again = choices.fresh ? '' : ' the same command, or'
  const more = budget === 'run' ? ' --max-credits N' : ''
  const resumed = `${run}${choices.retryUnknown ? ' --retry-unknown' : ''}${more}${databaseOption}`
  const how = `with${again}: prospect runs resume ${resumed}`
  return / then resume\.$/.test(first) ? first.replace(/\.$/, ` ${how}`) : `${first} Resume ${how}`.trim()
}

/** Says how to send rows again whose answers were lost; `--fresh` would pay for them once more. */
const formatUnknown = (rows: number, run: string, { databaseOption = '' }: BatchCommand): string =>
  `Outcome unknown: ${countRows(rows)}, which may have been charged. To send ${rows === 1 ? 'it' : 'them'} again: ` +
  `prospect runs resume ${run} --retry-unknown${databaseOption}`

const keptText = (rows: number, partial: string): string =>
  rows === 0
    ? `Nothing was answered yet: ${partial} is empty.`
    : `The rows answered so far are in ${partial}.`

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
    [report.known, 'known (not looked up)'],
    [report.suppressed, 'suppressed'],
    [
      report.duplicates,
      `of them ${report.duplicates === 1 ? 'a duplicate' : 'duplicates'} (not charged again)`,
    ],
  ] as const
  const counted = parts
    .filter(([count], at) => count > 0 || at === 0)
    .map(([count, what]) => `${formatNumber(count)} ${what}`)
  return `${countRows(report.rows)} in ${took(report.seconds)}: ${[...counted, paid(report)].join(' · ')}`
}

/** Why a data vendor was not asked, after its name. */
export const notAskedBecause: Readonly<Record<string, string>> = {
  out_of_credits: 'is out of credits',
  invalid_key: 'refused its key',
  no_key: 'has no key on this machine',
  budget: 'has used its budget',
  rate_limited: 'is at its rate limit',
  failing: 'keeps failing',
  no_webhook: 'sends its answers to this machine, and prospect listen --public-url does not run',
  failed: 'answered with an error',
}

/** Returns what a run says of a data vendor that it could not ask. */
export function formatSkipped({ provider, reason, rows }: SkippedRows): string {
  const needs = reason.startsWith(needsWords) ? `needs ${reason.slice(needsWords.length)}` : undefined
  const why = needs ?? notAskedBecause[reason] ?? 'was not asked'
  return `${provider} ${why}: ${countRows(rows)} went on without it.`
}

type Hint = (provider: string, isOfRun: boolean) => string

/** When the same command asks a data vendor that it could not ask. */
const asksAgain: Readonly<Record<string, Hint>> = {
  budget: (name, isOfRun) =>
    isOfRun
      ? `: the same command with a higher --max-cost ${name}=N. Nothing is paid again.`
      : ' once it has one again: the same command. Nothing is paid again.',
  out_of_credits: (name) =>
    ` when it has credits again: prospect providers enable ${name}, then the same command.`,
  invalid_key: (name) => ` when its key is right: prospect providers enable ${name}, then the same command.`,
  no_key: () => ' once this machine has its key: the same command.',
  rate_limited: () => ' later: the same command.',
  failing: () => ' later: the same command.',
  no_webhook: () => ' while that runs: the same command.',
} satisfies Record<(typeof temporaryReasons)[number], Hint>

/** Returns how a data vendor is asked about rows that went on without it; nothing where it would not be. */
export function hintOfSkipped({ globals }: Context, { provider, reason }: SkippedRows): string {
  const when = asksAgain[reason]?.(provider, globals.maxCost?.[provider] !== undefined)
  return when === undefined ? '' : ` To ask it about them${when}`
}

/** Returns what a run says of answers that may be those to other requests. */
export function formatSuspect(suspect: RunReport['suspect']): string[] {
  if (!suspect) return []
  const { discarded, passed_on: passedOn } = suspect
  const lines = [
    [discarded, 'discarded as', 'the outcome is unknown'],
    [passedOn, 'in the output, but may be', 'the server sent more than was asked'],
  ] as const
  return lines
    .filter(([{ answers }]) => answers > 0)
    .map(([{ answers, rows }, what, why]) => {
      const more = answers > rows.length ? ', …' : ''
      const [subject, others] =
        answers === 1
          ? ['1 answer is', 'the answer to another request']
          : [`${formatNumber(answers)} answers are`, 'answers to other requests']
      return `Suspect: ${subject} ${what} ${others}; ${why} (${rows.length === 1 ? 'row' : 'rows'} ${rows.join(', ')}${more}).`
    })
}

/** `run` is null where none is recorded. */
export type EndedBatch = Omit<EndedExecution, 'run'> & { readonly run: Run | null }

interface SummarisedBatch extends Pick<BatchRequest, 'operation'> {
  readonly choices: Pick<BatchRequest['choices'], 'summaryJson' | 'dryRun' | 'file' | 'rejects'>
}

/** Runs a batch, and writes how it ended to the file of `--summary-json`, also where it fails. */
export async function withSummary(
  context: Context,
  batch: SummarisedBatch,
  work: (onEnd: (ended: EndedBatch) => void) => Promise<number>,
): Promise<number> {
  const { summaryJson: file, dryRun } = batch.choices
  if (file === undefined || dryRun) return work(() => {})
  const startedAt = context.clock.now()
  let ended: EndedBatch | undefined
  // A signal that comes when the rows are done has to end the wait for the reader of a pipe.
  return interruptible(context.streams, async (interrupted) => {
    const writeSummary = async (exit: number, stop: RunStop | undefined) => {
      const text = toPrintableJson(await createSummary(context, batch, startedAt, ended, exit, stop), 2)
      const sink = await openFile(context, file, '--summary-json', interrupted)
      await sink.write(`${text}\n`)
      await sink.finish()
    }
    const exit = await work((end) => {
      ended = end
    }).catch(async (error) => {
      const bug = { error: error instanceof Error ? error.message : String(error), hint: '' }
      const { error: reason, hint, exit_code } = reportOf(error) ?? { ...bug, exit_code: exitCodes.bug }
      const stop = { reason, hint, exit_code, at_row: null, rows_left: null }
      await writeSummary(exit_code, stop).catch(() => {})
      throw error
    })
    if (ended) await writeSummary(exit, ended.report.stopped)
    return exit
  })
}

export const emptyReport: RunReport = {
  ...noRows,
  invalid_reasons: [],
  without_result: [],
  not_understood: [],
  not_asked: [],
  seconds: 0,
  output: null,
  partial: null,
}

/** Returns how many rows of the file were not reached, also those after `--rows`; null where nothing was begun. */
function rowsLeft(ended: EndedBatch | undefined): number | null {
  if (!ended) return null
  const { run, report } = ended
  return run ? run.total - report.rows : (report.stopped?.rows_left ?? 0)
}

async function createSummary(
  context: Context,
  { operation, choices: { file } }: SummarisedBatch,
  startedAt: number,
  ended: EndedBatch | undefined,
  exit_code: number,
  stop: RunStop | undefined,
) {
  const source = ended?.run ? sourceOfRun(ended.run) : await context.source()
  const { budget: _, ...stopped } = stop ?? {}
  const { report = emptyReport, run, rejects, selection } = ended ?? {}
  const {
    live,
    team,
    stored,
    oldest_stored: oldest,
    duplicates,
    seconds,
    output,
    partial,
    ...counts
  } = report
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
          : stop
            ? 'stopped'
            : 'finished',
    exit_code,
    ...counts,
    // null where it is not known.
    rows_left: rowsLeft(ended),
    stopped: stop ? stopped : null,
    // null where all rows were to be written.
    written: selection?.written ?? null,
    ...(selection ? { where_doubtful: selection.doubtful } : {}),
    oldest_in_store: oldest === undefined ? null : isoTime(oldest),
    // `team`: those of the reused that a proxy had, which others behind it have paid for.
    sources: { lookup: live, reused: stored + team, team, duplicate: duplicates },
    // null where it is not known.
    source: source ?? null,
    files: {
      input: run?.file ?? (file === '-' ? file : resolve(context.streams.cwd, file)),
      output,
      partial,
      // `rejects_partial`: invalid rows before the run stopped.
      rejects: rejects?.file ?? null,
      rejects_partial: rejects?.partial ?? null,
    },
    started_at: isoTime(startedAt),
    finished_at: isoTime(context.clock.now()),
    seconds,
  }
}
