import { createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../api/calls/errors.js'
import { refuse } from './answer.js'
import type { Delivery } from './inbox.js'
import { type ReceiverOptions, receiver, receiverPath } from './receiver.js'

/** Deliveries that are taken for others, and where they are passed on to. */
export interface RetargetingOptions extends Omit<ReceiverOptions, 'inbox' | 'token' | 'received'> {
  /** Makes and proves the addresses; the same at every start. */
  readonly secret: string
  /** Unguessable bytes for a request without an idempotency key. */
  readonly random: () => Uint8Array
  /** Keeps a delivery, to be passed on to an address; whether it was new is durable. */
  readonly keep: (delivery: Delivery, meant: WebhookTarget) => Promise<boolean>
  /** Told of a new delivery to an address, once it is kept. */
  readonly received: (target: string) => void
}

/** What an address of ours stands for. */
export interface WebhookTarget {
  /** Whom its deliveries are for. */
  readonly target: string
  /** The operation whose result they are; addresses of older programs do not say. */
  readonly operation: string | undefined
}

/** Takes deliveries for others. An address says itself whom it is for, and cannot be made up by anybody else. */
export interface DeliveryRetargeting {
  /** The path that takes the result of an operation for an address; the same one for the same key. */
  pathFor(target: string, operation: string, key: string | undefined): string
  /** Takes a delivery; nothing where the request is none. */
  take(request: Request): Promise<Response> | undefined
}

const sealBytes = 16

/** Makes what takes deliveries for others. */
export function retargetDeliveries(options: RetargetingOptions): DeliveryRetargeting {
  const { secret, random, keep, received, prefix = '', ...rest } = options
  const sealed = (...parts: readonly (string | Uint8Array)[]): Buffer => {
    const seal = createHmac('sha256', secret)
    for (const part of parts) seal.update(part)
    return seal.digest().subarray(0, sealBytes)
  }
  const decodeToken = (token: string): WebhookTarget | undefined => {
    const [head = '', tail = ''] = token.split('.')
    const proof = Buffer.from(head, 'base64url')
    const text = Buffer.from(tail, 'base64url').toString()
    // What reads the same and is written otherwise is another address, and no address of ours.
    const isOurs = proof.toString('base64url') === head && Buffer.from(text).toString('base64url') === tail
    if (!isOurs || proof.length !== 2 * sealBytes) return undefined
    const expected = sealed('address ', proof.subarray(0, sealBytes), text)
    if (!timingSafeEqual(proof.subarray(sealBytes), expected)) return undefined
    // No address has a space in it.
    const [target = '', operation] = text.split(' ').reverse()
    return { target, operation }
  }
  const start = receiverPath('')
  return {
    pathFor: (target, operation, key) => {
      const text = `${operation} ${target}`
      const nonce = key === undefined ? random().subarray(0, sealBytes) : sealed('key ', key)
      const proof = Buffer.concat([nonce, sealed('address ', nonce, text)]).toString('base64url')
      return receiverPath(`${proof}.${Buffer.from(text).toString('base64url')}`)
    },
    take: (request) => {
      const { pathname } = new URL(request.url)
      const path = pathname.startsWith(prefix + start) ? pathname.slice(prefix.length) : pathname
      if (!path.startsWith(start)) return undefined
      const token = path.slice(start.length)
      const meant = decodeToken(token)
      if (meant === undefined) return Promise.resolve(refuse(new ApiError('not_found')))
      const inbox = { keep: (delivery: Delivery) => keep(delivery, meant) }
      return receiver({ ...rest, prefix, inbox, token, received: () => received(meant.target) })(request)
    },
  }
}
