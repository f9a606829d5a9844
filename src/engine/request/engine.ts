import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import type { Caller } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'
import type { Awaitable, Clock, Ids, Sender, Source, Store, Targets, Workspace } from '../ports/ports.js'
import type { FencingCheck } from '../settlement/settlement.js'
import { accessOf, createAccess } from './access.js'
import { answer } from './pipeline.js'

/** What an engine is made of. */
export interface EnginePorts {
  readonly store: Store
  readonly source: Source
  readonly clock: Clock
  readonly ids: Ids
  /** Who will post deliveries, and where it may; without one every address is taken. */
  readonly sender?: Pick<Sender, 'check'>
  /** Where a workspace of so many members may deliver to besides public addresses. */
  readonly targets?: (members: number) => Targets
  /** Told of work that was accepted, once that is durable. */
  readonly accepted?: (jobId: string) => void
  /** Waits in real time; given by tests. */
  readonly sleep?: (ms: number) => Promise<void>
  /** Where credits are bought; `/top-up` on the server's own origin unless said. */
  readonly topUpUrl?: string
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** An engine, which can also be asked by the key's id, for somebody whose key was checked before. */
export interface Engine extends Caller {
  /** Calls as the member of a key, unless it is not valid any more; nothing is done that the fence refuses. */
  actingFor(keyId: string, checkFencing: FencingCheck): Pick<Caller, 'call'>
}

/** The API's rules over a store and a source: every request is checked, answered and charged here. */
export function createEngine(engine: EnginePorts): Engine {
  const { store, source, clock, ids, sleep = pause, topUpUrl, accepted = () => {} } = engine
  const ports = {
    store,
    source,
    ids,
    realNow: () => clock.now(),
    access: createAccess(store, { clock, sleep }),
    shapes: loadedOnce(),
    ...{ accepted, checkWebhook: webhookCheck(engine) },
    topUpUrl: (origin: string | undefined) => topUpUrl ?? `${origin ?? 'http://127.0.0.1:4010'}/top-up`,
  }
  return {
    call: (id, input, options = {}) => answer(ports, operation(id), () => input, options),
    answerRequest: (id, readInput, options = {}) => answer(ports, operation(id), readInput, options),
    actingFor: (keyId, checkFencing) => {
      const acting = { ...ports, checkFencing, access: () => accessOf(store, clock, keyId) }
      return { call: (id, input, options = {}) => answer(acting, operation(id), () => input, options) }
    },
    discardReplies: async (run, before, options = {}) => {
      const { workspace } = await ports.access(options.apiKey)
      await store.transaction((tx) => tx.dropRunReplies(workspace.id, run, before), workspace.id)
    },
    close: () => store.close(),
  }
}

/** Nothing is accepted for an address that no delivery would go to. */
function webhookCheck({ store, sender, targets = () => nowhereElse }: EnginePorts) {
  return async (url: string, workspace: Workspace): Promise<void> => {
    if (!sender || url === ownWebhook) return
    const members = await store.read((reads) => reads.members(workspace.id))
    const reason = await sender.check(url, targets(members.length))
    if (reason !== undefined) throw new ApiError('bad_request', { reason: `webhook_url: ${reason}` })
  }
}

const nowhereElse: Targets = { allow: [], loopback: false }

/** Schemas of operations; a promise only the first time. */
function loadedOnce(): (id: OperationId) => Awaitable<Shape> {
  const loaded = new Map<OperationId, Shape>()
  const load = async (id: OperationId) => {
    const shape = await shapeOf(id)
    loaded.set(id, shape)
    return shape
  }
  return (id) => loaded.get(id) ?? load(id)
}
