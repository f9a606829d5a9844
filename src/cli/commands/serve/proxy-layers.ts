import type { WorkHold } from '../../../api/calls/accepted-work.js'
import type { WireNames } from '../../../api/calls/wire-names.js'
import { createProxiedWork, type ProxiedWork, type ProxiedWorkLedger } from '../../../client/proxied-work.js'
import { createServerLimit, settleAccepted } from '../../../engine/credits/server-limit.js'
import { guardCaller } from '../../../engine/request/proxy-guard.js'
import type { BodyThreads } from '../../../http/body-threads.js'
import type { Context } from '../../context/context.js'
import { once } from '../../context/once.js'
import { openEngineStore, openStateOf } from '../../context/open-databases.js'
import { createDoubtRecorder, createSpendingLayer } from '../../operation/record-spending.js'
import { openStoredLookups, usesStoredAnswers } from '../../operation/stored-lookups.js'
import { profileName, targetName } from '../../target/resolve-target.js'

/**
 * Opens the layers of a governed proxy: keys of this machine's workspace are checked and replaced with the server's, then
 * stored answers are given where the setting `max_age` permits it. What is sent counts towards the weekly limit of its member
 * and is put on record with its cost, and its answer is stored.
 */
export async function openLayers(context: Context, apiKey: string, work: ProxiedWork) {
  const given = { options: {} }
  const stored = usesStoredAnswers(context, given) ? await openStoredLookups(context, given) : undefined
  await context.admin()
  const engine = await openEngineStore(context)
  const doubt = createDoubtRecorder(context)
  const guard = guardCaller({
    ...engine,
    ...{ apiKey, sleep: context.sleep },
    onDoubted: (operation, member) => doubt({ operation, member }),
  })
  const limit = createServerLimit({ ...engine, server: await targetName(context), onAccepted: work.hold })
  return [guard, stored?.recall, limit.layer, createSpendingLayer(context), work.layer, stored?.keep]
}

/** Opens what puts the cost of proxied work on record in this machine's state. */
export function openProxiedWork(
  context: Context,
  names: WireNames | undefined,
  { parse }: BodyThreads,
): ProxiedWork {
  const profile = profileName(context)
  const open = once(async () => {
    const { passedWorkOver } = await import('../../../runs/journal/proxied-work.js')
    return { target: await targetName(context), work: passedWorkOver(await openStateOf(context)) }
  })
  const settle = async (holds: readonly (WorkHold & { readonly cost: number })[]) => {
    if (holds.length === 0) return
    const limit = { ...(await openEngineStore(context)), server: await targetName(context) }
    for (const { cost, ...hold } of holds) await settleAccepted(limit, hold, cost)
  }
  const ledger: ProxiedWorkLedger = {
    start: async (ids, operation, member) => {
      const { target, work } = await open()
      await work.start({ target, operation, member }, ids, context.clock.now())
    },
    hold: async (holds) => {
      const { target, work } = await open()
      await settle(await work.hold(target, holds))
    },
    finish: async (operation, works) => {
      const { target, work } = await open()
      await settle(await work.finish({ target, operation }, works, context.clock.now()))
    },
    operationOf: async (ids) => {
      const { target, work } = await open()
      return work.operationOf(target, ids)
    },
    count: async (operation, ids, records) => {
      const { target, work } = await open()
      await work.count({ profile, target, operation }, ids, records, context.clock.now())
    },
    onError: (error) => {
      const reason = error instanceof Error ? error.message : String(error)
      context.notify(`The cost of proxied work is missing in prospect ledger: ${reason}`)
    },
  }
  return createProxiedWork(ledger, names, parse)
}
