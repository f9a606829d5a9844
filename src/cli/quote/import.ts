import { type Input, isOk } from '../../api/calls/caller.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, operation as rowOf } from '../../api/operations/table.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { styledStream } from '../context/io.js'
import { callOnce } from '../operation/call.js'
import { canAsk, confirm } from '../output/prompt.js'
import { valueAt } from '../output/records.js'
import { formatCredits, formatNumber, lookOf, priceText } from '../output/text.js'
import { readRemaining } from './limits.js'
import { quotasText } from './view.js'

/**
 * Shows a person the quote of an import without a limit, and asks whether to start. Without a person to ask, and with
 * `--yes`, the answer is yes.
 */
export async function confirmImport(
  context: Context,
  operation: Operation,
  input: Input,
  globals: GlobalOptions,
): Promise<boolean> {
  const isMetered = operation.quota !== undefined || isPriced(operation)
  if (operation.starts !== 'import' || !isMetered || input.limit !== undefined) return true
  if (globals.yes || !canAsk(context, globals)) return true
  const { record } = await import('../output/table.js')
  const { stderr, env } = context.streams
  const quote = await importQuote(context, operation, input, globals)
  if (Object.keys(quote).length === 0) return true
  styledStream(stderr).write(record(quote, lookOf(stderr, env, globals.color !== false)))
  return confirm(context, 'Without --limit everything that matches is imported. Start?', globals)
}

/** Returns the lines of the quote of an import without a limit. Only free requests are sent. */
async function importQuote(
  context: Context,
  operation: Operation,
  input: Input,
  globals: GlobalOptions,
): Promise<Readonly<Record<string, string>>> {
  const left = await readRemaining(context, operation, input, globals)
  // The import itself reports the refusal, before anything is done.
  if ('reply' in left) return {}
  const { balance, allowance, quotas, quotaLeft } = left.spendable
  const matches = await matchesOf(context, operation, input, globals)
  const price = operation.price.company ?? 0
  const paid = isPriced(operation)
  const credits = (of: number | null | undefined, text = '') =>
    paid && of !== undefined ? (of === null ? 'not known' : `${formatCredits(of)}${text}`) : ''
  return {
    Matches: matches === undefined ? '' : formatNumber(matches),
    Price: paid ? priceText(operation) : `No credits; each record takes one of the ${operation.quota} quota.`,
    Credits: matches === undefined ? '' : `at most ${formatNumber(matches * price)}`,
    Balance: credits(balance),
    'This week': credits(allowance, ' left'),
    'Quotas left': paid ? '' : quotasText(quotas),
    'At most': quotaLeft == null ? '' : `${formatNumber(quotaLeft)} records, then the quota is used up`,
  }
}

/** Returns how many companies match, where counting is free and not in the same rate window as the import. */
async function matchesOf(
  context: Context,
  operation: Operation,
  input: Input,
  globals: GlobalOptions,
): Promise<number | undefined> {
  if (operation.id !== 'intents.stack') return undefined
  const caller = await context.caller(globals)
  const reply = await callOnce(context, caller, rowOf('intents.stack_preview'), input, globals)
  const total = isOk(reply) ? valueAt(reply.body, 'total_count') : undefined
  return typeof total === 'number' ? total : undefined
}
