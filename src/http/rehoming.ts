import { createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../api/errors.js'
import { refuse } from './answer.js'
import type { Delivery } from './inbox.js'
import { type ReceiverOptions, receiver, receiverPath } from './receiver.js'

/** Deliveries that are taken for others, and where they are passed on to. */
export interface RehomingOptions extends Omit<ReceiverOptions, 'inbox' | 'token' | 'received'> {
  /** Makes and proves the addresses; the same at every start. */
  readonly secret: string
  /** Unguessable bytes for a request without an idempotency key. */
  readonly random: () => Uint8Array
  /** Keeps a delivery, to be passed on to an address; whether it was new is durable. */
  readonly keep: (delivery: Delivery, target: string) => Promise<boolean>
  /** Told of a new delivery to an address, once it is kept. */
  readonly received: (target: string) => void
}

/** Takes deliveries for others. An address says itself whom it is for, and cannot be made up by anybody else. */
export interface Rehoming {
  /** The path that takes what is meant for an address; the same one for the same key. */
  pathFor(target: string, key: string | undefined): string
  /** Takes a delivery; nothing where the request is none. */
  take(request: Request): Promise<Response> | undefined
}

const sealBytes = 16

/** Makes what takes deliveries for others. */
export function rehoming(options: RehomingOptions): Rehoming {
  const { secret, random, keep, received, prefix = '', ...rest } = options
  const sealed = (...parts: readonly (string | Uint8Array)[]): Buffer => {
    const seal = createHmac('sha256', secret)
    for (const part of parts) seal.update(part)
    return seal.digest().subarray(0, sealBytes)
  }
  const targetIn = (token: string): string | undefined => {
    const [head = '', tail = ''] = token.split('.')
    const proof = Buffer.from(head, 'base64url')
    const target = Buffer.from(tail, 'base64url').toString()
    if (proof.length !== 2 * sealBytes) return undefined
    const expected = sealed('address ', proof.subarray(0, sealBytes), target)
    return timingSafeEqual(proof.subarray(sealBytes), expected) ? target : undefined
  }
  const start = receiverPath('')
  return {
    pathFor: (target, key) => {
      const nonce = key === undefined ? random().subarray(0, sealBytes) : sealed('key ', key)
      const proof = Buffer.concat([nonce, sealed('address ', nonce, target)]).toString('base64url')
      return receiverPath(`${proof}.${Buffer.from(target).toString('base64url')}`)
    },
    take: (request) => {
      const { pathname } = new URL(request.url)
      const path = pathname.startsWith(prefix + start) ? pathname.slice(prefix.length) : pathname
      if (!path.startsWith(start)) return undefined
      const token = path.slice(start.length)
      const target = targetIn(token)
      if (target === undefined) return Promise.resolve(refuse(new ApiError('not_found')))
      const inbox = { keep: (delivery: Delivery) => keep(delivery, target) }
      return receiver({ ...rest, prefix, inbox, token, received: () => received(target) })(request)
    },
  }
}
