import { type Input, isOk, type Reply } from '../../api/calls/caller.js'
import type { Layer } from '../../api/calls/compose.js'
import { ApiError } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, type OperationId, operation } from '../../api/operations/table.js'
import type { RunsLocation } from '../../batch/run/records.js'
import { mostCredits, unitsFor } from '../../engine/credits/cost.js'
import type { Spending } from '../../storage/state/runs/spending.js'
import type { Context, GlobalOptions, HomeContext } from '../context/context.js'
import { Stop } from '../context/errors.js'
import { once } from '../context/once.js'
import { openStateOf } from '../context/open-databases.js'
import { profileInUse } from '../context/settings.js'
import { formatCredits, formatNumber } from '../output/text.js'
import { profileName, targetName } from '../target/resolve-target.js'
import type { OperationRequest } from './request.js'

/**
 * Opens the record of what this machine spent, or of all machines that share a database. It closes with the command.
 */
export async function openSpending(
  context: HomeContext,
  { database: address }: RunsLocation = {},
): Promise<Spending> {
  const { spendingOver } = await import('../../storage/state/runs/spending.js')
  return spendingOver(await openStateOf(context, address))
}

/** The ids of credits that are set aside for the call of a command, until its cost is recorded. */
const holds = new WeakMap<object, string>()

/**
 * Returns the input of a request as the budgets permit it: an operation priced per record gets a lower `limit`. Sets its
 * maximum price aside in the budget of the day. Throws Stop (exit 12) where a budget leaves too little.
 */
export async function holdWithinBudget(
  context: Context,
  { operation: row, shape, input, invocation: { options, globals } }: OperationRequest,
): Promise<Input> {
  const settings = profileInUse(context, globals)
  const number = (name: string) => (typeof options[name] === 'number' ? options[name] : undefined)
  const perCommand = number('maxCredits') ?? settings.max_credits
  const perDay = number('maxCreditsPerDay') ?? settings.max_credits_per_day
  if (!isPriced(row) || (perCommand === undefined && perDay === undefined)) return input
  const parsed = shape.input.safeParse(input)
  const most = mostCredits(row, parsed.success ? parsed.data : input)
  /** The part of the request that credits pay for: its limit, where that is lower than the one asked for. */
  const grantWithin = (left: number): { readonly credits: number; readonly limit?: number } | undefined => {
    if (most !== null && most <= left) return { credits: most }
    const isMany = row.needs === 'records' || row.price.job !== undefined
    const limit = isMany ? unitsFor(row, left) : 0
    return limit > 0 ? { credits: mostCredits(row, { limit }) ?? left, limit } : undefined
  }
  const refuse = (budget: string, setting: string, left: number): never => {
    const price =
      most === null ? 'What this costs depends on what is found' : `This can cost ${formatCredits(most)}`
    throw new Stop(
      `Budget reached: ${price}, and ${budget} leaves ${formatNumber(left)}`,
      exitCodes.budget,
      `Raise --${setting.replaceAll('_', '-')} or the setting ${setting}.`,
      'budget',
    )
  }
  const ofCommand = grantWithin(perCommand ?? Number.POSITIVE_INFINITY)
  if (!ofCommand) return refuse('--max-credits', 'max_credits', perCommand ?? 0)
  let granted = ofCommand
  if (perDay !== undefined) {
    const id = context.ids.uuid()
    const decide = (left: number) => {
      granted = grantWithin(Math.min(left, perCommand ?? left)) ?? { credits: -1 }
      return granted.credits < 0 ? undefined : granted.credits
    }
    const held = { id, profile: profileName(context, globals), perDay }
    const { left } = await (await openSpending(context)).hold(held, decide, context.clock.now())
    if (granted.credits < 0) return refuse('the budget of the day (UTC)', 'max_credits_per_day', left)
    holds.set(context, id)
  }
  const { limit } = granted
  if (limit === undefined) return input
  context.notify(`--limit ${limit}: the budget pays for no more.`, globals)
  return { ...input, limit }
}

/**
 * Records what a single call cost; rows of runs are recorded with their answers. A failure to record is only a notice,
 * because the paid answer matters more.
 */
export async function recordSpent(
  context: Context,
  operation: OperationId,
  credits: number,
  options: GlobalOptions,
  open: () => Promise<Spending> = () => openSpending(context),
  held: string | undefined = holds.get(context),
): Promise<void> {
  context.log?.spend(credits)
  if (credits === 0 && held === undefined) return
  holds.delete(context)
  try {
    const spender = {
      profile: profileName(context, options),
      target: await targetName(context, options),
      operation,
    }
    const spending = await open()
    const spent = { credits, calls: 1 }
    if (held === undefined) await spending.count(spender, spent, context.clock.now())
    else await spending.settle(held, spender, spent, context.clock.now())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    context.notify(`The ${credits} credits of this call are missing in prospect ledger: ${reason}`, options)
  }
}

/** Whether the cost of a call is known with its reply: not that of accepted work, nor after a fault on the way. */
export const isCostKnown = ({ starts }: Operation, reply: Reply): boolean =>
  !reply.unknown && (starts === undefined || !isOk(reply))

/**
 * Returns the layer of a proxy that records the cost of each call in the ledger of this machine. A call whose maximum price
 * is more than the setting `max_credits_per_day` leaves is refused with 402.
 */
export function createSpendingLayer(context: Context, options: GlobalOptions): Layer {
  const open = once(() => openSpending(context))
  const { max_credits_per_day: perDay } = profileInUse(context, options)
  const profile = profileName(context, options)
  const hold = async (row: Operation, input: Input): Promise<string | undefined> => {
    const most = mostCredits(row, input)
    if (perDay === undefined || most === 0) return undefined
    const id = context.ids.uuid()
    const decide = (left: number) => (most !== null && most <= left ? most : undefined)
    const { left, credits } = await (await open()).hold({ id, profile, perDay }, decide, context.clock.now())
    if (credits !== undefined) return id
    throw new ApiError('insufficient_credits', { need: most ?? left + 1, have: left })
  }
  return (caller) => ({
    ...caller,
    call: async (id, input, call) => {
      const row = operation(id)
      const held = await hold(row, input)
      const reply = await caller.call(id, input, call)
      const cost = costOfCall(row, reply, call?.idempotencyKey !== undefined)
      const settled = isCostKnown(row, reply) ? held : undefined
      await recordSpent(context, id, cost, options, open, settled)
      return reply
    },
  })
}

/** Returns what a single call cost. A replayed reply was counted before, unless the key was not the user's own. */
export function costOfCall(operation: Operation, reply: Reply, hasOwnKey: boolean): number {
  if (!isPriced(operation)) return 0
  return reply.credits + (hasOwnKey ? 0 : (reply.replayed ?? 0))
}
