import type { Layer } from '../api/calls/compose.js'
import { ApiError, errorBody } from '../api/calls/errors.js'
import { type OperationId, operation } from '../api/operations/table.js'

/** What takes the results of work for those who asked for it. */
export interface Home {
  /** Why nothing may be sent to an address; nothing where it is permitted. */
  check(url: string): Promise<string | undefined>
  /** The address of ours in place of one of theirs, the same for the same idempotency key. */
  addressFor(url: string, operation: OperationId, idempotencyKey: string | undefined): string
}

/** A server whose deliveries come to us first: it gets an address of ours for each one that it is given. */
export const retargeted =
  (home: Home): Layer =>
  (remote) => ({
    ...remote,
    call: async (id, input, options = {}) => {
      const row = operation(id)
      const { webhook_url: url } = input
      if (row.starts === undefined || typeof url !== 'string') return remote.call(id, input, options)
      const reason = await home.check(url)
      if (reason !== undefined) {
        const error = new ApiError('bad_request', { reason: `webhook_url: ${reason}` })
        return { status: error.status, body: errorBody(error, row), headers: {}, credits: 0 }
      }
      const webhook_url = home.addressFor(url, id, options.idempotencyKey)
      return remote.call(id, { ...input, webhook_url }, options)
    },
  })
