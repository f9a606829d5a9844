import type { Dispatcher } from 'undici'
import { retryAfterMs } from '../api/calls/caller.js'
import { isLimited, isUnavailable } from '../api/calls/retry.js'
import { renameOut, type WireNames } from '../api/calls/wire-names.js'
import type { Clock, DeliveryAttempt, DeliveryResult, Sender } from '../api/ports/ports.js'
import { parseExact, toJson } from '../api/values/json.js'
import { type Fields, isObject } from '../api/values/objects.js'
import type { DeliveryShape } from '../api/webhooks/events.js'
import { isSecret, sign } from '../api/webhooks/signature.js'
import { sentenceOf } from './reading.js'
import { createPools, createResolver, type PoolSettings, type Pools } from './resolver.js'
import { type Destination, destinationOf, hostOf, type Resolve } from './ssrf-guard.js'

/** Options of a sender; each has a default. */
export interface SenderOptions extends PoolSettings {
  readonly resolve: Resolve
  /** Real time, for a `Retry-After` that is a date. */
  readonly clock: Clock
  /** The receivers' words for `network` and `premium`. */
  readonly names: WireNames | undefined
  /** How bodies carry their records; nested by default. */
  readonly shape: DeliveryShape | undefined
  /** Version of the program, for `user-agent`. */
  readonly version: string | undefined
  /** Timeout of an attempt, from the name lookup to the end of the answer, without the wait for a connection. */
  readonly totalMs: number
  /** Timeout of the name lookup when a URL is checked. */
  readonly checkMs: number
  /** Timeout of the answer's body. */
  readonly bodyMs: number
  readonly bodyBytes: number
}

const usual: Omit<SenderOptions, 'resolve'> = {
  clock: { now: Date.now },
  names: undefined,
  shape: undefined,
  version: undefined,
  totalMs: 15_000,
  checkMs: 5_000,
  bodyMs: 1_000,
  bodyBytes: 64 * 1_024,
  connections: 16,
  maxConnections: 128,
  // Less than the lease of a delivery with the time of the attempt.
  connectionMs: 5_000,
  // Well below the 5 s of common servers, so that a request does not meet a closing connection.
  keepAliveMs: 2_000,
  ca: undefined,
  chooseAddresses: (addresses) => addresses,
}

/** Creates a sender over this machine's sockets. It follows no redirects and decompresses nothing. */
export function createSender(given: Partial<SenderOptions> = {}): Sender {
  const options = { resolve: createResolver(), ...usual, ...given }
  const pools = createPools(options)
  const running = new Set<AbortController>()
  let closed = false
  return {
    async send(attempt) {
      const began = performance.now()
      const ending = new AbortController()
      if (closed) ending.abort('closed')
      running.add(ending)
      const sending = exchange(shapeBody(attempt, options), options, pools, ending)
      const outcome = await sending.catch((error: unknown): SendOutcome => {
        return { status: null, error: whyFailed(error, attempt.url, options, ending.signal) }
      })
      running.delete(ending)
      return { ...outcome, ms: Math.round(performance.now() - began) }
    },
    async check(url, targets, workspaceId) {
      const looking = (signal: AbortSignal) =>
        unlessAborted(destinationOf(url, targets, options.resolve, { owner: workspaceId, signal }), signal)
      // A name that cannot be resolved now is checked again before something is sent to it.
      const found = await within(options.checkMs, looking).catch(() => ({}))
      return 'refused' in found ? found.refused : undefined
    },
    async close() {
      closed = true
      for (const ending of running) ending.abort('closed')
      await pools.destroy()
    },
  }
}

/** Returns an attempt with the body in the receiver's shape and words. */
function shapeBody(attempt: DeliveryAttempt, { names, shape }: SenderOptions): DeliveryAttempt {
  if (!names && shape !== 'flat') return attempt
  const body = parseExact(attempt.body) as Fields
  const shaped = shape === 'flat' ? flattenDelivery(body) : body
  return { ...attempt, body: toJson(names ? renameOut(shaped, names) : shaped) }
}

/** Returns a body in the flat shape. The id of a company becomes `account_id`, because `id` is that of the event. */
function flattenDelivery({ lead, account, leads, ...event }: Fields): Fields {
  if (isObject(lead)) return { ...lead, ...event }
  if (isObject(account)) return { ...account, account_id: account.id, ...event }
  if (!Array.isArray(leads)) return event
  return { ...event, leads: leads.map((one) => (isObject(one) ? flattenDelivery(one) : one)) }
}

/** Runs work with a timeout, which aborts it with the reason `late`. */
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
  attempt: DeliveryAttempt,
  options: SenderOptions,
  pools: Pools,
  ending: AbortController,
): Promise<SendOutcome> {
  if (attempt.secrets.length === 0 || !attempt.secrets.every(isSecret))
    return { status: null, error: 'There is no valid secret to sign with' }
  const { totalMs, resolve, bodyBytes, bodyMs, clock } = options
  const owner = attempt.workspaceId
  const began = performance.now()
  const looking = (signal: AbortSignal) =>
    unlessAborted(destinationOf(attempt.url, attempt, resolve, { owner, signal }), signal)
  const destination = await within(totalMs, looking, ending)
  if ('refused' in destination) return { status: null, error: destination.refused, refused: true }
  const leftMs = totalMs - (performance.now() - began)
  const outcome = await pools.use(destination, { owner, signal: ending.signal }, (pool) =>
    within(
      leftMs,
      async (signal) => {
        const answer = await pool.request(requestOf(attempt, destination, options, signal))
        await drain(answer, { bytes: bodyBytes, ms: bodyMs })
        return outcomeOf(answer, clock.now())
      },
      ending,
    ),
  )
  return (
    outcome ?? {
      status: null,
      error: `No connection to ${hostOf(destination.url)} was free`,
      postponed: true,
    }
  )
}

function requestOf(
  attempt: DeliveryAttempt,
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
    // The signal ends what takes too long.
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

/** Rejects when the signal aborts, for work that cannot be stopped. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    promise.then(resolve, reject)
  })
}

/** The result of an attempt, without its duration. */
type SendOutcome = Omit<DeliveryResult, 'ms'>

type DeliveryAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

const maxWaitMs = 86_400_000

/** Returns the meaning of an answer, which only depends on its status. `now` is real time. */
export function outcomeOf({ statusCode: status, headers }: DeliveryAnswer, now: number): SendOutcome {
  if (status >= 200 && status < 300) return { status, error: null }
  const redirected = status >= 300 && status < 400
  const error = `The receiver answered ${status}${redirected ? '; redirects are not followed' : ''}`
  const waitMs =
    isLimited({ status }) || isUnavailable({ status }) ? waitOf(headers['retry-after'], now) : undefined
  return waitMs === undefined ? { status, error } : { status, error, retryAfterMs: waitMs }
}

function waitOf(header: string | string[] | undefined, now: number): number | undefined {
  const waitMs = retryAfterMs(Array.isArray(header) ? header[0] : header, now)
  return waitMs === undefined ? undefined : Math.min(waitMs, maxWaitMs)
}

/**
 * Reads a short body to its end, so that the connection can be reused; otherwise closes the connection. The content is
 * ignored.
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
