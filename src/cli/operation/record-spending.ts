import type { Reply } from '../../api/calls/caller.js'
import type { Layer } from '../../api/calls/compose.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, type OperationId, operation } from '../../api/operations/table.js'
import type { RunsLocation } from '../../batch/run/records.js'
import type { Spending } from '../../storage/state/runs/spending.js'
import type { Context, GlobalOptions, HomeContext } from '../context/context.js'
import { once } from '../context/once.js'
import { openStateOf } from '../context/open-databases.js'
import { profileName, targetName } from '../target/resolve-target.js'

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
): Promise<void> {
  if (credits === 0) return
  try {
    const spender = {
      profile: profileName(context, options),
      target: await targetName(context, options),
      operation,
    }
    await (await open()).count(spender, { credits, calls: 1 }, context.clock.now())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    context.notify(`The ${credits} credits of this call are missing in prospect ledger: ${reason}`, options)
  }
}

/** Returns the layer that records the cost of each call in the ledger of this machine. */
export function createSpendingLayer(context: Context, options: GlobalOptions): Layer {
  const open = once(() => openSpending(context))
  return (caller) => ({
    ...caller,
    call: async (id, input, call) => {
      const reply = await caller.call(id, input, call)
      const cost = costOfCall(operation(id), reply, call?.idempotencyKey !== undefined)
      await recordSpent(context, id, cost, options, open)
      return reply
    },
  })
}

/** Returns what a single call cost. A replayed reply was counted before, unless the key was not the user's own. */
export function costOfCall(operation: Operation, reply: Reply, hasOwnKey: boolean): number {
  if (!isPriced(operation)) return 0
  return reply.credits + (hasOwnKey ? 0 : (reply.replayed ?? 0))
}
