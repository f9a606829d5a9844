import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../api/calls/errors.js'
import { fails } from '../api/calls/retry.js'
import { type Inbox, type ReceivedDelivery, receiverPath } from '../api/webhooks/events.js'
import { verify } from '../api/webhooks/signature.js'
import { answer, asApiError, refuse } from './answer.js'
import { declaresMore, parseJson, readBody, saysJson } from './body.js'

export const deliveryLimit = 8 * 1024 * 1024

export interface ReceiverOptions {
  readonly inbox: Inbox
  /** The unguessable part of the path, created by `newToken`. */
  readonly token: string
  /** A path before it that a proxy may not strip, such as `/prospect`. */
  readonly prefix?: string
  /** Signing secrets, any of which is accepted. Without one nothing is refused. */
  readonly secrets: readonly string[]
  /** Returns secrets that verify a delivery when nothing is refused. */
  readonly known?: () => Promise<readonly string[]>
  /** Real time. */
  readonly clock: { now(): number }
  /** Called when a delivery could not be stored. */
  readonly report?: (error: unknown) => void
}

/** Creates the unguessable part of a path from 16 random bytes. */
export const newToken = (random: Uint8Array): string => Buffer.from(random).toString('base64url')

/** Takes webhook deliveries, fetch-shaped. It answers 200 once the inbox has one: otherwise the sender tries again. */
export function receiver(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const isOwn = matcher([receiverPath(options.token), (options.prefix ?? '') + receiverPath(options.token)])
  return async (request) => {
    if (!isOwn(new URL(request.url).pathname)) return refuse(new ApiError('not_found'))
    if (request.method !== 'POST') return refuse(new ApiError('method_not_allowed', {}, { allow: 'POST' }))
    try {
      return await take(request, options)
    } catch (thrown) {
      const error = asApiError(thrown)
      if (fails(error)) options.report?.(thrown)
      return refuse(error)
    }
  }
}

/** Compares paths in constant time. */
function matcher(paths: readonly string[]): (path: string) => boolean {
  const digest = (path: string) => createHash('sha256').update(path).digest()
  const known = [...new Set(paths)].map(digest)
  return (path) => {
    const asked = digest(path)
    return known.filter((each) => timingSafeEqual(each, asked)).length > 0
  }
}

const deliveryValues = 400_000

async function take(request: Request, options: ReceiverOptions): Promise<Response> {
  const { headers } = request
  if (declaresMore(headers, deliveryLimit)) throw new ApiError('body_too_large', { limit: deliveryLimit })
  const bytes = await readBody(request, deliveryLimit)
  const { secrets, known, token: path } = options
  const receivedAt = options.clock.now()
  const task: DeliveryTask = {
    bytes,
    headers: keptHeaders(headers),
    saysJson: saysJson(headers),
    receivedAt,
    secrets,
    known: known && headers.has('webhook-signature') ? await known() : [],
  }
  const read = readDelivery(task)
  if ('problem' in read) return answer(401, { error: read.problem })
  const isNew = await options.inbox.keep({ ...read, path, receivedAt, headers: task.headers })
  return answer(200, undefined, {}, `{"received":true,"duplicate":${!isNew}}`)
}

export interface DeliveryTask extends Pick<ReceivedDelivery, 'headers' | 'receivedAt'> {
  readonly bytes: Uint8Array
  readonly saysJson: boolean
  /** Secrets of which one must have signed it, where there are any; and others that verify it. */
  readonly secrets: readonly string[]
  readonly known: readonly string[]
}

/** A delivery as it was read, or what is wrong with its signature or body. */
type ReadDelivery =
  | Pick<ReceivedDelivery, 'id' | 'event' | 'search' | 'verified' | 'body'>
  | { readonly problem: string }

