import { type Input, isOk } from '../../api/calls/caller.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, operation as rowOf } from '../../api/operations/table.js'
import { mostCredits } from '../../engine/credits/cost.js'
import type { Remaining } from '../../runs/ports.js'
import type { Context } from '../context/context.js'
import { isLargePrice } from '../context/settings.js'
import { callOnce } from '../operation/call.js'
import type { OperationRequest } from '../operation/request.js'
import { canAsk, confirm, showAbove } from '../output/prompt.js'
import { numberAt } from '../output/records.js'
import { formatCredits, formatNumber, priceText } from '../output/text.js'
import { readRemaining } from './limits.js'
import { quotasText } from './view.js'

/**
 * Asks a person before a request that may cost a large part of the balance, and before every import without a limit, with
 * its quote. Throws Stop where the answer is no.
 */
export async function confirmCall(
  context: Context,
  { operation, shape, input }: OperationRequest,
): Promise<void> {
  if (!canAsk(context)) return
  const isMetered = operation.quota !== undefined || isPriced(operation)
  if (operation.starts === 'import' && isMetered && input.limit === undefined)
    return confirmImport(context, operation, input)
  // Defaults of the schema count: an omitted limit can have a price.
  const parsed = shape.input.safeParse(input)
  const most = mostCredits(operation, parsed.success ? parsed.data : input)
  if (most === 0) return
  const balance = await readBalance(context)
  if (!isLargePrice(context, most, balance)) return
  const price =
    most === null ? 'What this costs depends on what is found' : `This costs up to ${formatCredits(most)}`
  const left =
    balance === null ? 'the target does not say your balance' : `your balance is ${formatCredits(balance)}`
  await context.notifySource()
  await confirm(context, `${price}, and ${left}. Continue?`, 'no')
}

/** Returns the balance; null where the target does not say it. */
async function readBalance(context: Context): Promise<number | null> {
  const caller = await context.caller()
  const reply = await callOnce(context, caller, rowOf('credits.show'), {})
  return (isOk(reply) ? numberAt(reply.body, 'credits.enrichment') : undefined) ?? null
}

async function confirmImport(context: Context, operation: Operation, input: Input): Promise<void> {
  const { record } = await import('../output/table.js')
  const left = await readRemaining(context, operation, input)
  // The import itself reports the refusal, before anything is done.
  if ('reply' in left) return
  const matches = await matchesOf(context, operation, input)
  const source = await context.source()
  const lines = { 'Answers from': source?.text ?? '', ...importQuote(operation, left.spendable, matches) }
  showAbove(context, (look) => record(lines, look))
  const most = isPriced(operation) ? (matches === undefined ? null : matches * priceOf(operation)) : 0
  const isLarge = isLargePrice(context, most, left.spendable.balance)
  const question = 'Without --limit everything that matches is imported. Start?'
  await confirm(context, question, isLarge ? 'no' : 'yes')
}

const priceOf = ({ price }: Operation): number => price.company ?? 0

/** Returns the lines of the quote of an import without a limit. */
function importQuote(
  operation: Operation,
  { balance, allowance, quotas, quotaLeft }: Remaining['spendable'],
  matches: number | undefined,
): Readonly<Record<string, string>> {
  const paid = isPriced(operation)
  const credits = (of: number | null | undefined, text = '') =>
    paid && of !== undefined ? (of === null ? 'not known' : `${formatCredits(of)}${text}`) : ''
  return {
    Matches: matches === undefined ? '' : formatNumber(matches),
    Price: priceText(operation),
    Credits: matches === undefined ? '' : `at most ${formatNumber(matches * priceOf(operation))}`,
    Balance: credits(balance),
    'This week': credits(allowance, ' left'),
    'Quotas left': paid ? '' : quotasText(quotas),
    'At most': quotaLeft == null ? '' : `${formatNumber(quotaLeft)} records, then the quota is used up`,
  }
}

/** Returns how many companies match, where counting is free and not in the same rate window as the import. */
async function matchesOf(context: Context, operation: Operation, input: Input): Promise<number | undefined> {
  if (operation.id !== 'intents.stack') return undefined
  const caller = await context.caller()
  const reply = await callOnce(context, caller, rowOf('intents.stack_preview'), input)
  return isOk(reply) ? numberAt(reply.body, 'total_count') : undefined
}
