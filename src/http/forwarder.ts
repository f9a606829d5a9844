import type { Forward, Outbox, Passed, ReceivedDelivery } from '../api/webhooks/events.js'
import { AutoResetEvent } from '../engine/jobs/pool.js'

/** Pauses between the attempts in milliseconds. There is one attempt more than pauses. */
export const forwardPausesMs = [1_000, 10_000, 60_000, 300_000] as const

/** Maximum number of concurrent attempts. The first attempts of one search run in order. */
const width = 4
/** Longer than an attempt can take, so that only the work of a dead process is taken over. */
const leaseMs = 30_000
/** How long to wait before checking again, because other processes add deliveries, too. */
const restMs = 1_000

interface ForwarderOptions {
  readonly outbox: Outbox
  /** Sends a delivery once. Rejects when that could not be tried, which says nothing about the receiver. */
  readonly pass: (delivery: Forward['delivery'], signal: AbortSignal) => Promise<Passed>
  readonly clock: { now(): number }
  readonly pausesMs?: readonly number[]
  /** Called after each attempt, with whether it was the last. */
  readonly passed?: (forward: Forward, passed: Passed, isLast: boolean) => void
  /** Called when the outbox cannot be used, or a delivery not be tried; the forwarder continues. */
  readonly report?: (error: unknown) => void
}

export type Forwarder = ReturnType<typeof startForwarder>

/** Forwards the deliveries in an outbox until the signal aborts; unfinished ones are released. */
export function startForwarder(options: ForwarderOptions, signal: AbortSignal) {
  const event = new AutoResetEvent()
  const wake = () => event.set()
  signal.addEventListener('abort', wake, { once: true })
  const run = async (): Promise<void> => {
    const underWay = new Set<Promise<void>>()
    while (!signal.aborted) {
      for (const forward of await due(options, width - underWay.size)) {
        const work = attempt(options, forward, signal).finally(() => {
          underWay.delete(work)
          wake()
        })
        underWay.add(work)
      }
      await event.wait(restMs)
    }
    await Promise.all(underWay)
  }
  return {
    /** Makes the forwarder check the outbox now. */
    wake,
    ended: run(),
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
  try {
    const passed = await pass(forward.delivery, signal)
    if (signal.aborted && !passed.ok) return await outbox.release(forward)
    const pause = passed.ok || passed.isFinal ? undefined : pausesMs[forward.attempts]
    const retryAt = pause === undefined ? undefined : clock.now() + pause
    await outbox.settle(forward, passed, clock.now(), retryAt)
    options.passed?.(forward, passed, retryAt === undefined)
  } catch (error) {
    // The lease expires, and the delivery is tried again.
    options.report?.(error)
  }
}

const timeoutMs = 15_000

/** Sends a copy of a delivery, with its body and headers, to an address once. A redirect is a failure. */
export async function passOn(
  target: string,
  { headers, body }: Pick<ReceivedDelivery, 'headers' | 'body'>,
  signal?: AbortSignal,
): Promise<Passed> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    await response.body?.cancel()
    return { ok: response.ok, answer: String(response.status) }
  } catch (error) {
    return { ok: false, answer: timeout.aborted ? 'no answer within 15 s' : reasonOf(error) }
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed',
  ENOTFOUND: 'unknown host',
  UND_ERR_SOCKET: 'connection closed',
}

/** Returns why there was no answer: the cause of what `fetch` throws, in our words when it is known. */
function reasonOf(error: unknown): string {
  const { code, message } = (error as { cause?: { code?: unknown; message?: unknown } } | null)?.cause ?? {}
  if (typeof code === 'string') return reasons[code] ?? code
  return typeof message === 'string' && message !== '' ? message : 'not sent'
}
