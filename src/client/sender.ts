import { lookup } from 'node:dns/promises'
import type { Dispatcher } from 'undici'
import { retryAfterMs } from '../api/calls/caller.js'
import { isSecret, sign } from '../api/webhooks/signature.js'
import type { Attempt, AttemptResult, Clock, Sender } from '../engine/ports/ports.js'
import { sentenceOf } from './failure.js'
import { createPools, type PoolSettings, type Pools } from './pools.js'
import { type Destination, destinationOf, type Resolve } from './ssrf-guard.js'

/** What a sender works with; each has a usual value. */
export interface SenderOptions extends PoolSettings {
  readonly resolve: Resolve
  /** Real time, for a `Retry-After` that is a date. */
  readonly clock: Clock
  /** Of the program, for `user-agent`. */
  readonly version: string | undefined
  /** Most time for an attempt, from looking up the name to the end of the answer. */
  readonly totalMs: number
  /** Most time for looking up a name when a url is checked. */
  readonly checkMs: number
  /** Most time for the body of an answer. */
  readonly bodyMs: number
  /** Most bytes of a body that are read. */
  readonly bodyBytes: number
}

const usual: SenderOptions = {
  resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  clock: { now: Date.now },
  version: undefined,
  totalMs: 15_000,
  checkMs: 5_000,
  bodyMs: 1_000,
  bodyBytes: 64 * 1_024,
  connections: 16,
  // Well below the 5 s of common servers: a request must not meet a connection that is being closed.
  keepAliveMs: 2_000,
  ca: undefined,
  chooseAddresses: (addresses) => addresses,
}

/** A sender over this machine's sockets. It follows no redirect and decompresses nothing. */
export function createSender(given: Partial<SenderOptions> = {}): Sender {
  const options = { ...usual, ...given }
  const pools = createPools(options)
  const running = new Set<AbortController>()
  let closed = false
  return {
    async send(attempt) {
      const began = performance.now()
      const ending = new AbortController()
      if (closed) ending.abort('closed')
      running.add(ending)
      const outcome = await attempted(attempt, options, pools, ending)
      running.delete(ending)
      return { ...outcome, ms: Math.round(performance.now() - began) }
    },
    async check(url, targets) {
      const looking = destinationOf(url, targets, options.resolve)
      // A name that cannot be looked up now may be when something is sent to it, and is checked again then.
      const found = await within(options.checkMs, (signal) => unlessAborted(looking, signal)).catch(
        () => ({}),
      )
      return 'refused' in found ? found.refused : undefined
    },
    async close() {
      closed = true
      for (const ending of running) ending.abort('closed')
      await pools.destroy()
    },
  }
}

async function attempted(
  attempt: Attempt,
  options: SenderOptions,
  pools: Pools,
  ending: AbortController,
): Promise<Outcome> {
  try {
    return await within(options.totalMs, (signal) => exchange(attempt, options, pools, signal), ending)
  } catch (error) {
    return { status: null, error: whyFailed(error, attempt.url, options, ending.signal) }
  }
}

/** Does work that has so much time; what is left of it then is aborted, as `late`. */
async function within<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  ending = new AbortController(),
): Promise<T> {
  const timer = setTimeout(() => ending.abort('late'), ms)
  try {
    return await work(ending.signal)
  } finally {
    clearTimeout(timer)
  }
}

async function exchange(
  attempt: Attempt,
  options: SenderOptions,
  pools: Pools,
  signal: AbortSignal,
): Promise<Outcome> {
  if (attempt.secrets.length === 0 || !attempt.secrets.every(isSecret))
    return { status: null, error: 'There is no valid secret to sign with' }
  const destination = await unlessAborted(destinationOf(attempt.url, attempt, options.resolve), signal)
  if ('refused' in destination) return { status: null, error: destination.refused, refused: true }
  return pools.use(destination, async (pool) => {
    const answer = await pool.request(requestOf(attempt, destination, options, signal))
    await drain(answer, { bytes: options.bodyBytes, ms: options.bodyMs })
    return outcomeOf(answer, options.clock.now())
  })
}

function requestOf(
  attempt: Attempt,
  { url }: Destination,
  { version }: SenderOptions,
  signal: AbortSignal,
): Dispatcher.RequestOptions {
  return {
    method: 'POST',
    path: url.pathname + url.search,
    headers: {
      'content-type': 'application/json',
      'user-agent': version === undefined ? 'prospect' : `prospect/${version}`,
      ...sign(attempt.id, attempt.timestamp, attempt.body, attempt.secrets),
    },
    body: attempt.body,
    // The signal ends whatever takes too long.
    signal,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
}

function whyFailed(error: unknown, url: string, { totalMs }: SenderOptions, ending: AbortSignal): string {
  if (ending.reason === 'closed') return 'Sending was stopped before an answer came'
  const { host } = new URL(url)
  return ending.aborted ? `${host} did not answer within ${totalMs / 1_000} s` : sentenceOf(error, host)
}

/** A promise, or a rejection once the signal says so, for work that cannot be stopped. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    promise.then(resolve, reject)
  })
}

/** What came of an attempt, but for the time it took. */
export type Outcome = Omit<AttemptResult, 'ms'>

type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

const longestWaitMs = 86_400_000

/** What an answer means: its status alone decides. `now` is real time. */
export function outcomeOf({ statusCode: status, headers }: Answer, now: number): Outcome {
  if (status >= 200 && status < 300) return { status, error: null }
  const redirected = status >= 300 && status < 400
  const error = `The receiver answered ${status}${redirected ? '; redirects are not followed' : ''}`
  const waitMs = status === 429 || status === 503 ? waitOf(headers['retry-after'], now) : undefined
  return waitMs === undefined ? { status, error } : { status, error, retryAfterMs: waitMs }
}

function waitOf(header: string | string[] | undefined, now: number): number | undefined {
  const waitMs = retryAfterMs(Array.isArray(header) ? header[0] : header, now)
  return waitMs === undefined ? undefined : Math.min(waitMs, longestWaitMs)
}

/**
 * Reads a body to its end where that is near, so that the connection can be used again, and otherwise closes the
 * connection. What the body says is of no interest.
 */
export async function drain(
  { body }: Dispatcher.ResponseData,
  limits: { readonly bytes: number; readonly ms: number },
): Promise<void> {
  const late = setTimeout(() => body.destroy(), limits.ms)
  try {
    await body.dump({ limit: limits.bytes })
  } finally {
    clearTimeout(late)
  }
}
