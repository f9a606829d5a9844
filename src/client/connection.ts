import { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
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
export type Connection = ReturnType<typeof createConnection>

/** Opens a connection. The first request loads undici. It follows no redirects and decompresses nothing. */
export function createConnection(settings: ConnectionSettings) {
  const { origin } = settings.base
  const allowance = new ConnectionAllowance()
  let opening: Promise<Dispatcher> | undefined
  return {
    /** Sends one request once; its path begins at the origin. Throws `Lost` when no status arrived. */
    exchange: async (
      { method, path, body }: WireRequest,
      headers: Readonly<Record<string, string>>,
      signal?: AbortSignal,
    ): Promise<WireAnswer> => {
      opening ??= open(settings, allowance)
      const request = { origin, method, path, ...contentOf(body, headers) }
      const dispatcher = await opening
      return allowance.during(() => exchange(dispatcher, request, settings, signal))
    },
    close: async (): Promise<void> => {
      await (await opening)?.destroy()
      opening = undefined
    },
  }
}

/** Pieces are sent one after the other: joining them would hold the event loop. */
function contentOf(body: WireRequest['body'], headers: Readonly<Record<string, string>>) {
  if (typeof body !== 'object') return { headers: { ...headers }, body: body ?? null }
  const size = body.reduce((sum, { length }) => sum + length, 0)
  return { headers: { ...headers, 'content-length': String(size) }, body: Readable.from(body) }
}

/**
 * Permits each request to open one connection. undici reconnects without end and without pause for a request that
 * could not be written, as when a proxy sends bytes into a tunnel before anything was asked.
 */
export class ConnectionAllowance {
  #running = 0
  #left = 0

  /** Runs a request, for which one more connection may be opened. */
  async during<T>(request: () => Promise<T>): Promise<T> {
    this.#running++
    this.#left++
    try {
      return await request()
    } finally {
      this.#running--
      this.#left = Math.min(this.#left, this.#running)
    }
  }

  /** Returns a connector that fails when no request may open a connection. */
  limit(connect: Connector): Connector {
    return (options, callback) => {
      if (this.#left === 0) {
        // Any code but those of undici, for which it would connect again.
        const error = new Error('The connection ended before the request was written')
        return callback(Object.assign(error, { code: 'ECONNRESET' }), null)
      }
      this.#left--
      connect(options, callback)
    }
  }
}

type Connector = buildConnector.connector

/** Well below the 5 s of common servers, so that a request does not meet a closing connection. */
const keepAliveMs = 2_000

async function open(settings: ConnectionSettings, allowance: ConnectionAllowance): Promise<Dispatcher> {
  const { base, proxy, ca, connectMs, connections } = settings
  const { buildConnector, Pool, ProxyAgent, Socks5ProxyAgent } = await import('undici')
  // Explicit, so that no environment variable can turn the certificate check off.
  const tls = { rejectUnauthorized: true, timeout: connectMs, ...(ca === undefined ? {} : { ca }) }
  const pool = {
    connections,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (!proxy) {
    const connect = allowance.limit(buildConnector({ ...tls, autoSelectFamily: true }))
    return new Pool(base.origin, { ...pool, connect })
  }
  if (proxy.protocol.startsWith('socks')) {
    const connect = allowance.limit(buildConnector({ timeout: connectMs }))
    const options = { ...pool, connect, connectTimeout: connectMs, requestTls: tls }
    const address = proxy.href.replace(/^socks\w*:/, 'socks5:')
    return withoutWarning('SOCKS5 proxy support', () => new Socks5ProxyAgent(address, options))
  }
  /** Pools of connections to the proxy; in tunnels the requests go over pools of their own. */
  const toProxy = (origin: string | URL, { connect }: Opened, headersTimeout = 0) =>
    new Pool(origin, { ...pool, headersTimeout, connect: allowance.limit(connect) })
  return new ProxyAgent({
    ...{ uri: proxy.href, requestTls: tls, proxyTls: tls, ...pool },
    // The answer to CONNECT is part of connecting.
    clientFactory: (origin, options) => toProxy(origin, options as Opened, connectMs),
    factory: (origin, options) =>
      base.protocol === 'https:' ? new Pool(origin, options) : toProxy(origin, options as Opened),
  })
}

/** Returns what is created, without the warning that begins so: stderr is for messages of this program. */
function withoutWarning<T>(beginning: string, create: () => T): T {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith(beginning)) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    return create()
  } finally {
    process.emitWarning = emitWarning
  }
}

/** What undici gives to those who make its pools. */
interface Opened {
  readonly connect: Connector
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
