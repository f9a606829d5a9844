import { type Input, isOk, type Layer, type Reply } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, type OperationId, operation } from '../../api/operations/table.js'
import { once } from '../../api/values/objects.js'
import { mostCredits } from '../../engine/credits/cost.js'
import type { Spending } from '../../runs/journal/spending.js'
import type { RunsLocation } from '../../runs/records.js'
import type { Context, HomeContext } from '../context/context.js'
import { profileInUse } from '../context/home.js'
import { openStateOf } from '../context/open-databases.js'
import { memberEmail, profileName, targetName } from '../target/resolve-target.js'

/** Of this machine, or of all machines that share a database. It closes with the command. */
export async function openSpending(
  context: HomeContext,
  { database: address }: RunsLocation = {},
): Promise<Spending> {
  const { spendingOver } = await import('../../runs/journal/spending.js')
  return spendingOver(await openStateOf(context, address))
}

/** The ids of credits that are set aside for the call of a command, by its streams, until its cost is recorded. */
export const holds = new WeakMap<object, string>()

/** Rows of runs are recorded with their answers. A failure is only a notice, because the paid answer matters more. */
export async function recordSpent(
  context: Context,
  operation: OperationId,
  credits: number,
  open: () => Promise<Spending> = () => openSpending(context),
  held: string | undefined = holds.get(context.streams),
  member?: string,
): Promise<void> {
  context.log?.spend(credits)
  if (credits === 0 && held === undefined) return
  holds.delete(context.streams)
  try {
    const spender = await spenderOf(context, operation, member)
    const spending = await open()
    const spent = { credits, calls: 1 }
    if (held === undefined) await spending.count(spender, spent, context.clock.now())
    else await spending.settle(held, spender, spent, context.clock.now())
  } catch (error) {
    const { reasonOf } = await import('../messages.js')
    context.notify(`The ${credits} credits of this call are missing in prospect ledger: ${reasonOf(error)}`)
  }
}

/** Whose answer was doubted: that of a member of a proxy, or of a run. */
interface Doubtful {
  readonly operation: OperationId
  readonly member?: string | undefined
}

/**
 * Returns what counts and names answers that were passed on and then doubted, on stderr and in the log, and in the ledger
 * unless `inLedger` is false. All that are doubted together are one message.
 */
export function createDoubtRecorder(context: Context, inLedger = true) {
  let doubted: Doubtful[] = []
  const record = () => {
    const groups = Map.groupBy(doubted, ({ operation: id, member = '' }) => JSON.stringify([id, member]))
    doubted = []
    for (const group of groups.values()) {
      const [{ operation: id, member } = {} as Doubtful] = group
      const answers = group.length
      context.log?.write('doubted', { operation: id, member: member ?? null, answers })
      context.notify(formatDoubt(id, answers, member))
      if (inLedger) void countDoubted(context, id, answers, member)
    }
  }
  return (one: Doubtful): void => {
    if (doubted.push(one) === 1) setImmediate(record)
  }
}

async function countDoubted(
  context: Context,
  id: OperationId,
  doubted: number,
  member?: string,
): Promise<void> {
  try {
    const [spending, spender] = [await openSpending(context), await spenderOf(context, id, member)]
    const counted = spending.count(spender, { credits: 0, calls: 0, doubted }, context.clock.now())
    // The command does not end before that.
    context.onClose(() => counted)
    await counted
  } catch (error) {
    const { reasonOf } = await import('../messages.js')
    context.notify(`Doubted answers of ${id} are missing in prospect ledger: ${reasonOf(error)}`)
  }
}

export const doubtLayer = (context: Context, inLedger = true): Layer => {
  const doubt = createDoubtRecorder(context, inLedger)
  return (caller) => ({
    ...caller,
    call: (id, input, options = {}) =>
      caller.call(id, input, {
        ...options,
        onDoubted: options.onDoubted ?? (() => doubt({ operation: id, member: options.member?.email })),
      }),
  })
}

const spenderOf = async (context: Context, operation: OperationId, member: string | undefined) => ({
  profile: profileName(context),
  target: await targetName(context),
  operation,
  member: member ?? (await memberEmail(context)),
})

function formatDoubt(id: OperationId, answers: number, member: string | undefined): string {
  const [subject, others] =
    answers === 1
      ? ['1 answer', 'the answer to another request']
      : [`${answers} answers`, 'answers to other requests']
  const to = member === undefined ? '' : ` to ${member}`
  return `Doubted: the server sent more than was asked, so ${subject} of ${id}${to} in the last second may be ${others}.`
}

/** Whether the cost of a call is known with its reply: not that of accepted work, nor after a fault on the way. */
export const isCostKnown = ({ starts }: Operation, reply: Reply): boolean =>
  !reply.unknown && (starts === undefined || !isOk(reply))

/** Refuses a call with 402 whose maximum price is more than the setting `max_credits_per_day` leaves. */
export function createSpendingLayer(context: Context): Layer {
  const open = once(() => openSpending(context))
  const { max_credits_per_day: perDay } = profileInUse(context)
  const profile = profileName(context)
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
      await recordSpent(context, id, cost, open, settled, call?.member?.email)
      return reply
    },
  })
}

/** Returns what a single call cost. A replayed reply was counted before, unless the key was not the user's own. */
export function costOfCall(operation: Operation, reply: Reply, hasOwnKey: boolean): number {
  if (!isPriced(operation)) return 0
  return reply.credits + (hasOwnKey ? 0 : (reply.replayed ?? 0))
}
