import type { Socket } from 'node:net'
import type { buildConnector, Client, Dispatcher } from 'undici'
import type { Input } from '../api/calls/caller.js'
import { ApiError, Refusal } from '../api/calls/errors.js'
import { renameOut, type WireNames } from '../api/calls/wire-names.js'
import { engineFilterIn, hasBody, queryOf, splitPath } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { toJson } from '../api/values/json.js'
import { isOwnMachine, parseUrl } from '../api/values/url.js'
import { Reading, type ReadingSettings, type WireAnswer } from './reading.js'
import { hostOf } from './ssrf-guard.js'

/** How to connect to a server, and the timeouts. */
interface ConnectionSettings extends ReadingSettings {
  /** Certificate authorities (PEM) to trust instead of the usual ones. */
  readonly ca: string | undefined
  readonly connectMs: number
  readonly connections: number
  /** Returns the time in milliseconds. */
  readonly now: () => number
}

/** A server, reached over connections that are reused. */
export type Connection = ReturnType<typeof createConnection>

/** Opens a connection. The first request loads undici. It follows no redirects. */
export function createConnection(settings: ConnectionSettings) {
  const { origin } = settings.base
  const allowance = new ConnectionAllowance()
  let opening: Promise<Dispatcher> | undefined
  return {
    /**
     * Sends one request once; its path begins at the origin. Throws `Lost` when no status arrived. `onWire` is called
     * with the connection that the request is written to.
     */
    exchange: async (
      { method, path, body, isAlone = false }: WireRequest,
      headers: Readonly<Record<string, string>>,
      signal?: AbortSignal,
      onWire?: (wire: Wire) => void,
    ): Promise<WireAnswer> => {
      opening ??= open(settings, allowance)
      const request = { origin, method, path, headers: { ...headers }, body: body ?? null, reset: isAlone }
      const dispatcher = await opening
      return allowance.during(() => exchange(dispatcher, request, settings, signal, onWire))
    },
    close: async (): Promise<void> => {
      await (await opening)?.destroy()
      opening = undefined
    },
  }
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

/** How long before a surplus answer the others of its connection are suspect. */
const suspectMs = 1_000

const maxSuspect = 4_096

/** One connection, and whether each of its answers came to a request (decision 16). */
export class Wire {
  #answers: { readonly at: number; readonly onSuspect: () => void }[] = []
  #prunedAt = 0
  #hasSurplus = false

  /** This connection alone, as a list, so that no request has to make one. */
  readonly alone: readonly Wire[] = [this]

  constructor(private readonly socket: Socket) {}

  /** Whether bytes came that no request had asked for. Then it may have confused its last answers. */
  get hasSurplus(): boolean {
    // Set when the connection breaks; the event comes later.
    return this.#hasSurplus || isSurplus(this.socket.errored)
  }

  /** Notes that an answer is passed on at a time, in milliseconds. `onSuspect` is called when it is suspect after that. */
  pass(at: number, onSuspect: () => void): void {
    if (this.#prunedAt <= at - suspectMs) {
      this.#answers = this.#answers.filter((passed) => passed.at > at - suspectMs)
      this.#prunedAt = at
    }
    if (this.#answers.length < maxSuspect) this.#answers.push({ at, onSuspect })
  }

  /** Ends the connection, also for a request that is out on it: its answers are not those of its requests. */
  abandon(): void {
    this.socket.destroy(Object.assign(new Error('An answer of another request'), { code: 'STRAY_ANSWER' }))
  }

  /** The connection has ended; with surplus bytes, what it answered in the second before `at` is suspect. */
  end(error: Error, at: number): void {
    this.#hasSurplus = isSurplus(error)
    const answers = this.#answers.splice(0)
    if (this.#hasSurplus)
      for (const { at: passedAt, onSuspect } of answers) if (passedAt > at - suspectMs) onSuspect()
  }
}

/** undici ends a connection on which bytes come while no request is out. */
const isSurplus = (error: Error | null): boolean =>
  error?.message === 'bad response' && (error as { readonly code?: unknown }).code === 'UND_ERR_SOCKET'

/** Returns what makes the clients of a pool, each of which is one connection at a time. */
export const watchedClients =
  (Client: typeof import('undici').Client, now: () => number) =>
  (origin: URL, options: object): Client => {
    const { connect } = options as Opened
    let wire: Wire | undefined
    let expectAnswer = () => {}
    const client = new Client(origin, {
      ...options,
      pipelining: 1,
      connect: (opening: buildConnector.Options, callback: buildConnector.Callback) =>
        connect(opening, (...opened) => {
          if (opened[1]) {
            wire = new Wire(opened[1])
            expectAnswer = skipInterim(opened[1])
          }
          callback(...opened)
        }),
    })
    client.on('disconnect', (_, __, error) => wire?.end(error, now()))
    const dispatch = client.dispatch.bind(client)
    const wireOf = () => wire
    client.dispatch = (request, handler) => {
      ;(handler as Reading).wireOf = wireOf
      expectAnswer()
      return dispatch(request, handler)
    }
    return client
  }

/** Longest interim answer that is left out, in bytes; the parser refuses longer heads itself. */
const maxInterim = 16_384

/**
 * Leaves out interim answers such as `100 Continue`, with which undici closes a connection and so loses the answer behind
 * them. They may come in any number and in any portions. Returns what to call when the next request begins: only what comes
 * before its answer is looked at, never a part of a body.
 */
function skipInterim(socket: Socket): () => void {
  const read: (size?: number) => Buffer | null = socket.read.bind(socket)
  let isExpected = true
  let held = Buffer.alloc(0)
  socket.read = (size) => {
    for (;;) {
      const chunk = read(size)
      if (!isExpected || chunk === null) return chunk
      held = withoutInterim(Buffer.concat([held, chunk]))
      if (held.length < maxInterim && beginsInterim(held)) continue
      isExpected = false
      const rest = held
      held = Buffer.alloc(0)
      return rest
    }
  }
  return () => {
    isExpected = true
  }
}

/** All of 1xx but 101, which is no interim answer. */
const interim = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/

function withoutInterim(bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  for (let rest = bytes; ; ) {
    const end = interim.test(rest.toString('latin1', 0, 13)) ? rest.indexOf('\r\n\r\n') : -1
    if (end < 0) return rest
    rest = rest.subarray(end + 4)
  }
}

/** Whether bytes are the beginning of an interim answer, or may be. */
function beginsInterim(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, 13)
  return interim.test(start + 'HTTP/1.1 100 '.slice(start.length))
}

/** Well below the 5 s of common servers, so that a request does not meet a closing connection. */
const keepAliveMs = 2_000

async function open(settings: ConnectionSettings, allowance: ConnectionAllowance): Promise<Dispatcher> {
  const { base, proxy, ca, connectMs, connections } = settings
  const { buildConnector, Client, Pool, ProxyAgent, Socks5ProxyAgent } = await import('undici')
  const factory = watchedClients(Client, settings.now)
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
    return new Pool(base.origin, { ...pool, connect, factory })
  }
  if (proxy.protocol.startsWith('socks')) {
    const connect = allowance.limit(buildConnector({ timeout: connectMs }))
    const options = { connect, connectTimeout: connectMs }
    const address = proxy.href.replace(/^socks\w*:/, 'socks5:')
    const agent = withoutWarning('SOCKS5 proxy support', () => new Socks5ProxyAgent(address, options))
    const tunnel = tunnelThrough(agent as unknown as SocksAgent, buildConnector(tls))
    return new Pool(base.origin, { ...pool, connect: tunnel, factory })
  }
  /** Pools of connections to the proxy; in tunnels the requests go over pools of their own. */
  const toProxy = (origin: string | URL, { connect }: Opened, headersTimeout = 0) =>
    new Pool(origin, { ...pool, headersTimeout, connect: allowance.limit(connect), factory })
  return new ProxyAgent({
    uri: proxy.href,
    requestTls: tls,
    proxyTls: tls,
    ...pool,
    // The answer to CONNECT is part of connecting.
    clientFactory: (origin, options) => toProxy(origin, options as Opened, connectMs),
    factory: (origin, options) =>
      base.protocol === 'https:'
        ? new Pool(origin, { ...options, factory })
        : toProxy(origin, options as Opened),
  })
}

/** What makes a connection in undici's agent, which its types do not have. */
interface SocksAgent {
  createSocks5Connection(host: string, port: number): Promise<Socket>
}

/** Connects through a SOCKS proxy. The pools that the agent makes itself cannot be watched. */
const tunnelThrough =
  (agent: SocksAgent, encrypt: Connector): Connector =>
  (options, callback) => {
    const isEncrypted = options.protocol === 'https:'
    const port = Number(options.port) || (isEncrypted ? 443 : 80)
    agent.createSocks5Connection(options.hostname, port).then(
      (httpSocket) =>
        isEncrypted ? encrypt({ ...options, httpSocket }, callback) : callback(null, httpSocket),
      (error: Error) => callback(error, null),
    )
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

/** Sends one request once. Throws `Lost` when no status arrived. */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  settings: ReadingSettings,
  signal?: AbortSignal,
  onWire?: (wire: Wire) => void,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const reading: Reading = new Reading(settings, { resolve, reject })
    reading.started = () => {
      const wire = reading.wireOf?.()
      if (wire) onWire?.(wire as Wire)
    }
    const giveUp = () => reading.end(settings.isDeadline ? 'late' : 'aborted')
    if (signal?.aborted) return giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
    reading.ended = () => signal?.removeEventListener('abort', giveUp)
    dispatcher.dispatch(request, reading)
  })
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the proxy for a URL: HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY lists the host. Lower-case names come first.
 * This machine is never reached through a proxy.
 */
