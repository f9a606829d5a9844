import { isPriced } from '../../api/operations/facts.js'
import { describeMapping } from '../../runs/input/mapping.js'
import type { BatchDialog, KnownRun } from '../../runs/ports.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { requireOptions } from '../operation/request.js'
import { canDraw, progressParts, startProgress } from '../output/progress.js'
import { canAsk, confirm } from '../output/prompt.js'
import { countRows, formatCredits, formatId, formatNumber, oneLine } from '../output/text.js'
import { readRemaining } from '../quote/limits.js'
import { confirmQuote } from '../quote/show.js'
import { chooseMapping } from './map-columns.js'
import { workersText } from './ports.js'
import type { BatchCommand } from './request.js'

/** Returns the dialog of a batch with the person at the terminal. */
export function createDialog(
  context: Context,
  { operation, choices, constants, shape }: BatchCommand,
): BatchDialog {
  const notify = (text: string) => context.notify(text)
  let balance: number | null | undefined
  /** Returns the balance that the quote has, or asks for it, which is free. */
  const readBalance = async () => {
    if (balance !== undefined) return balance
    const found = await readRemaining(context, operation, constants).catch(() => undefined)
    return found && 'spendable' in found ? found.spendable.balance : undefined
  }
  return {
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
