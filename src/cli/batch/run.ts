import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { describeMapping } from '../../runs/input/mapping.js'
import { exitCodeOf } from '../../runs/output/report.js'
import type { BatchDialog, KnownRun } from '../../runs/ports.js'
import { type ExecutedBatch, exportRun, runBatch } from '../../runs/run-batch.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { exitOfSignal, interruptible } from '../context/interrupts.js'
import { profileInUse } from '../context/settings.js'
import { checkShared, type OperationRequest, requireOptions } from '../operation/request.js'
import { canDraw, progressParts, startProgress } from '../output/progress.js'
import { canAsk, chooseEncoding, confirm } from '../output/prompt.js'
import { countRows, formatCredits, formatId, formatNumber, oneLine } from '../output/text.js'
import { readRemaining } from '../quote/limits.js'
import { confirmQuote, showQuote } from '../quote/show.js'
import { chooseMapping, printMapping, withSavedMap } from './map-columns.js'
import { choicesOf, maxAgeOf } from './options.js'
import { createPorts, createRunPorts, withRunDatabase, workersText } from './ports.js'
import { showEnd, showReport, withSummary } from './report.js'
import { type BatchCommand, readOverrides, toRequest } from './request.js'

/** Runs a lookup for each row of a CSV file; returns the exit code. */
export async function lookUpRows(context: Context, request: OperationRequest): Promise<number> {
  const { operation, shape, input, invocation } = request
  const { options } = invocation
  checkShared(request)
  const overrides = readOverrides(shape.input, options, input)
  const given = choicesOf(context, invocation)
  const { max_age: age, concurrency } = profileInUse(context)
  const maxAgeMs = maxAgeOf(operation, given, age)
  const asked = { ...given, maxAgeMs, concurrency: given.concurrency ?? concurrency, overrides }
  const choices = withSavedMap(context, asked, options.useMap)
  const { database } = options
  const place = typeof database === 'string' ? { database } : {}
  const constants = { ...input, ...overrides }
  return executeBatch(context, { operation, shape, constants, choices, ...place })
}

/** Runs a batch, or resumes it, and shows how it ends; returns the exit code. */
export async function executeBatch(commandContext: Context, given: BatchCommand): Promise<number> {
  const settings = profileInUse(commandContext)
  const budgets = {
    maxCredits: given.choices.maxCredits ?? settings.max_credits,
    maxCreditsPerDay: given.choices.maxCreditsPerDay ?? settings.max_credits_per_day,
  }
  const { context, command } = withRunDatabase(commandContext, {
    ...given,
    choices: { ...given.choices, ...budgets },
  })
  const { choices } = command
  return withSummary(context, command, async (onEnd) => {
    const ports = createPorts(context, command, createDialog(context, command))
    const stopWatching = capYoungGeneration()
    const result = await runBatch(toRequest(context, command), ports).finally(stopWatching)
    if (result.kind === 'mapping') return printMapping(context, result.mapping)
    if (result.kind === 'quote') return showQuote(context, result.quote)
    // A reader that left early (`| head`) has what it wanted, where nothing was spent.
    if (result.isAbandoned && result.wasFinished) return exitCodes.ok
    onEnd(result)
    logReport(context, result)
    await showEnd(context, result, command)
    return exitOf(result, choices.failOn)
  })
}

/** Writes the counts of a run to the log of `--log`. */
function logReport({ log }: Context, { run, report }: ExecutedBatch): void {
  const {
    live,
    stored,
    oldest_stored,
    duplicates,
    credits_before,
    seconds,
    stopped,
    invalid_reasons,
    not_understood,
    ...counts
  } = report
  log?.write('result', { run: run.id, ...counts })
  log?.spend(report.credits - credits_before)
}

/** Returns the exit code of a run; 0 for one that was finished before. */
function exitOf({ report, wasFinished, signal }: ExecutedBatch, failOn: 'any' | 'none'): number {
  if (wasFinished && !report.stopped) return exitCodes.ok
  return exitOfSignal(signal) ?? exitCodeOf(report, failOn)
}

