import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { AnswerLoss } from '../api/calls/caller.js'
import { ApiError, type ErrorCode, errorBody, type LocalCode, Refusal } from '../api/calls/errors.js'
import { lossOf, refuse, safeHeaders } from './answer.js'
import { readFrom } from './body.js'
import { guard, inUrl, isLoopback, isWildcard, servedHosts } from './guard.js'
import { basePath } from './handler.js'

/** How long things may take on every server but those of tests, in milliseconds. */
export const defaultTiming = {
  /** From connecting, or from the end of the last answer, to the end of the headers. */
  headersMs: 10_000,
  /** From connecting, or from its beginning, to the end of a request. */
  requestMs: 15_000,
  /** An idle connection between two requests. */
  keepAliveMs: 10_000,
  /** A response of which the client reads nothing. */
  unreadMs: 30_000,
  /** Between two looks at all connections. */
  checkMs: 4_000,
}
type Timing = Readonly<typeof defaultTiming>

export interface ListenOptions {
  readonly handler: (request: Request) => Promise<Response>
  /** Address or name to bind. */
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** Names beyond the loopback ones that `Host` may have, each perhaps with a port. */
  readonly allowHosts?: readonly string[]
  /** Whether a path is that of a page, to which pages of other origins may have links. */
  readonly isPage?: (path: string) => boolean
  /** Permits a host that other machines can reach. */
  readonly public?: boolean
  readonly maxConnections?: number
  /** Maximum number of connections of one address that have not sent a request. */
  readonly maxSilent?: number
  /** Whether an address is that of a proxy, whose connections are those of many clients: it has no such maximum. */
  readonly isProxy?: (address: string) => boolean
  readonly timing?: Timing
}

export interface Listening {
  readonly port: number
  /** Such as `http://127.0.0.1:4010`. */
  readonly origin: string
  /** The origin with the version segment, `/api/v2`. */
  readonly baseUrl: string
  /** Takes no new requests, finishes those in flight, and cuts what is left after `graceMs` (10 s). */
  close(graceMs?: number): Promise<void>
}

/** Serves a fetch-shaped handler on a socket, behind the guard and the limits on size and time. Throws a Refusal where it cannot. */
export async function listen(options: ListenOptions): Promise<Listening> {
  if (!options.public && !isLoopback(options.host)) throw notPublic(options.host)
  const timing = options.timing ?? defaultTiming
  const server = makeServer(timing, options.maxConnections ?? 1_000)
  const { address, port } = await bind(server, options)
  if (!options.public && !isLoopback(address)) {
    server.close()
    throw notPublic(options.host)
  }
  const unanswered = new Set<Socket>()
  attach(server, options, servedHosts(options.host, port, options.allowHosts ?? []), unanswered)
  limitSilent(server, options.maxSilent ?? 256, options.isProxy)
  const origin = `http://${originHost(options.host)}:${port}`
  let closed: Promise<void> | undefined
  const close = (graceMs = 10_000) => {
    closed ??= closeServer(server, graceMs)
    for (const socket of unanswered) socket.destroy()
    return closed
  }
  return { port, origin, baseUrl: origin + basePath, close }
}

const notPublic = (host: string): Refusal => new Refusal('listen.not_public', { host })

function originHost(host: string): string {
  if (!isWildcard(host)) return inUrl(host)
  return host === '::' ? '[::1]' : '127.0.0.1'
}

function makeServer(timing: Timing, maxConnections: number): Server {
  const server = createServer({
    maxHeaderSize: 16 * 1024,
    insecureHTTPParser: false,
    requireHostHeader: false, // the guard's business, and its answer
    headersTimeout: timing.headersMs,
    requestTimeout: timing.requestMs,
    keepAliveTimeout: timing.keepAliveMs,
    connectionsCheckingInterval: timing.checkMs,
  })
  server.maxHeadersCount = 0 // else node drops what is beyond its count, unseen by the guard
  server.maxConnections = maxConnections
  // Node's time limit of a connection on which nothing moves; a call may take longer before it has a response.
  server.setTimeout(timing.unreadMs)
  server.on('request', (_, response: ServerResponse) => {
    response.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) socket.resetAndDestroy()
    })
  })
  return server
}

const bindCodes: Readonly<Record<string, LocalCode>> = {
  EADDRINUSE: 'listen.port_used',
  EACCES: 'listen.port_denied',
  EADDRNOTAVAIL: 'listen.no_address',
  ENOTFOUND: 'listen.unknown_host',
}

async function bind(server: Server, { host, port }: ListenOptions): Promise<AddressInfo> {
  try {
    await once(server.listen(port, host), 'listening')
    return server.address() as AddressInfo
  } catch (error) {
    const cause = error as NodeJS.ErrnoException
    throw new Refusal(bindCodes[cause.code ?? ''] ?? 'listen.failed', { host, port, cause })
  }
}