export function readDelivery(task: DeliveryTask): ReadDelivery {
  const { bytes, headers, secrets, known, receivedAt } = task
  const verification = secrets.length > 0 ? verify(headers, bytes, secrets, receivedAt) : undefined
  if (verification && !verification.valid) return { problem: verification.reason }
  let body: unknown
  try {
    body = parseJson(bytes, { values: deliveryValues })
  } catch (error) {
    // Senders mislabel their bodies, so any JSON is accepted. Of others the label counts.
    throw task.saysJson ? error : new ApiError('unsupported_media_type')
  }
  const event = named(body)
  const verified =
    verification !== undefined || (known.length > 0 && verify(headers, bytes, known, receivedAt).valid)
  // The sender's id, or one that equal bodies share.
  const id = headers['webhook-id']?.trim() || `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  return { id, ...event, verified, body: Buffer.from(bytes).toString() }
}

/** The headers to store, so that the receiver of a copy can verify the signature. */
const kept = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature']

const keptHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    kept.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

/** Names a body by its event, or by its form without one. A list of records is a completion. */
function named(body: unknown): Pick<ReceivedDelivery, 'event' | 'search'> {
  if (typeof body !== 'object' || body === null)
    throw new ApiError('bad_request', { reason: 'The body must be a JSON object or a list' })
  if (Array.isArray(body)) return { event: 'completed', search: null }
  const { event, id } = body as Readonly<Record<string, unknown>>
  const form = results.some((name) => Object.hasOwn(body, name)) ? 'completed' : 'record'
  const search = typeof id === 'number' ? String(id) : id
  return { event: isName(event) ? event : form, search: isName(search) ? search : null }
}

const results = ['leads', 'accounts', 'list']

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= 200

/** What became of what a data vendor sent, and what it is answered. */
const vendorAnswers = {
  kept: () => answer(200, { received: true, duplicate: false }),
  known: () => answer(200, { received: true, duplicate: true }),
  early: () => answer(200, { received: true, duplicate: false }),
  no_address: () => refuse(new ApiError('not_found')),
  foreign: () => refuse(new ApiError('not_found')),
  unsigned: () => answer(401, { error: 'The signature is missing, wrong or too old' }),
  no_secret: () => answer(503, { error: 'The secret of the signature is not known here yet' }),
  unreadable: () => refuse(new ApiError('bad_request', { reason: 'The body must be JSON' })),
}

interface VendorReceiving extends Pick<ReceiverOptions, 'prefix' | 'report'> {
  /** What the paths of vendors' deliveries begin with. */
  readonly path: string
  readonly take: (delivery: {
    readonly token: string
    readonly headers: Headers
    readonly bytes: Uint8Array
  }) => Promise<keyof typeof vendorAnswers>
}

/** Creates what receives the answers of data vendors; `undefined` where a request is none. */
export function vendorReceiver({ path, prefix = '', take: keep, report }: VendorReceiving) {
  return (request: Request): Promise<Response> | undefined => {
    const { pathname } = new URL(request.url)
    const found = pathname.startsWith(prefix + path) ? pathname.slice(prefix.length) : pathname
    if (!found.startsWith(path)) return undefined
    const receive = async () => {
      if (request.method !== 'POST') throw new ApiError('method_not_allowed', {}, { allow: 'POST' })
      const bytes = await readBody(request, deliveryLimit)
      return vendorAnswers[await keep({ token: found.slice(path.length), headers: request.headers, bytes })]()
    }
    return receive().catch((thrown: unknown) => {
      const error = asApiError(thrown)
      if (fails(error)) report?.(thrown)
      return refuse(error)
    })
  }
}

/** Deliveries to receive for others, and how to forward them. */
interface RetargetingOptions extends Omit<ReceiverOptions, 'inbox' | 'token'> {
  /** Creates and verifies the addresses; it is the same at every start. */
  readonly secret: string
  /** Returns unguessable bytes for a request without an idempotency key. */
  readonly random: () => Uint8Array
  /** Stores a delivery to forward. The result, whether it was new, is durable. */
  readonly keep: (delivery: ReceivedDelivery, meant: WebhookTarget) => Promise<boolean>
}

/** What one of our addresses stands for. */
interface WebhookTarget {
  /** The address its deliveries are forwarded to. */
  readonly target: string
  /** The operation whose result they are. */
  readonly operation: string
}

const sealBytes = 16

/** Creates what receives deliveries for others. An address contains its receiver and cannot be forged. */
export function retargetDeliveries(options: RetargetingOptions) {
  const { secret, random, keep, prefix = '', ...rest } = options
  const sealed = (...parts: readonly (string | Uint8Array)[]): Buffer => {
    const seal = createHmac('sha256', secret)
    for (const part of parts) seal.update(part)
    return seal.digest().subarray(0, sealBytes)
  }
  const decodeToken = (token: string): WebhookTarget | undefined => {
    const [head = '', tail = ''] = token.split('.')
    const proof = Buffer.from(head, 'base64url')
    const text = Buffer.from(tail, 'base64url').toString()
    // Another spelling that decodes to the same bytes is not one of our addresses.
    const isOurs = proof.toString('base64url') === head && Buffer.from(text).toString('base64url') === tail
    if (!isOurs || proof.length !== 2 * sealBytes) return undefined
    const expected = sealed('address ', proof.subarray(0, sealBytes), text)
    if (!timingSafeEqual(proof.subarray(sealBytes), expected)) return undefined
    // No address contains a space.
    const [operation = '', target = ''] = text.split(' ')
    return { target, operation }
  }
  const start = receiverPath('')
  return {
    /** Returns the path for the results of an operation; it is the same for the same key. */
    pathFor: (target: string, operation: string, key: string | undefined): string => {
      const text = `${operation} ${target}`
      const nonce = key === undefined ? random().subarray(0, sealBytes) : sealed('key ', key)
      const proof = Buffer.concat([nonce, sealed('address ', nonce, text)]).toString('base64url')
      return receiverPath(`${proof}.${Buffer.from(text).toString('base64url')}`)
    },
    /** Takes a delivery; `undefined` when the request is none. */
    take: (request: Request): Promise<Response> | undefined => {
      const { pathname } = new URL(request.url)
      const path = pathname.startsWith(prefix + start) ? pathname.slice(prefix.length) : pathname
      if (!path.startsWith(start)) return undefined
      const token = path.slice(start.length)
      const meant = decodeToken(token)
      if (meant === undefined) return Promise.resolve(refuse(new ApiError('not_found')))
      const inbox = { keep: (delivery: ReceivedDelivery) => keep(delivery, meant) }
      return receiver({ ...rest, prefix, inbox, token })(request)
    },
  }
}
