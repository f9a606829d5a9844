import { ApiError } from '../api/errors.js'
import type { Operation } from '../api/table.js'
import { type Window, windowsOf } from '../api/windows.js'
import type { Counter, Principal, Store } from './ports.js'

/** A window after a request was counted in it, or refused by it. */
interface Counted extends Window, Counter {
  readonly resetAt: number
}

/**
 * The window as a request at `now` finds it. One that has ended is empty; one that began in the future (the
 * clock went back) counts as begun now, with its count kept.
 */
export function currentWindow(window: Window, counter: Counter | undefined, now: number): Counted {
  const ended = !counter || now >= counter.startedAt + window.windowMs
  const startedAt = ended || counter.startedAt > now ? now : counter.startedAt
  return { ...window, startedAt, count: ended ? 0 : counter.count, resetAt: startedAt + window.windowMs }
}

/**
 * Counts a request in all its windows in one small transaction, or in none and refuses it with 429. Answers
 * the rate-limit headers, empty for an exempt operation.
 */
export async function countRequest(
  store: Store,
  operation: Operation,
  principal: Principal,
  live: unknown,
  now: number,
): Promise<Readonly<Record<string, string>>> {
  const windows = windowsOf(operation, principal.workspace.plan, live)
  if (windows.length === 0) return {}
  const owner = `user:${principal.member.id}`
  const decided = await store.transaction(async (tx) => {
    const found: Counted[] = []
    for (const window of windows)
      found.push(currentWindow(window, await tx.lockCounter(owner, window.name), now))
    if (found.some(isFull)) return { refused: true, windows: found.filter(isFull) }
    const counted = found.map((window) => ({ ...window, count: window.count + 1 }))
    for (const { name, startedAt, count } of counted) await tx.setCounter(owner, name, { startedAt, count })
    return { refused: false, windows: counted }
  }, owner)
  const headers = rateHeaders(decided.windows, now)
  if (decided.refused)
    throw new ApiError('rate_limited', {}, { ...headers, 'retry-after': headers['ratelimit-reset'] ?? '1' })
  return headers
}

const isFull = (window: Counted) => window.count >= window.limit

/** Headers of the window with the least remaining; on equal remaining, of the one that resets last. */
function rateHeaders(windows: readonly Counted[], now: number): Record<string, string> {
  const remaining = (window: Counted) => Math.max(0, window.limit - window.count)
  const [tightest] = [...windows].sort((a, b) => remaining(a) - remaining(b) || b.resetAt - a.resetAt)
  if (!tightest) return {}
  return {
    'ratelimit-limit': String(tightest.limit),
    'ratelimit-remaining': String(remaining(tightest)),
    'ratelimit-reset': String(Math.max(1, Math.ceil((tightest.resetAt - now) / 1_000))),
  }
}
