import { type Window, windowsOf } from '../../api/operations/plans.js'
import type { Operation } from '../../api/operations/table.js'
import type { Driver } from '../../storage/driver/connection.js'
import { type CounterState, countedAt } from '../clock.js'
import { readCounter, setCounter } from '../tables/counters.js'
import type { Principal } from '../tables/members.js'

/** A window after a request was counted in it, or refused by it. */
type CountedWindow = Window & CounterState

/** The result of counting a request: the windows it was counted in, or those that refuse it. */
export interface Admission {
  readonly refused: boolean
  readonly windows: readonly CountedWindow[]
}

/** Counts a request in all its windows in one small transaction, or in none. An exempt operation has no windows. */
export async function countRequest(
  store: Driver,
  operation: Operation,
  principal: Principal,
  live: unknown,
  now: number,
  observed?: boolean,
): Promise<Admission> {
  const windows = windowsOf(operation, principal.workspace.plan, live, observed)
  if (windows.length === 0) return { refused: false, windows: [] }
  const owner = `user:${principal.member.id}`
  return store.transaction(async (tx) => {
    const found: CountedWindow[] = []
    for (const window of windows) {
      const counter = await readCounter(tx, owner, window.name)
      const counted = countedAt(counter, window, now)
      // Stored also when the request is refused: the time that is left has to decrease from now on.
      if (counter && counter.started_at > now) await setCounter(tx, owner, window.name, counted)
      found.push({ ...window, ...counted })
    }
    if (found.some(isFull)) return { refused: true, windows: found.filter(isFull) }
    const counted = found.map((window) => ({ ...window, count: window.count + 1 }))
    for (const { name, started_at: startedAt, count } of counted)
      await setCounter(tx, owner, name, { started_at: startedAt, count })
    return { refused: false, windows: counted }
  }, owner)
}

const isFull = (window: CountedWindow) => window.count >= window.limit

/**
 * Returns the headers of the window with the least remaining; on a tie, of the one that resets last. After
 * `retry-after` seconds a refused request is admitted. `x-ratelimit-reset-after` has milliseconds, because a client
 * in a one-second window has to know when it ends.
 */
export function rateHeaders({ refused, windows }: Admission, now: number): Readonly<Record<string, string>> {
  const remaining = (window: CountedWindow) => Math.max(0, window.limit - window.count)
  const [tightest] = [...windows].sort((a, b) => remaining(a) - remaining(b) || b.resetsAt - a.resetsAt)
  if (!tightest) return {}
  const leftMs = Math.max(0, tightest.resetsAt - now)
  const reset = String(Math.max(1, Math.ceil(leftMs / 1_000)))
  return {
    'ratelimit-limit': String(tightest.limit),
    'ratelimit-remaining': String(remaining(tightest)),
    'ratelimit-reset': reset,
    'x-ratelimit-reset-after': (leftMs / 1_000).toFixed(3),
    ...(refused ? { 'retry-after': reset } : {}),
  }
}
