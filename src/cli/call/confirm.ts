import { type Input, isOk } from '../../api/calls/caller.js'
import { errors } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isMetered, isPriced } from '../../api/operations/facts.js'
import { isUnlimited, quotaNames, quotas } from '../../api/operations/plans.js'
import type { Operation } from '../../api/operations/table.js'
import { maxCreditsOf } from '../../engine/credits/cost.js'
import type { BatchQuote, Shortage } from '../../runs/plan/quote.js'
import type { Remaining } from '../../runs/ports.js'
import type { Context } from '../context/context.js'
import { hintOfFailure } from '../context/errors.js'
import { isLargePrice } from '../context/home.js'
import { reportError } from '../output/print.js'
import { canAsk, confirm, showAbove } from '../output/prompt.js'
import { numberAt } from '../output/records.js'
import { record } from '../output/table.js'
import { formatCredits, formatNumber, priceText } from '../output/text.js'
import type { OperationRequest } from './build.js'
import { countMatches } from './count-matches.js'
import { readRemaining } from './limits.js'
import { callOnce } from './send.js'

/** Asks before a large price, and before every import without a limit. Throws Stop where the answer is no. */
export async function confirmCall(context: Context, { operation, shape, input }: OperationRequest) {
  if (!canAsk(context)) return
  await context.requireRecords([operation])
  if (operation.starts === 'import' && isMetered(operation) && input.limit === undefined)
    return confirmImport(context, operation, input)
  const most = maxCreditsOf(operation, shape, input)
  if (most === 0) return
  const reply = await callOnce(context, 'credits.show', {})
  const balance = (isOk(reply) ? numberAt(reply.body, 'credits.enrichment') : undefined) ?? null
  if (!isLargePrice(context, most, balance)) return
  const price =
    most === null ? 'What this costs depends on what is found' : `This costs up to ${formatCredits(most)}`
  const left =
    balance === null ? 'the target does not say your balance' : `your balance is ${formatCredits(balance)}`
  await context.notifySource()
  await confirm(context, `${price}, and ${left}. Continue?`, 'no')
}

async function confirmImport(context: Context, operation: Operation, input: Input): Promise<void> {
  const left = await readRemaining(context, operation, input)
  // The import itself reports the refusal, before anything is done.
  if ('reply' in left) return
  const matches = await countMatches(context, operation, input)
  const source = await context.source()
  const lines = { 'Answers from': source?.text ?? '', ...importQuote(operation, left.spendable, matches) }
  showAbove(context, (look) => record(lines, look))
  const most = isPriced(operation) ? (matches === undefined ? null : matches * priceOf(operation)) : 0
  const isLarge = isLargePrice(context, most, left.spendable.balance)
  const question = 'Without --limit everything that matches is imported. Start?'
  await confirm(context, question, isLarge ? 'no' : 'yes')
}

const priceOf = ({ price }: Operation): number => price.company ?? 0

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
    Credits: paid && matches !== undefined ? `at most ${formatNumber(matches * priceOf(operation))}` : '',
    Balance: credits(balance),
    'This week': credits(allowance, ' left'),
    'Quotas left': paid ? '' : quotasText(quotas),
    'At most': quotaLeft == null ? '' : `${formatNumber(quotaLeft)} records, then the quota is used up`,
  }
}

const refusals = {
  credits: 'insufficient_credits',
  weekly_limit: 'workspace_limit_exceeded',
  quota: 'plan_limit_reached',
} as const

/** Returns 0 where a request can be paid from what a week has left, else the exit code of the refusal to expect. */
export function checkWeek(context: Context, operation: Operation, most: number | null, left: number) {
  // Of jobs, as many are given as the week permits.
  const least = most === null || operation.price.job !== undefined ? 1 : most
  if (least <= left) return exitCodes.ok
  const price = most === null ? '' : `, which can cost ${formatCredits(most)}`
  const text = `The ${formatCredits(left)} left of this week do not cover this request${price}`
  return reportShort(context, 'weekly_limit', text)
}

/** Reports that what is left does not cover a price; returns the exit code of the refusal to expect. `within` says what would be covered. */
export function reportShort(context: Context, shortage: Shortage, error: string, within = '') {
  const refusal = refusals[shortage]
  const row: { readonly exit: number; readonly code?: string } = errors[refusal]
  const code = row.code ?? null
  const hint = `${within}${hintOfFailure({ means: refusal }, context.isLocal())}`
  return reportError(context, { error, code, status: null, exit_code: row.exit, hint })
}

/** Says how many records the quotas leave. */
export function quotasText(left: BatchQuote['quotas']): string {
  const texts = quotaNames.flatMap((name) => {
    const remaining = numberAt(left, `${name}.remaining`)
    const { quota, period } = quotas[name]
    return remaining === undefined || isUnlimited(remaining)
      ? []
      : [`${formatNumber(remaining)} ${quota}/${period}`]
  })
  return texts.join(', ')
}
