import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

/** What arrived at a receiver. */
export interface Arrival {
  readonly id: string
  readonly body: string
  /** Whether the official library says that it was signed with the secret. */
  readonly verified: boolean
}

/** A receiver of webhooks on this machine, written with nothing but what a user has. */
export interface WebhookReceiver {
  readonly url: string
  readonly arrivals: Arrival[]
  close(): Promise<void>
}

/** Starts a receiver that checks what arrives with a secret, once there is one. */
export async function receiveWebhooks(secret: () => string | undefined): Promise<WebhookReceiver> {
  const arrivals: Arrival[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const headers = request.headers as Record<string, string>
      arrivals.push({ id: headers['webhook-id'] ?? '', body, verified: isVerified(secret(), body, headers) })
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    arrivals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
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