/** Writes the answers of a run so far, in the order of its rows; returns the exit code. */
export async function exportAnswers(context: Context, command: BatchCommand): Promise<number> {
  const ports = createRunPorts(context, command)
  const request = toRequest(context, command)
  const { run, report, isAbandoned, selection } = await interruptible(context.streams, (signal) =>
    exportRun(request, ports, signal),
  )
  if (isAbandoned) return exitCodes.ok
  await showReport(context, { run, report, selection }, command)
  return report.stopped?.exit_code ?? exitCodes.ok
}

/** The size at which the young generation of the heap stops growing, in bytes. */
const youngGenerationBytes = 32 * 2 ** 20

/**
 * Keeps the young generation of V8's heap at 32 MiB. On a large machine Node 24 lets it grow so far that a batch takes a
 * third more memory, and is no faster; with 16 MiB a batch takes 12 MB less and a tenth more time. A maximum can only be
 * set before the heap exists, but V8 reads the growth factor whenever it grows. Returns what stops watching.
 */
export function capYoungGeneration(): () => void {
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
    if (!young || young.space_size < youngGenerationBytes) return
    setFlagsFromString('--semi-space-growth-factor=1')
    clearInterval(timer)
  }, 20)
  timer.unref()
  return () => clearInterval(timer)
}

/** Returns the dialog of a batch with the person at the terminal. */
function createDialog(context: Context, { operation, choices, constants, shape }: BatchCommand): BatchDialog {
  const notify = (text: string) => context.notify(text)
  let balance: number | null | undefined
  /** Returns the balance that the quote has, or asks for it, which is free. */
  const readBalance = async () => {
    if (balance !== undefined) return balance
    const found = await readRemaining(context, operation, constants).catch(() => undefined)
    return found && 'spendable' in found ? found.spendable.balance : undefined
  }
  return {
    chooseEncoding: (refusal) => chooseEncoding(context, refusal),
    chooseMapping: (request) => chooseMapping(context, choices, request, shape.input),
    completeConstants: ({ columns }) =>
      requireOptions(
        context,
        shape,
        constants,
        columns.map(({ field }) => field),
      ),
    showMapping: (mapping) => {
      for (const line of describeMapping(mapping, context.streams.stderr.columns)) notify(oneLine(line))
    },
    showKnownRun: (run) =>
      notify(describeKnownRun({ ...run, id: formatId(run.id, context.streams) }, choices.dryRun)),
    confirmMember: async (run, starter, member) => {
      const id = formatId(run.id, context.streams)
      const isKnown = starter.includes('@')
      const text = isKnown
        ? `Run ${id} was started by ${starter}, and this command has the key of ${member}.`
        : `Run ${id} was started with another API key than this command has.`
      // --yes is about the price.
      const asked = context.withGlobals({ yes: undefined })
      if (!canAsk(asked))
        throw new UsageError(
          text,
          `Give ${isKnown ? `a key of ${starter}` : 'that key'} with --api-key-file FILE, or resume it on a terminal, where you are asked. --fresh starts a new run.`,
        )
      notify(text)
      await confirm(asked, `Pay for the rest ${isKnown ? `as ${member}` : 'with your key'}?`, 'no')
    },
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
      return confirmQuote(context, remember)
    },
    showCounting: () => startProgress(context, ({ rows }) => `${formatNumber(rows)} rows counted`),
    showProgress: async (workers) => {
      const isPaid = isPriced(operation)
      const isShown = isPaid && canDraw(context.streams) && !context.globals.quiet
      const money = {
        balance: isShown ? await readBalance() : undefined,
        budget: isPaid ? choices.maxCredits : undefined,
      }
      return startProgress(context, (step, elapsedMs, now) => {
        const count = workers()
        const parts = progressParts(step, elapsedMs, now, money)
        return count === undefined ? parts : [...parts, [workersText(count), 8]]
      })
    },
  }
}

/** Returns what an earlier part of a run did, as a sentence. */
function describeKnownRun(
  { id, done, total, status, credits, onlyUnknown }: KnownRun,
  isDryRun: boolean,
): string {
  const finished = `Run ${id} is finished${isDryRun ? '. Without --dry-run,' : ':'}`
  if (onlyUnknown) return `${finished} only its rows with an unknown outcome are sent again.`
  return status === 'finished'
    ? `${finished} its output is written again, and nothing is spent. --fresh starts a new run.`
    : `Resuming run ${id}: ${formatNumber(done)} of ${countRows(total)} are answered, ${formatCredits(credits)} paid.`
}
