import type { Reply } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import type { OperationId } from '../../../api/operations/table.js'
import type { Context } from '../../context/context.js'
import type { RemoteTarget } from '../../target/resolve-target.js'
import { deliveriesPort } from '../../wait/receiver.js'

/** `home`: it leads to the port for deliveries. `busy`: that port is in use. A number: the status of another server. */
export type PublicUrlAnswer = 'home' | 'busy' | number

/** A server. Requests to it are free and take a few seconds at most. */
export interface CheckedServer {
  /** Requests `/health` without a key. Throws an error with the reason when the server cannot be reached. */
  health(): Promise<ServerAnswer>
  /** Calls a free operation with the key. Throws when there is no key or no answer. */
  call(id: OperationId): Promise<Reply>
}

/** An HTTP response, with header names in lower case. */
export interface ServerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** Maximum time for one request to a server. */
const timeoutMs = 5_000

/** Opens a server for free requests. */
export function openServer(context: Context, target: RemoteTarget): CheckedServer {
  // Direct, so that the check leaves no trace in the state of this machine.
  const direct = context.withGlobals({ direct: true })
  return {
    health: () => fetchOnce(context, new URL(`${target.baseUrl.replace(/\/api\/v2\/?$/, '')}/health`)),
    call: async (id: OperationId): Promise<Reply> => {
      const apiKey = await direct.apiKey()
      const caller = await direct.caller()
      return await caller.call(id, {}, { apiKey, signal: AbortSignal.timeout(timeoutMs) })
    },
  }
}

/** Requests an address once, without a key. */
async function fetchOnce({ streams, clock, onClose }: Context, url: URL): Promise<ServerAnswer> {
  const { createConnection } = await import('../../../client/connection.js')
  const { proxyOf } = await import('../../../client/proxy.js')
  const connection = createConnection({
    base: url,
    proxy: proxyOf(url, streams.env),
    ca: undefined,
    connectMs: timeoutMs,
    answerMs: timeoutMs,
    bodyBytes: 65_536,
    connections: 1,
    now: () => clock.now(),
  })
  onClose(() => connection.close())
  const request = { method: 'GET', path: url.pathname } as const
  const answer = await connection.exchange(
    request,
    { accept: 'application/json' },
    AbortSignal.timeout(timeoutMs),
  )
  return { status: answer.status, headers: answer.headers, text: Buffer.concat(answer.body).toString('utf8') }
}

/** Listens on the port for deliveries, and requests the public address, which should lead there. */
export async function askPublicUrl(context: Context, url: string): Promise<PublicUrlAnswer> {
  const { listen } = await import('../../../http/listen.js')
  const { origin, host, pathname } = new URL(url)
  const path = `${pathname.replace(/\/+$/, '')}/${context.ids.uuid()}`
  let came = false
  const handler = async (request: Request) => {
    came ||= path.endsWith(new URL(request.url).pathname)
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  try {
    const place = { host: '127.0.0.1', port: deliveriesPort, allowHosts: [host] }
    const listening = await listen({ handler, ...place })
    try {
      const { status } = await fetchOnce(context, new URL(path, origin))
      return came ? 'home' : status
    } finally {
      await listening.close()
    }
  } catch (error) {
    if (error instanceof Refusal) return 'busy'
    throw error
  }
}
