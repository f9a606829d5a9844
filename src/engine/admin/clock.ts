import { Refusal } from '../../api/calls/errors.js'
import { engineTime } from '../clock.js'
import { restartCounters } from '../tables/counters.js'
import { readClock, type StoredClock, writeClock } from '../tables/members.js'
import type { AdminPorts } from './workspaces.js'

/** Engine time as it is now; `offsetMs` is engine time minus real time. */
export type ClockState = Awaited<ReturnType<ReturnType<typeof clockAdmin>['clock']>>

const earliest = Date.UTC(2000, 0, 1)
const latest = Date.UTC(2200, 0, 1)

/** Reads and moves the engine's clock, which all processes share. */
export function clockAdmin({ store, clock }: AdminPorts) {
  const stateOf = (stored: StoredClock) => {
    const real = clock.now()
    const now = engineTime(stored, real)
    return { now, frozen: stored.frozenAt !== null, offsetMs: now - real }
  }
  const change = (next: (stored: StoredClock, real: number) => StoredClock) =>
    store.transaction(async (tx) => {
      const before = await readClock(tx)
      const stored = next(before, clock.now())
      const at = engineTime(stored, clock.now())
      if (!(at >= earliest && at < latest)) throw new Refusal('engine.time')
      await writeClock(tx, stored)
      if (at < engineTime(before, clock.now())) await restartCounters(tx, at)
      return stateOf(stored)
    })
  return {
    clock: async () => stateOf(await store.read((tx) => readClock(tx))),
    /** Sets engine time. It runs on from there, or stands still when frozen. */
    setClock: (at: number, frozen: boolean) =>
      change((_, real) => ({ offsetMs: Math.round(at - real), frozenAt: frozen ? at : null })),
    /** Moves engine time by milliseconds, forwards or back. A frozen clock stays frozen. */
    advanceClock: (ms: number) =>
      change((stored) => ({
        offsetMs: stored.offsetMs + Math.round(ms),
        frozenAt: stored.frozenAt === null ? null : stored.frozenAt + Math.round(ms),
      })),
    resetClock: () => change(() => ({ offsetMs: 0, frozenAt: null })),
  }
}