export function proxyOf(url: URL, env: Environment): URL | undefined {
  if (isOwnMachine(url) || isExcepted(url, variable(env, 'no_proxy'))) return undefined
  const text = variable(env, url.protocol === 'https:' ? 'https_proxy' : 'http_proxy')
  if (text === '') return undefined
  const proxy = addressOf(text)
  if (proxy && /^(?:https?|socks5h?|socks):$/.test(proxy.protocol) && proxy.hostname !== '') return proxy
  // Its value may hold a password and is not repeated.
  throw new Refusal('proxy.not_address', { name: url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY' })
}

/** Parses the address in an environment variable, which may lack a scheme; `undefined` when it is none. */
export const addressOf = (text: string): URL | undefined =>
  parseUrl(text.includes('://') ? text : `http://${text}`)

const variable = (env: Environment, name: string): string =>
  (env[name] || env[name.toUpperCase()] || '').trim()

/** An entry matches the host and everything below it, with or without a leading dot and a port; `*` matches all. */
function isExcepted(url: URL, list: string): boolean {
  const host = hostOf(url).toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const entries = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
  return entries.some((entry) => {
    const { name, wanted } = partsOf(entry)
    return entry === '*' || (isBelow(host, name) && (wanted === undefined || wanted === port))
  })
}

function partsOf(entry: string): { readonly name: string; readonly wanted: string | undefined } {
  const [, name = entry, wanted] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? []
  return { name: name.replace(/^\*?\.|^\[|\]$/g, ''), wanted }
}

const isBelow = (host: string, name: string): boolean =>
  name !== '' && (host === name || host.endsWith(`.${name}`))

export interface WireRequest {
  readonly method: Operation['method']
  /** Relative to the base address, with its query. */
  readonly path: string
  /** JSON; absent without a body. */
  readonly body?: string
  /** Ends its connection with its answer, so that no later request gets an answer that belongs to this one. */
  readonly isAlone?: boolean
}

/**
 * Builds a request in the server's names. Throws `ApiError`: 404 for an id that no path can hold, 422 for a filter that
 * the server would ignore, and find others.
 */
export function wireRequest(operation: Operation, input: Input, names?: WireNames): WireRequest {
  const { method } = operation
  const unknown = engineFilterIn(input)
  if (unknown !== undefined)
    throw new ApiError('invalid', { reason: `${unknown} works only with the engine, not at a server` })
  const { path, rest } = splitPath(operation, input, segment)
  const fields = (names ? renameOut(rest, names) : rest) as Input
  if (hasBody(operation)) return { method, path, body: toJson(fields) }
  return { method, path: path + queryOf(fields) }
}

/** Encodes a value as one path segment. A value that would change the path is an unknown id. */
function segment(value: unknown): string {
  const text = String(value)
  if (text === '' || text === '.' || text === '..') throw new ApiError('not_found')
  return encodeURIComponent(text)
}
