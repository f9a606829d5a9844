import type { ClockContext } from '../context/context.js'
import type { Seen, Watch } from './progress.js'

/** How long nothing arrives before the server is asked: it may not be able to reach this machine. */
const quietMs = 30_000

/** How work was left, and who knows its records. */
export interface Ended {
  readonly seen: Seen
  readonly watch: Watch
}

/** Follows work by what arrives, and where that can be done and is not enough, by asking too; one of them there is. */
export async function followed(
  context: ClockContext,
  received: Watch | undefined,
  polled: Watch | undefined,
  over: AbortSignal,
  onSeen: (seen: Seen) => void,
): Promise<Ended> {
  const by = async (watch: Watch, until: AbortSignal): Promise<Ended> => ({
    seen: await watch.follow(until, onSeen),
    watch,
  })
  if (!received) return by(polled as Watch, over)
  if (!polled) return by(received, over)
  const done = new AbortController()
  const end = () => done.abort()
  over.addEventListener('abort', end)
  if (over.aborted) end()
  const asking = context
    .sleep(quietMs, done.signal)
    .then(() => by(polled, done.signal))
    // Who asks has nothing to say before the end: what arrives still counts.
    .then(
      (ended) => (ended.seen.state === 'going' ? undefined : ended),
      () => undefined,
    )
  const arriving = by(received, done.signal)
  const first = await Promise.race([arriving, asking])
  const ended = first ?? (await arriving)
  done.abort()
  over.removeEventListener('abort', end)
  return ended
}
