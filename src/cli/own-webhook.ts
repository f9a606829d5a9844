import type { Input } from '../api/caller.js'
import { kindOf } from '../api/coerce.js'
import { ownWebhook } from '../api/own-webhook.js'
import type { Shape } from '../api/shapes.js'

/** A request whose results this machine takes itself, where the API wants an address and none was given. */
export function withOwnWebhook({ input: { shape } }: Shape, input: Input): Input {
  const field = (shape as Shape['input']['shape']).webhook_url
  const isWanted = field !== undefined && kindOf(field).required && input.webhook_url === undefined
  return isWanted ? { ...input, webhook_url: ownWebhook } : input
}
