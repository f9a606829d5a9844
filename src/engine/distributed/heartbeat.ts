import { type Driver, dueWork } from '../../storage/driver/connection.js'
import type { Clock, Ids } from '../ports/ports.js'
import { dropDeadChunks, keepChunkWorker, type StaleBefore } from '../tables/chunks.js'

/** How long an announcement lasts, and how often it is renewed; real time. */
const seenMs = 15_000
const showEveryMs = 4_000
/** A command that was silent for this long starts anew. The marker that it may is kept for the second period. */
const deadMs = 600_000
const knownMs = 30 * 86_400_000
const tidyEveryMs = 60_000

/** Creates the heartbeat of one worker. It writes only while a command waits. */
export function createWorkerHeartbeat(
  { store, clock, ids }: { readonly store: Driver; readonly clock: Clock; readonly ids: Ids },
  source: string,
) {
  const id = ids.uuid()
  const isDue = createThrottle()
  const isTidyDue = createThrottle()
  let shown = false
  const keep = (until: number | null) =>
    store.transaction((tx) => keepChunkWorker(tx, id, source, until), dueWork)
  return {
    /** Announces the worker for a while. */
    show: async () => {
      if (!isDue(showEveryMs)) return
      shown = true
      await keep(clock.now() + seenMs)
    },
    /** Deletes, from time to time, what dead commands and workers left behind. */
    tidy: async () => {
      // Without a scope, so with the store to itself: it locks chunks of many runs in another order.
      if (isTidyDue(tidyEveryMs))
        await store.transaction((tx) => dropDeadChunks(tx, staleBefore(clock.now())))
    },
    /** Withdraws the announcement. */
    end: async () => {
      if (shown) await keep(null)
    },
  }
}

/** Shows waiting commands that a worker takes part. */
export type WorkerHeartbeat = ReturnType<typeof createWorkerHeartbeat>

/** Returns the limits of what is deleted, at a moment of real time. */
export const staleBefore = (now: number): StaleBefore => ({
  chunks: now - deadMs,
  runs: now - knownMs,
  workers: now,
})

/** Returns a function that is true at most once in a period of monotonic time. */
function createThrottle(): (ms: number) => boolean {
  let last = Number.NEGATIVE_INFINITY
  return (ms) => {
    const now = performance.now()
    if (now - last < ms) return false
    last = now
    return true
  }
}
