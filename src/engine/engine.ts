import type { Caller } from '../api/caller.js'
import { type Shape, shapeOf } from '../api/shapes.js'
import { type OperationId, operation } from '../api/table.js'
import { createAccess } from './access.js'
import { answer } from './pipeline.js'
import type { Awaitable, Clock, Ids, Source, Store } from './ports.js'

/** What an engine is made of. */
export interface EnginePorts {
  readonly store: Store
  readonly source: Source
  readonly clock: Clock
  readonly ids: Ids
  /** Waits in real time; given by tests. */
  readonly sleep?: (ms: number) => Promise<void>
  /** Where credits are bought; `/top-up` on the server's own origin unless said. */
  readonly topUpUrl?: string
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The API's rules over a store and a source: every request is checked, answered and charged here. */
export function createEngine({ store, source, clock, ids, sleep = pause, topUpUrl }: EnginePorts): Caller {
  const ports = {
    store,
    source,
    ids,
    realNow: () => clock.now(),
    access: createAccess(store, { clock, sleep }),
    shapes: loadedOnce(),
    topUpUrl: (origin: string | undefined) => topUpUrl ?? `${origin ?? 'http://127.0.0.1:4010'}/top-up`,
  }
  return {
    call: (id, input, options = {}) => answer(ports, operation(id), input, options),
    close: () => store.close(),
  }
}

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