function attach(
  server: Server,
  options: ListenOptions,
  served: ReadonlySet<string>,
  unanswered: Set<Socket>,
): void {
  const problemOf = guard(served, options.isPage)
  // This replaces the global Response by one that is written without a stream: twice as many requests.
  const respond = (request: Request, { incoming, outgoing }: Record<'incoming' | 'outgoing', object>) => {
    readFrom(request, incoming as IncomingMessage)
    return options.handler(request).then((response) => {
      const loss = lossOf(response)
      return loss ? loseResponse(response, loss, outgoing as ServerResponse, unanswered) : response
    })
  }
  const serve = getRequestListener(respond, { errorHandler })
  // What follows a refused request on its connection may be a part of it: it is never served.
  const refused = new WeakSet<Duplex>()
  const serveInTurn = createTurns()
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (refused.has(incoming.socket)) return
    if (!server.listening) outgoing.shouldKeepAlive = false
    const problem = problemOf(incoming)
    if (!problem) return serveInTurn(incoming.socket, outgoing, () => void serve(incoming, outgoing))
    refused.add(incoming.socket)
    const { body, headers } = lastAnswer(problem)
    outgoing.writeHead(problem.status, headers).end(body)
  })
  server.on('checkExpectation', (...request) => server.emit('request', ...request))
  server.on('checkContinue', (incoming, outgoing) => {
    if (!problemOf(incoming)) outgoing.writeContinue()
    server.emit('request', incoming, outgoing)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!refused.has(socket)) refuseConnection(socket, parserError(error.code))
    refused.add(socket)
  })
}

/** Takes a response away from its client; `unanswered` has the connections on which none comes until they end. */
async function loseResponse(
  response: Response,
  loss: AnswerLoss,
  outgoing: ServerResponse,
  unanswered: Set<Socket>,
): Promise<Response> {
  const { socket } = outgoing
  if (loss === 'dropped') socket?.resetAndDestroy()
  if (loss === 'timed_out' && socket && !socket.destroyed) {
    unanswered.add(socket)
    await once(socket, 'close')
    unanswered.delete(socket)
  }
  if (loss === 'dropped' || loss === 'timed_out') return response
  const { status, headers } = response
  const text = await response.text()
  // Without its punctuation, no object or array is JSON.
  if (loss === 'garbled') return new Response(text.replace(/[[\]{}":,]/g, '?'), { status, headers })
  outgoing.once('finish', () => socket?.destroySoon())
  const length = String(Buffer.byteLength(text))
  return new Response(text.slice(0, text.length / 2), {
    status,
    headers: { ...Object.fromEntries(headers), 'content-length': length },
  })
}

/** Returns what begins with a request once the one before on its connection is answered: node passes on all at once. */
function createTurns(): (socket: Socket, response: ServerResponse, begin: () => void) => void {
  const last = new WeakMap<Socket, ServerResponse>()
  return (socket, response, begin) => {
    const before = last.get(socket)
    last.set(socket, response)
    if (!before || before.closed) return begin()
    before.once('close', () => {
      if (!socket.destroyed) begin()
    })
  }
}

/** The adapter could not make a request of what came, or the handler failed where it must not. */
const errorHandler = (error: unknown) =>
  refuse(
    error instanceof RequestError
      ? new ApiError('bad_request', { reason: 'The request target is not valid' })
      : new ApiError('internal'),
  )

/** Connections that fall idle are closed as they do, since clients keep them open for a next request. */
function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), 20)
    const grace = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(grace)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** Closes the oldest connection of an address without a request when it opens one too many: a client could take all of them. */
function limitSilent(server: Server, most: number, isProxy = (_: string) => false): void {
  /** The addresses of connections without a request, the oldest first. */
  const silent = new Map<Socket, string>()
  // Before the server counts it: a closed one makes room.
  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (isProxy(address)) return
    silent.set(socket, address)
    socket.once('close', () => silent.delete(socket))
    const own = [...silent.keys()].filter((one) => silent.get(one) === address)
    for (const oldest of own.slice(0, Math.max(0, own.length - most))) oldest.destroy()
  })
  server.prependListener('request', ({ socket }) => silent.delete(socket))
}

const lingerMs = 500

/** Returns the body of a refusal that ends a connection, and its headers. */
function lastAnswer(error: ApiError) {
  const body = JSON.stringify(errorBody(error))
  return { body, headers: { ...safeHeaders, connection: 'close', 'content-length': Buffer.byteLength(body) } }
}

/** Ends a connection on which no request could be read; what still arrives is let go by for a moment. */
function refuseConnection(socket: Duplex, error: ApiError): void {
  if (socket.destroyed) return
  if (socket.writable) {
    const { body, headers } = lastAnswer(error)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const start = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n`
    socket.end(`${start}${lines.join('')}\r\n${body}`)
  }
  socket.resume()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

const parserErrors: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** The error that node's parser means by its code. */
function parserError(code = ''): ApiError {
  const known = parserErrors[code]
  return known
    ? new ApiError(known)
    : new ApiError('bad_request', { reason: 'The request is not valid HTTP' })
}
