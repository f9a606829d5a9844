import type { Dispatcher } from 'undici'
import { Reading, type ReadingSettings, type WireAnswer } from './reading.js'
import type { WireRequest } from './request.js'

/** How a connection to a server is made, and how long things may take. */
export interface ConnectionSettings extends ReadingSettings {
  /** Certificates (PEM) of authorities to trust in place of the usual ones. */
  readonly ca: string | undefined
  /** Most time to connect. */
  readonly connectMs: number
  /** Most connections at a time. */
  readonly connections: number
}

/** One server, reached over connections that are kept open between requests. */
export interface Connection {
  /** Sends one request, whose path begins at the origin, once. Throws `Lost` where no status came back. */
  exchange(
    request: WireRequest,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<WireAnswer>
  close(): Promise<void>
}

/** Opens a connection; undici is loaded with the first request. It follows no redirect and decompresses nothing. */
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

/** Idle connections are closed well before the 5 s of common servers: a request must not meet a closing one. */
const keepAliveMs = 2_000

async function open({ base, proxy, ca, connectMs, connections }: ConnectionSettings): Promise<Dispatcher> {
  const { Pool, ProxyAgent } = await import('undici')
  // Said here, no variable of the environment can turn the check of certificates off.
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
