import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import {
  type AddressInfo,
  connect,
  createServer as createRawServer,
  type Server,
  type Socket,
} from 'node:net'
import { onTestFinished } from 'vitest'
import type { Certified } from './certificate.js'

/** A listener on this machine that counts what reaches it. */
export interface Listener {
  readonly port: number
  readonly origin: string
  readonly baseUrl: string
  /** Connections so far. */
  readonly connections: () => number
  readonly close: () => Promise<void>
}

/** A request as it arrived. */
export interface Received {
  readonly request: IncomingMessage
  readonly body: string
}

/** Answers requests; with a certificate, over TLS. A client may leave within its body. */
export function answering(
  answer: (...exchange: Parameters<RequestListener>) => unknown,
  { host, port, tls }: { host?: string; port?: number; tls?: Certified } = {},
): Promise<Listener> {
  const answered: RequestListener = async (request, response) => {
    try {
      await answer(request, response)
    } catch (error) {
      if (request.complete) throw error
    }
  }
  return listening(tls ? createTlsServer(tls, answered) : createServer(answered), host, port)
}

/** Passes each connection to a function, and discards what is sent on it. */
export const accepting = (
  accept: (socket: Socket) => void = () => {},
  host?: string,
  port?: number,
): Promise<Listener> =>
  listening(
    createRawServer((socket) => {
      socket.resume()
      accept(socket)
    }),
    host,
    port,
  )

/** A SOCKS proxy without a password, which connects to a port of this machine wherever it is asked to. */
export const socksProxy = (port: number) =>
  accepting((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]))
      socket.once('data', () => {
        const there = connect(port, '127.0.0.1', () => {
          socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
          there.pipe(socket).pipe(there)
        })
        there.on('error', () => socket.destroy())
        socket.on('close', () => there.destroy())
      })
    })
  })

/** Closes a resource when the current test has finished, after those opened later. Returns it. */
export function closeAfterTest<T extends { close(): Promise<void> }>(one: T): T {
  onTestFinished(() => one.close())
  return one
}

/** Answers requests until the current test has finished. */
export const answers = async (...given: Parameters<typeof answering>) =>
  closeAfterTest(await answering(...given))

/** Passes each connection to a function until the current test has finished. */
export const accepts = async (...given: Parameters<typeof accepting>) =>
  closeAfterTest(await accepting(...given))

/** Returns a port that was just free. */
export async function freePort(): Promise<number> {
  const { port, close } = await accepting()
  await close()
  return port
}

/** Reads the whole body of a request. */
export async function received(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return { request, body: Buffer.concat(chunks).toString() }
}

/** Starts a server on a free port unless one is given. */
export async function listening(server: Server, host = '127.0.0.1', port = 0): Promise<Listener> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    // A socket that is cut off while answering would otherwise throw.
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: own } = server.address() as AddressInfo
  return {
    port: own,
    origin: `http://127.0.0.1:${own}`,
    baseUrl: `http://127.0.0.1:${own}/api/v2`,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
