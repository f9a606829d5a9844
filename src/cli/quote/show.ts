import { errors } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { BatchQuote, Shortage } from '../../batch/plan/quote.js'
import type { TargetRefusal } from '../../batch/ports.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { refuse } from '../operation/run-sync.js'
import type { CommandEnvironment } from '../options/command-environment.js'
import { canAsk, confirm } from '../output/prompt.js'
import { reportError } from '../output/report-error.js'
import { credited, grouped, type Look, lookOf } from '../output/text.js'

/** The view of a quote; a pipe does without it. */
const view = async (quote: unknown, look: Look) => (await import('./view.js')).quoteView(quote, look)

/** Prints a quote; answers 0 when its maximum is covered, else what it would be refused with. */
export async function showQuote(
  environment: CommandEnvironment,
  made: BatchQuote | TargetRefusal,
  globals: GlobalOptions,
): Promise<number> {
  // A file, its format and its columns are those of the rows.
  const { output: _, fields: __, format, ...rest } = globals
  const shown = { ...rest, ...(format === 'table' || format === 'json' ? { format } : {}) }
  if ('reply' in made)
    return refuse(environment, made.operation, made.reply, { args: [], options: {}, globals: shown })
  await environment.print(made, shown, { layout: view })
  return made.shortage === null ? exitCodes.ok : tellShortage(environment.context, made, made.shortage, shown)
}

/** Shows a person a quote and asks whether to start; without one, and with `--yes`, the answer is yes. */
export async function confirmQuote(
  context: Context,
  make: () => Promise<BatchQuote | TargetRefusal>,
  globals: GlobalOptions,
): Promise<boolean> {
  if (globals.yes || !canAsk(context, globals)) return true
  const made = await make()
  // The first lookup reports the refusal, before anything is done.
  if ('reply' in made || made.lookups === 0) return true
  const { stderr, env } = context.streams
  stderr.write(await view(made, lookOf(stderr, env, globals.color !== false)))
  if (made.shortage !== null) context.notify(`${shortageText(made, made.shortage)}.`, globals)
  return confirm(context, 'Start?', globals)
}

const refusals = {
  credits: errors.insufficient_credits,
  weekly_limit: errors.workspace_limit_exceeded,
  quota: errors.plan_limit_reached,
} as const

function tellShortage(
  context: Context,
  quote: BatchQuote,
  shortage: Shortage,
  globals: GlobalOptions,
): Promise<number> {
  const { exit, hint, ...row }: { exit: number; hint: string; code?: string } = refusals[shortage]
  const report = { error: shortageText(quote, shortage), code: row.code ?? null, status: null }
  return reportError(context, { ...report, exit_code: exit, hint }, globals)
}

function shortageText(quote: BatchQuote, shortage: Shortage): string {
  const { credits, balance, weekly_allowance: allowance, lookups } = quote
  if (shortage === 'quota') return `The quota does not cover ${grouped(lookups)} lookups`
  const most = `which can cost ${credited(credits.max)}`
  return shortage === 'credits'
    ? `The balance of ${credited(balance ?? 0)} does not cover this batch, ${most}`
    : `The ${credited(allowance ?? 0)} left of this week do not cover this batch, ${most}`
}
