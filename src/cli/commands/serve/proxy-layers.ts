import type { Layer } from '../../../api/calls/compose.js'
import { guardCaller } from '../../../engine/request/proxy-guard.js'
import type { Context } from '../../context/context.js'
import { openEngineStore } from '../../context/open-databases.js'
import { createSpendingLayer } from '../../operation/record-spending.js'
import { openStoredLookups, usesStoredAnswers } from '../../operation/stored-lookups.js'

/**
 * Opens the layers of a governed proxy: keys are checked, then stored answers are given where the setting `max_age` permits
 * it. What is sent is put on record with its cost, and its answer is stored.
 */
export async function openLayers(context: Context, apiKey: string, work: Layer) {
  const given = { options: {} }
  const stored = usesStoredAnswers(context, given) ? await openStoredLookups(context, given) : undefined
  return [await openGuard(context, apiKey), stored?.recall, createSpendingLayer(context), work, stored?.keep]
}

/** Opens the layer that checks the keys of this machine's workspace, and replaces them with the server's. */
async function openGuard(context: Context, apiKey: string) {
  await context.admin()
  return guardCaller({ ...(await openEngineStore(context)), apiKey, sleep: context.sleep })
}
