import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../api/calls/errors.js'
import { join } from '../api/values/bytes.js'
import { verify } from '../api/webhooks/signature.js'
import { answer, asApiError, refuse } from './answer.js'
import { declaresMore, parseJson, readBody, saysJson } from './body.js'
import type { Delivery, Inbox } from './inbox.js'

/** Maximum size of a delivery in bytes. */
export const deliveryLimit = 8 * 1024 * 1024

/** What to receive, where, and from whom. */
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
  /** Called for each new delivery after it was stored. */
  readonly received?: (delivery: Delivery) => void
  /** Called when a delivery could not be stored. */
  readonly report?: (error: unknown) => void
}

/** Returns the path that takes deliveries. */
export const receiverPath = (token: string): string => `/hooks/${token}`

/** Creates the unguessable part of a path from 16 random bytes. */
export const newToken = (random: Uint8Array): string => Buffer.from(random).toString('base64url')

/**
 * Takes webhook deliveries, as a fetch-shaped function. It answers 200 only after the inbox stored one, so that the
 * sender tries again otherwise.
 */
export function receiver(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const isOwn = matcher([receiverPath(options.token), (options.prefix ?? '') + receiverPath(options.token)])
  return async (request) => {
    if (!isOwn(new URL(request.url).pathname)) return refuse(new ApiError('not_found'))
    if (request.method !== 'POST') return refuse(new ApiError('method_not_allowed', {}, { allow: 'POST' }))
    try {
      return await take(request, options)
    } catch (thrown) {
      const error = asApiError(thrown)
      if (error.status >= 500) options.report?.(thrown)
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

/** Maximum number of values in a delivery. */
const deliveryValues = 400_000

async function take(request: Request, options: ReceiverOptions): Promise<Response> {
  const { headers } = request
  const limit = deliveryLimit
  if (declaresMore(headers, limit)) throw new ApiError('body_too_large', { limit })
  const bytes = join(await readBody(request, limit))
  const now = options.clock.now()
  const problem = signatureProblem(headers, bytes, options.secrets, now)
  if (problem) return answer(401, { error: problem })
  const delivery: Delivery = {
    id: deliveryId(headers, bytes),
    path: options.token,
    receivedAt: now,
    ...named(bodyOf(headers, bytes)),
    verified: options.secrets.length > 0 || (await isKnown(headers, bytes, options, now)),
    headers: keptHeaders(headers),
    body: Buffer.from(bytes).toString(),
  }
  const isNew = await options.inbox.keep(delivery)
  if (isNew) options.received?.(delivery)
  return answer(200, { received: true, duplicate: !isNew })
}

/** Returns what is wrong with a signature; `undefined` when it is valid or none is needed. */
function signatureProblem(
  headers: Headers,
  bytes: Uint8Array,
  secrets: readonly string[],
  now: number,
): string | undefined {
  if (secrets.length === 0) return undefined
  const verification = verify(headers, bytes, secrets, now)
  return verification.valid ? undefined : verification.reason
}

/** Whether an optional signature is valid. */
async function isKnown(
  headers: Headers,
  bytes: Uint8Array,
  { known }: ReceiverOptions,
  now: number,
): Promise<boolean> {
  if (!known || !headers.has('webhook-signature')) return false
  return verify(headers, bytes, await known(), now).valid
}

/**
 * Senders mislabel their bodies, so any JSON is accepted. Other bodies that are not labelled as JSON have the wrong
 * type.
 */
function bodyOf(headers: Headers, bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes, { values: deliveryValues })
  } catch (error) {
    throw saysJson(headers) ? error : new ApiError('unsupported_media_type')
  }
}

/** The headers to store, so that the receiver of a copy can verify the signature. */
const kept = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature']

/** The event and search of a delivery, read from its body. */
export type Named = Pick<Delivery, 'event' | 'search'>

/** Returns the sender's id of a delivery, or one that equal bodies share. */
export const deliveryId = (headers: Headers, bytes: Uint8Array): string =>
  headers.get('webhook-id')?.trim() || `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** Returns the headers to store. */
export const keptHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    kept.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

/** Names a body by its event, or by its form without one. A list of records is a completion. */
export function named(body: unknown): Named {
  if (typeof body !== 'object' || body === null)
    throw new ApiError('bad_request', { reason: 'The body must be a JSON object or a list' })
  if (Array.isArray(body)) return { event: 'completed', search: null }
  const { event, id } = body as Readonly<Record<string, unknown>>
  return { event: isName(event) ? event : formOf(body), search: searchOf(id) }
}

const results = ['leads', 'accounts', 'list']

const formOf = (body: object): string =>
  results.some((name) => Object.hasOwn(body, name)) ? 'completed' : 'record'

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= 200

const searchOf = (id: unknown): string | null =>
  isName(id) ? id : typeof id === 'number' ? String(id) : null
