import { Webhook } from 'standardwebhooks'
import { answering, received } from '../client/listeners.js'

/** What arrived at a receiver. */
export interface Arrival {
  readonly id: string
  readonly body: string
  /** Whether the official library says that it was signed with the secret. */
  readonly verified: boolean
}

/** A receiver of webhooks on this machine, written with nothing but what a user has. */
export type WebhookReceiver = Awaited<ReturnType<typeof receiveWebhooks>>

/** Starts a receiver that checks what arrives with a secret, once there is one. */
export async function receiveWebhooks(secret: () => string | undefined) {
  const arrivals: Arrival[] = []
  const { origin, close } = await answering(async (request, response) => {
    const { body } = await received(request)
    const headers = request.headers as Record<string, string>
    arrivals.push({ id: headers['webhook-id'] ?? '', body, verified: isVerified(secret(), body, headers) })
    response.writeHead(204).end()
  })
  return { url: `${origin}/hooks`, arrivals, close }
}

function isVerified(secret: string | undefined, body: string, headers: Record<string, string>): boolean {
  if (secret === undefined) return false
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}
