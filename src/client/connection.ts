import type { Dispatcher } from 'undici'
import { Reading, type ReadingSettings, type WireAnswer } from './reading.js'
import type { WireRequest } from './request.js'

/** How to connect to a server, and the timeouts. */
export interface ConnectionSettings extends ReadingSettings {
  /** Certificate authorities (PEM) to trust instead of the usual ones. */
  readonly ca: string | undefined
  /** Timeout of connecting. */
  readonly connectMs: number
  /** Maximum number of connections. */
  readonly connections: number
}

/** A server, reached over connections that are reused. */
export interface Connection {
  /** Sends one request once; its path begins at the origin. Throws `Lost` when no status arrived. */
  exchange(
    request: WireRequest,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<WireAnswer>
  close(): Promise<void>
}

/** Opens a connection. The first request loads undici. It follows no redirects and decompresses nothing. */
export function createConnection(settings: ConnectionSettings): Connection {
  const { origin } = settings.base
  let opening: Promise<Dispatcher> | undefined
  return {
    exchange: async ({ method, path, body }, headers, signal) => {
      opening ??= open(settings)
      const request = { origin, method, path, headers: { ...headers }, body: body ?? null }
      return exchange(await opening, request, settings, signal)
    },
    close: async () => {
      await (await opening)?.destroy()
      opening = undefined
    },
  }
}

/** Well below the 5 s of common servers, so that a request does not meet a closing connection. */
const keepAliveMs = 2_000

async function open({ base, proxy, ca, connectMs, connections }: ConnectionSettings): Promise<Dispatcher> {
  const { Pool, ProxyAgent } = await import('undici')
  // Explicit, so that no environment variable can turn the certificate check off.
  const tls = { rejectUnauthorized: true, timeout: connectMs, ...(ca === undefined ? {} : { ca }) }
  const pool = {
    connections,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (proxy) return new ProxyAgent({ uri: proxy.href, requestTls: tls, proxyTls: tls, ...pool })
  return new Pool(base.origin, { ...pool, connect: { ...tls, autoSelectFamily: true } })
}

function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  settings: ConnectionSettings,
  signal: AbortSignal | undefined,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const reading = new Reading(settings, { resolve, reject })
    const giveUp = () => reading.end('aborted')
    if (signal?.aborted) return giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
    reading.ended = () => signal?.removeEventListener('abort', giveUp)
    dispatcher.dispatch(request, reading)
  })
}
