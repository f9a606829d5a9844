/**
 * Stands for this machine when the API requires a `webhook_url` and there is none: results stay in the engine's
 * store, and nothing is ever sent there. The name is reserved (RFC 2606), so no server can have it.
 */
export const ownWebhook = 'https://prospect.invalid/own'
