import { createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../api/calls/errors.js'
import { refuse } from './answer.js'
import type { ReceivedDelivery } from './inbox.js'
import { type ReceiverOptions, receiver, receiverPath } from './receiver.js'

/** Deliveries to receive for others, and how to forward them. */
export interface RetargetingOptions extends Omit<ReceiverOptions, 'inbox' | 'token'> {
  /** Creates and verifies the addresses; it is the same at every start. */
  readonly secret: string
  /** Returns unguessable bytes for a request without an idempotency key. */
  readonly random: () => Uint8Array
  /** Stores a delivery to forward. The result, whether it was new, is durable. */
  readonly keep: (delivery: ReceivedDelivery, meant: WebhookTarget) => Promise<boolean>
}

/** What one of our addresses stands for. */
export interface WebhookTarget {
  /** The address its deliveries are forwarded to. */
  readonly target: string
  /** The operation whose result they are; addresses of older versions do not contain it. */
  readonly operation: string | undefined
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
    const [target = '', operation] = text.split(' ').reverse()
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
