import { errors } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { withoutUndefined } from '../../api/values/objects.js'
import type { BatchQuote, Shortage } from '../../runs/plan/quote.js'
import type { TargetRefusal } from '../../runs/ports.js'
import type { Context } from '../context/context.js'
import { isLargePrice } from '../context/settings.js'
import { reportRefusal } from '../operation/refusal.js'
import { print } from '../output/print.js'
import { canAsk, confirm, showAbove } from '../output/prompt.js'
import { reportError } from '../output/report-error.js'
import { formatCredits, formatNumber, type Look } from '../output/text.js'

/** Loads the view of a quote, which output into a pipe does not need. */
const view = async (quote: unknown, look: Look) => (await import('./view.js')).quoteView(quote, look)

/** Prints a quote. Returns 0 where its maximum is covered, else the exit code of the refusal to expect. */
export async function showQuote(context: Context, quote: BatchQuote | TargetRefusal): Promise<number> {
  // The options of output are about the rows, except a format that a quote has too.
  const { format } = context.globals
  const kept = format === 'table' || format === 'json' ? format : undefined
  const shown = context.withGlobals({ output: undefined, fields: undefined, format: kept })
  if ('reply' in quote) return reportRefusal(shown, quote.operation, quote.reply)
  await print(shown, withoutUndefined({ ...quote, source: await context.source() }), { layout: view })
  return quote.shortage === null ? exitCodes.ok : reportShortage(shown, quote, quote.shortage)
}

/** Shows a quote and asks whether to start. Throws Stop where the answer is no. */
export async function confirmQuote(
  context: Context,
  makeQuote: () => Promise<BatchQuote | TargetRefusal>,
): Promise<void> {
  if (!canAsk(context)) return
  const quote = await makeQuote()
  // The first lookup reports the refusal, before anything is done, and the run that its budget is used up.
  if ('reply' in quote || quote.lookups === 0 || quote.budget === 0) return
  const { quoteView } = await import('./view.js')
  const shown = withoutUndefined({ ...quote, source: await context.source() })
  showAbove(context, (look) => quoteView(shown, look))
  if (quote.shortage !== null) context.notify(`${shortageText(quote, quote.shortage)}.`)
  const isLarge = isLargePrice(context, quote.credits.max, quote.balance)
  await confirm(context, 'Start?', isLarge ? 'no' : 'yes')
}

const refusals = {
  credits: errors.insufficient_credits,
  weekly_limit: errors.workspace_limit_exceeded,
  quota: errors.plan_limit_reached,
} as const

function reportShortage(context: Context, quote: BatchQuote, shortage: Shortage): Promise<number> {
  const { exit, hint, ...row }: { exit: number; hint: string; code?: string } = refusals[shortage]
  const report = { error: shortageText(quote, shortage), code: row.code ?? null, status: null }
  return reportError(context, { ...report, exit_code: exit, hint })
}

function shortageText(quote: BatchQuote, shortage: Shortage): string {
  const { credits, balance, weekly_allowance: allowance, lookups } = quote
  if (shortage === 'quota') return `The quota does not cover ${formatNumber(lookups)} lookups`
  const most = `which can cost ${formatCredits(credits.max)}`
  return shortage === 'credits'
    ? `The balance of ${formatCredits(balance ?? 0)} does not cover this batch, ${most}`
    : `The ${formatCredits(allowance ?? 0)} left of this week do not cover this batch, ${most}`
}
