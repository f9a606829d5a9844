import { type Clock, dueWork, type Ids, type StaleBefore, type Store } from '../ports/ports.js'

/** Tells those who wait for rows that somebody takes part. */
export interface WorkerHeartbeat {
  /** Is seen for a while. */
  show(): Promise<void>
  /** Clears away what commands and workers left behind that are gone, now and then. */
  tidy(): Promise<void>
  /** Takes part no longer. */
  end(): Promise<void>
}

/** How long a worker is seen to take part, and how often it says so; real time. */
const seenMs = 15_000
const showEveryMs = 4_000
/** A command that was not heard of for so long goes on as if it began anew; that it may is known for so long. */
const deadMs = 600_000
const knownMs = 30 * 86_400_000
const tidyEveryMs = 60_000

/** Makes the presence of one worker, which is told only while there is somebody to tell. */
export function createWorkerHeartbeat(
  { store, clock, ids }: { readonly store: Store; readonly clock: Clock; readonly ids: Ids },
  source: string,
): WorkerHeartbeat {
  const id = ids.uuid()
  const isDue = every()
  const isTidyDue = every()
  let shown = false
  const keep = (until: number | null) =>
    store.transaction((tx) => tx.keepChunkWorker(id, source, until), dueWork)
  return {
    show: async () => {
      if (!isDue(showEveryMs)) return
      shown = true
      await keep(clock.now() + seenMs)
    },
    tidy: async () => {
      // With the store to itself: it takes the chunks of many, in an order that nobody else keeps to.
      if (isTidyDue(tidyEveryMs)) await store.transaction((tx) => tx.dropDeadChunks(staleBefore(clock.now())))
    },
    end: async () => {
      if (shown) await keep(null)
    },
  }
}

/** What is cleared away at a moment of real time. */
export const staleBefore = (now: number): StaleBefore => ({
  chunks: now - deadMs,
  runs: now - knownMs,
  workers: now,
})

/** Whether so much time has passed since it last said yes; by a clock that is never set. */
function every(): (ms: number) => boolean {
  let last = Number.NEGATIVE_INFINITY
  return (ms) => {
    const now = performance.now()
    if (now - last < ms) return false
    last = now
    return true
  }
}
