import type { Shape } from '../areas/shapes.js'
import type { Input } from '../calls/caller.js'
import { ownWebhook } from '../webhooks/own-webhook.js'
import { kindOf } from './coerce.js'

/** Returns the input with this machine as the webhook, where the API requires one and none was given. */
export function withOwnWebhook(shape: Shape, input: Input): Input {
  return wantsWebhook(shape) && input.webhook_url === undefined
    ? { ...input, webhook_url: ownWebhook }
    : input
}

/** Whether an operation requires a `webhook_url`. */
export function wantsWebhook({ input: { shape } }: Shape): boolean {
  const field = (shape as Shape['input']['shape']).webhook_url
  return field !== undefined && kindOf(field).required
}
