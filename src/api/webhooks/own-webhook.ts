/**
 * Stands for the asker's own machine where the API requires a `webhook_url` and nobody has one: the results stay in
 * the engine's store, and nothing is ever sent there. The name is reserved (RFC 2606), so no server can have it.
 */
export const ownWebhook = 'https://prospect.invalid/own'
