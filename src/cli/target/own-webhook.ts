import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { kindOf } from '../../api/validation/coerce.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'

/** A request whose results this machine takes itself, where the API wants an address and none was given. */
export function withOwnWebhook(shape: Shape, input: Input): Input {
  return wantsWebhook(shape) && input.webhook_url === undefined
    ? { ...input, webhook_url: ownWebhook }
    : input
}

/** Whether the API takes no request of an operation without a `webhook_url`. */
export function wantsWebhook({ input: { shape } }: Shape): boolean {
  const field = (shape as Shape['input']['shape']).webhook_url
  return field !== undefined && kindOf(field).required
}
