import { createHash } from 'node:crypto'
import { ApiError } from '../api/calls/errors.js'
import type { Delivery } from './inbox.js'

/** Headers that are kept with a delivery: whoever gets a copy can check it as if it came from the sender. */
const kept = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature']

/** What a delivery is named after, read from its body. */
export type Named = Pick<Delivery, 'event' | 'search'>

/** The id of a delivery: the sender's, else one that equal bodies share. */
export const deliveryId = (headers: Headers, bytes: Uint8Array): string =>
  headers.get('webhook-id')?.trim() || `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** The headers worth keeping. */
export const keptHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    kept.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

/** Names a body: by what it says of itself, else by its form. A list of records is a completion. */
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
