import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import type { Caller } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'
import type { Awaitable, Driver } from '../../storage/driver/connection.js'
import { createClockWatch } from '../clock.js'
import type { Clock, Ids, Sender, Source, Targets } from '../ports/ports.js'
import type { FencingCheck } from '../settlement/settlement.js'
import { listMembers, type Workspace } from '../tables/members.js'
import { dropRunReplies } from '../tables/row-replies.js'
import { accessOf, createAccess } from './access.js'
import { answer } from './pipeline.js'

/** The parts of an engine. */
export interface EnginePorts {
  readonly store: Driver
  readonly source: Source
  readonly clock: Clock
  readonly ids: Ids
  /** Posts deliveries and checks their targets; without one every address is accepted. */
  readonly sender?: Pick<Sender, 'check'>
  /** Returns where a workspace with this number of members may deliver to, besides public addresses. */
  readonly targets?: (members: number) => Targets
  /** Receives the id of accepted work, once that is durable. */
  readonly accepted?: (jobId: string) => void
  /** Waits in real time; replaced by tests. */
  readonly sleep?: (ms: number) => Promise<void>
  /** Where credits are bought; by default `/top-up` on the server's own origin. */
  readonly topUpUrl?: string
  /** Whether to count limits that were observed at the real service and are not specified; off by default. */
  readonly observedLimits?: boolean | undefined
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** An engine. It can also be called by a key's id, for a caller whose key was checked before. */
export interface Engine extends Caller {
  /** Calls as the member of a key, while that is valid. Nothing is written that the fencing check refuses. */
  actingFor(keyId: string, checkFencing: FencingCheck): Pick<Caller, 'call'>
}

/** Creates an engine over a store and a source: it checks, answers and charges every request. */
export function createEngine(engine: EnginePorts): Engine {
  const { store, source, clock, ids, sleep = pause, topUpUrl, accepted = () => {}, observedLimits } = engine
  const ports = {
    store,
    source,
    ids,
    realNow: () => clock.now(),
    noticeTime: createClockWatch(store),
    access: createAccess(store, { clock, sleep }),
    shapes: loadedOnce(),
    ...{ accepted, observedLimits, checkWebhook: webhookCheck(engine) },
    topUpUrl: (origin: string | undefined) => topUpUrl ?? `${origin ?? 'http://127.0.0.1:4010'}/top-up`,
  }
  return {
    call: (id, input, options = {}) => answer(ports, operation(id), () => ({ input }), options),
    answerRequest: (id, readInput, options = {}) => answer(ports, operation(id), readInput, options),
    actingFor: (keyId, checkFencing) => {
      const acting = { ...ports, checkFencing, access: () => accessOf(store, clock, keyId) }
      return { call: (id, input, options = {}) => answer(acting, operation(id), () => ({ input }), options) }
    },
    discardReplies: async (run, before, options = {}) => {
      const { workspace } = await ports.access(options.apiKey)
      await store.transaction((tx) => dropRunReplies(tx, workspace.id, run, before), workspace.id)
    },
    close: () => store.close(),
  }
}

/** Work for an address that no delivery could go to is refused. */
function webhookCheck({ store, sender, targets = () => nowhereElse }: EnginePorts) {
  return async (url: string, workspace: Workspace): Promise<void> => {
    if (!sender || url === ownWebhook) return
    const members = await store.read((tx) => listMembers(tx, workspace.id))
    const reason = await sender.check(url, targets(members.length), workspace.id)
    if (reason !== undefined) throw new ApiError('bad_request', { reason: `webhook_url: ${reason}` })
  }
}

const nowhereElse: Targets = { allow: [], loopback: false }

/** Returns a loader of operation schemas; it returns a promise only the first time. */
function loadedOnce(): (id: OperationId) => Awaitable<Shape> {
  const loaded = new Map<OperationId, Shape>()
  const load = async (id: OperationId) => {
    const shape = await shapeOf(id)
    loaded.set(id, shape)
    return shape
  }
  return (id) => loaded.get(id) ?? load(id)
}
