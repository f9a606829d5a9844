import type { Forward, Outbox, Passed } from './inbox.js'

/** Pauses between the attempts, in milliseconds: one attempt more than there are pauses. */
export const forwardPausesMs = [1_000, 10_000, 60_000, 300_000] as const

/** How many are under way at once; the first attempts of one search are so one after the other. */
const width = 4
/** Longer than an attempt can take, so that only what a dead process took is taken again. */
const leaseMs = 30_000
/** How long to wait for news before looking again, since other processes bring some too. */
const restMs = 1_000

/** What a forwarder works with. */
export interface ForwarderOptions {
  readonly outbox: Outbox
  /** Sends one on. */
  readonly pass: (delivery: Forward['delivery'], signal: AbortSignal) => Promise<Passed>
  readonly clock: { now(): number }
  /** Resolves after so long; rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly pausesMs?: readonly number[]
  /** Told of each attempt, and whether there will be another. */
  readonly passed?: (forward: Forward, passed: Passed, isLast: boolean) => void
  /** Told why the outbox could not be used; it goes on. */
  readonly report?: (error: unknown) => void
}

/** Sends on what waits in an outbox. */
export interface Forwarder {
  /** Says that there may be something to do. */
  wake(): void
  /** Works until the signal aborts; what is under way then is given back. */
  run(signal: AbortSignal): Promise<void>
}

/** Makes the forwarder of one outbox. */
export function forwarder(options: ForwarderOptions): Forwarder {
  const wakeUp = createWakeUp(options.sleep)
  return {
    wake: wakeUp.set,
    run: async (signal) => {
      const underWay = new Set<Promise<void>>()
      while (!signal.aborted) {
        for (const forward of await due(options, width - underWay.size)) {
          const work = attempt(options, forward, signal).finally(() => {
            underWay.delete(work)
            wakeUp.set()
          })
          underWay.add(work)
        }
        await wakeUp.wait(restMs, signal)
      }
      await Promise.all(underWay)
    },
  }
}

async function due({ outbox, clock, report }: ForwarderOptions, room: number): Promise<readonly Forward[]> {
  if (room === 0) return []
  try {
    return await outbox.take(clock.now(), room, leaseMs)
  } catch (error) {
    report?.(error)
    return []
  }
}

async function attempt(options: ForwarderOptions, forward: Forward, signal: AbortSignal): Promise<void> {
  const { outbox, clock, pass, pausesMs = forwardPausesMs } = options
  const passed = await pass(forward.delivery, signal)
  try {
    if (signal.aborted && !passed.ok) return await outbox.release(forward, clock.now())
    const pause = passed.ok || passed.isFinal ? undefined : pausesMs[forward.attempts]
    const retryAt = pause === undefined ? undefined : clock.now() + pause
    await outbox.settle(forward, passed, clock.now(), retryAt)
    options.passed?.(forward, passed, retryAt === undefined)
  } catch (error) {
    // The lease runs out, and it is tried again.
    options.report?.(error)
  }
}

/** Lets one wait for a set; a set that nobody waits for is wait by the next who does. */
function createWakeUp(sleep: ForwarderOptions['sleep']) {
  let isSet = false
  let answer: (() => void) | undefined
  return {
    set: () => {
      isSet = true
      answer?.()
    },
    wait: async (ms: number, signal: AbortSignal): Promise<void> => {
      const stop = new AbortController()
      answer = () => stop.abort()
      if (isSet || signal.aborted) stop.abort()
      signal.addEventListener('abort', answer)
      await sleep(ms, stop.signal).catch(() => {})
      signal.removeEventListener('abort', answer)
      answer = undefined
      isSet = false
    },
  }
}
