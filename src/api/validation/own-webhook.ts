import type { Shape } from '../areas/shapes.js'
import type { Input } from '../calls/caller.js'
import type { OperationId } from '../operations/table.js'
import { kindOf } from './coerce.js'
import { unwrap } from './validate.js'

/** Returns the input with this machine as the webhook, where the API requires one and none was given. */
export function withOwnWebhook(id: OperationId, shape: Shape, input: Input): Input {
  const fields = unwrap(id, input)
  return wantsWebhook(shape) && fields.webhook_url === undefined
    ? { ...fields, webhook_url: ownWebhook }
    : fields
}

export function wantsWebhook({ input: { shape } }: Shape): boolean {
  const field = (shape as Shape['input']['shape']).webhook_url
  return field !== undefined && kindOf(field).required
}

/**
 * Stands for this machine when the API requires a `webhook_url` and there is none: results stay in the engine's
 * store, and nothing is ever sent there. The name is reserved (RFC 2606), so no server can have it.
 */
export const ownWebhook = 'https://prospect.invalid/own'
