import { type ConnectionLost, isOk, type Reply, retryDelayMs } from '../api/calls/caller.js'
import { isLimited, passes } from '../api/calls/retry.js'
import { dayMs } from '../api/values/dates.js'
import type { Time } from './flow-control.js'

/** The pauses between two polls in milliseconds, each longer than the last. Work on this machine is polled more often. */
const pause = { first: 250, factor: 1.5, maxMs: 15_000, maxHereMs: 1_000 } as const

/** How many polls in a row may fail, as they do while a server restarts. */
const maxFailures = 20

/** The weight of a reply that makes no sense: three of them in a row are too many. */
const unusableWeight = 7

export type Polled = Reply | ConnectionLost

const isReply = (polled: Polled): polled is Reply => 'status' in polled

/** Whether a later poll can succeed; work that is not known yet may be later. */
const mayPass = (polled: Polled): boolean => !isReply(polled) || polled.status === 404 || passes(polled)

/**
 * Polls accepted work until `read` returns something for a success; returns `undefined` where the signal comes first. Polling is
 * free, so it may begin again. A failure that does not pass is given to `fail`, which throws or aborts.
 */
export async function pollWork<T>(
  { now, sleep }: Time,
  signal: AbortSignal,
  isHere: boolean,
  ask: () => Promise<Polled>,
  read: (reply: Reply) => T | undefined,
  fail: (polled: Polled) => void,
): Promise<T | undefined> {
  const maxMs = isHere ? pause.maxHereMs : pause.maxMs
  let failures = 0
  for (let ms: number = pause.first; ; ms = Math.min(maxMs, ms * pause.factor)) {
    const polled = await ask()
    if (isReply(polled) && isOk(polled)) {
      failures = 0
      const end = read(polled)
      if (end !== undefined) return end
    } else {
      failures += isReply(polled) && polled.unusable !== undefined ? unusableWeight : 1
      if (!signal.aborted && (!mayPass(polled) || failures > maxFailures)) fail(polled)
    }
    if (signal.aborted) return undefined
    const asked = isReply(polled)
      ? Math.min(dayMs, retryDelayMs(polled.headers, isLimited(polled), now()) ?? 0)
      : 0
    await sleep(Math.max(ms, asked), signal).catch(() => {})
  }
}
