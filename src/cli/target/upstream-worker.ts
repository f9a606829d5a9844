import type { Caller } from '../../api/calls/caller.js'
import { guardCallerFor } from '../../engine/request/proxy-guard.js'
import type { RowCaller } from '../../engine/settlement/row-caller.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { tellTrouble } from './local-target.js'
import { type RemoteTarget, targetOf } from './resolve-target.js'

/** Calls to a server under way at once, unless said. */
const usualAtOnce = 8

/** Prepares to take part in runs whose rows a server answers, with the server's key; answers what does so until a signal. */
export async function partFor(
  context: Context,
  options: GlobalOptions,
  remote: Caller,
  atOnce = usualAtOnce,
): Promise<(stopping: AbortSignal) => Promise<void>> {
  const target = targetOf(options, context.streams.env, context.settings()) as RemoteTarget
  // Without the server's key nothing could be called: known before anything is taken up.
  const apiKey = (await context.apiKey(options)) ?? ''
  const { openStore } = await import('../../storage/engine/store.js')
  const { sharedClock } = await import('../../engine/clock.js')
  const { runChunkWorker } = await import('../../engine/distributed/worker.js')
  const store = await openStore(context.home.engine, () => context.clock.now())
  context.onClose(() => store.close())
  const clock = sharedClock(store, context.clock)
  const rowCaller: RowCaller = {
    ...{ source: target.baseUrl, chunksAtOnce: 2, atOnce },
    mayRepeat: async () => remote.supportsIdempotency?.() ?? true,
    // What a server does cannot be undone: there the keys of rows see to it that nothing is paid twice.
    actingFor: (keyId) => guardCallerFor(keyId, remote, { store, clock, apiKey }),
  }
  const ports = { store, clock, ids: context.ids, rowCaller, onTrouble: tellTrouble(context) }
  return (stopping) => runChunkWorker(ports, stopping)
}
