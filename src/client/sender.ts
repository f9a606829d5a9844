import { retryAfterMs } from '../api/calls/caller.js'
import { isLimited, isUnavailable } from '../api/calls/retry.js'
import { renameOut, type WireNames } from '../api/calls/wire-names.js'
import type { Clock, DeliveryAttempt, DeliveryResult, Sender } from '../api/ports/ports.js'
import { parseExact, toJson } from '../api/values/json.js'
import { type Fields, isObject } from '../api/values/objects.js'
import type { DeliveryShape } from '../api/webhooks/events.js'
import { isSecret, sign } from '../api/webhooks/signature.js'
import { createExchange, type ExchangeOptions } from './exchange.js'
import { Lost, type WireAnswer } from './reading.js'

/** Options of a sender; each has a default. */
export interface SenderOptions extends ExchangeOptions {
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
}

const usual: Omit<SenderOptions, keyof ExchangeOptions> & Partial<ExchangeOptions> = {
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
}

/** Creates a sender over this machine's sockets. It follows no redirects, and of an answer only the status and headers count. */
export function createSender(given: Partial<SenderOptions> = {}): Sender {
  const options = { ...usual, ...given }
  const others = createExchange(options)
  const running = new Set<AbortController>()
  let closed = false
  return {
    async send(attempt) {
      const began = performance.now()
      const ending = new AbortController()
      if (closed) ending.abort('closed')
      running.add(ending)
      const outcome = await post(shapeBody(attempt, options), options, others, ending)
      running.delete(ending)
      return { ...outcome, ms: Math.round(performance.now() - began) }
    },
    async check(url, targets, owner) {
      const signal = AbortSignal.timeout(options.checkMs)
      // A name that cannot be resolved now is checked again before something is sent to it.
      const found = await others.find(url, targets, { owner, signal }).catch(() => ({}))
      return 'refused' in found ? found.refused : undefined
    },
    async close() {
      closed = true
      for (const ending of running) ending.abort('closed')
      await others.close()
    },
  }
}

/** Returns an attempt with the body in the receiver's shape and words. */
function shapeBody(
  attempt: DeliveryAttempt,
  { names, shape }: Pick<SenderOptions, 'names' | 'shape'>,
): DeliveryAttempt {
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

async function post(
  attempt: DeliveryAttempt,
  { totalMs, clock, version }: Pick<SenderOptions, 'totalMs' | 'clock' | 'version'>,
  others: ReturnType<typeof createExchange>,
  ending: AbortController,
): Promise<SendOutcome> {
  const { url, id, timestamp, body, secrets, workspaceId: owner } = attempt
  if (secrets.length === 0 || !secrets.every(isSecret))
    return { status: null, error: 'There is no valid secret to sign with' }
  const headers = {
    'content-type': 'application/json',
    'user-agent': version === undefined ? 'prospect' : `prospect/${version}`,
    ...sign(id, timestamp, body, secrets),
  }
  const request = { method: 'POST', headers, body } as const
  try {
    const answer = await others.send(url, attempt, request, { owner, timeoutMs: totalMs, ending })
    return outcomeOf(answer, clock.now())
  } catch (error) {
    if (!(error instanceof Lost)) throw error
    if (ending.signal.reason === 'closed')
      return { status: null, error: 'Sending was stopped before an answer came' }
    const outcome = { status: null, error: error.message }
    if (error.code === 'refused') return { ...outcome, refused: true }
    return error.code === 'busy' ? { ...outcome, postponed: true } : outcome
  }
}

type SendOutcome = Omit<DeliveryResult, 'ms'>

const maxWaitMs = 86_400_000

/** Returns the meaning of an answer, which only depends on its status. `now` is real time. */
function outcomeOf({ status, headers }: Pick<WireAnswer, 'status' | 'headers'>, now: number): SendOutcome {
  if (status >= 200 && status < 300) return { status, error: null }
  const redirected = status >= 300 && status < 400
  const error = `The receiver answered ${status}${redirected ? '; redirects are not followed' : ''}`
  const [asked] = [headers['retry-after']].flat()
  const waitMs = isLimited({ status }) || isUnavailable({ status }) ? retryAfterMs(asked, now) : undefined
  if (waitMs === undefined) return { status, error }
  return { status, error, retryAfterMs: Math.min(waitMs, maxWaitMs) }
}
