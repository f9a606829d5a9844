import type { Layer } from '../api/calls/compose.js'
import { ApiError, toRefusal } from '../api/calls/errors.js'
import { type OperationId, operation } from '../api/operations/table.js'
import { ownWebhook } from '../api/webhooks/own-webhook.js'

/** Receives deliveries for others. */
export interface Home {
  /** Returns why nothing may be sent to an address; `undefined` when it is permitted. */
  check(url: string): Promise<string | undefined>
  /** Returns our address that stands for another one. It is the same for the same idempotency key. */
  addressFor(url: string, operation: OperationId, idempotencyKey: string | undefined): string
}

/** Replaces every webhook address by one of ours, so that the server's deliveries come here first. */
export const retargeted =
  (home: Home): Layer =>
  (remote) => ({
    ...remote,
    call: async (id, input, options = {}) => {
      const row = operation(id)
      const { webhook_url: url } = input
      // Nothing is delivered to the placeholder: whoever sends it polls.
      const isNone = typeof url !== 'string' || url === ownWebhook
      if (row.starts === undefined || isNone) return remote.call(id, input, options)
      const reason = await home.check(url)
      if (reason !== undefined)
        return toRefusal(new ApiError('bad_request', { reason: `webhook_url: ${reason}` }), row)
      const webhook_url = home.addressFor(url, id, options.idempotencyKey)
      return remote.call(id, { ...input, webhook_url }, options)
    },
  })
