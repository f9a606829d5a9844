import type { Reply } from '../../api/calls/caller.js'
import type { Layer } from '../../api/calls/compose.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, operation } from '../../api/operations/table.js'
import type { RunPlace } from '../../batch/run/records.js'
import type { Spending } from '../../storage/state/runs/spending.js'
import type { Context, GlobalOptions, HomeContext } from '../context/context.js'
import { openStateOf } from '../context/open-databases.js'
import { profileName, targetName } from '../target/resolve-target.js'

/** What the commands of this machine spent, or all that share a database; closed with the command. */
export async function openSpending(
  context: HomeContext,
  { database: address }: RunPlace = {},
): Promise<Spending> {
  const { spendingOver } = await import('../../storage/state/runs/spending.js')
  return spendingOver(await openStateOf(context, address))
}

/**
 * Puts on record what work cost that a command asked for by itself; rows of runs are put there with their answers. What
 * cannot be put on record is told, since the answer that was paid for matters more.
 */
export async function recordSpent(
  context: Context,
  { id }: Operation,
  credits: number,
  options: GlobalOptions,
  open: () => Promise<Spending> = () => openSpending(context),
): Promise<void> {
  if (credits === 0) return
  try {
    const spender = {
      profile: profileName(context, options),
      target: await targetName(context, options),
      operation: id,
    }
    await (await open()).count(spender, { credits, calls: 1 }, context.clock.now())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    context.notify(`The ${credits} credits of this call are missing in prospect ledger: ${reason}`, options)
  }
}

/** Records the cost of each call in the ledger of this machine. */
export function accounted(context: Context, options: GlobalOptions): Layer {
  let opened: Promise<Spending> | undefined
  // What could not be opened for one call may be for the next.
  const open = () => {
    opened ??= openSpending(context).catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  return (caller) => ({
    ...caller,
    call: async (id, input, call) => {
      const reply = await caller.call(id, input, call)
      const cost = costOfCall(operation(id), reply, call?.idempotencyKey !== undefined)
      await recordSpent(context, operation(id), cost, options, open)
      return reply
    },
  })
}

/** What a single call cost. A reply that comes again was counted before, unless we sent its key by ourselves. */
export function costOfCall(operation: Operation, reply: Reply, hasOwnKey: boolean): number {
  if (!isPriced(operation)) return 0
  return reply.credits + (hasOwnKey ? 0 : (reply.replayed ?? 0))
}
