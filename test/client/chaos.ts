import type { IncomingMessage, ServerResponse } from 'node:http'
import { answering, type Listener, received } from './listeners.js'

/** What the faulty proxy does to a request. */
export const faults = [
  ...(['reset before', 'reset after', 'truncate', 'stall', 'delay', 'garbage', 'list'] as const),
  ...(['asked twice', 'answered twice', '500', '502', '503', '504', 'none'] as const),
] as const
export type Fault = (typeof faults)[number]

/** A faulty proxy: it forwards requests and injects a fault into each. */
export interface Chaos extends Listener {
  /** Attempts by idempotency key, or by path where there is none. */
  readonly attempts: ReadonlyMap<string, number>
  /** Requests that were forwarded. */
  passed(): number
}

/** Opens a faulty proxy. `next` returns the fault of the next request; without `tellsHealth`, `/health` is a 404. */
export async function chaosTo(origin: string, next: () => Fault, tellsHealth = true): Promise<Chaos> {
  const attempts = new Map<string, number>()
  let passed = 0
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/health' && !tellsHealth) return void response.writeHead(404).end('{}')
    const name = String(request.headers['idempotency-key'] ?? request.url)
    attempts.set(name, (attempts.get(name) ?? 0) + 1)
    const { body } = await received(request)
    const fault = next()
    if (fault === 'reset before') return void request.socket.destroy()
    if (/^5/.test(fault)) return void response.writeHead(Number(fault)).end('<html>')
    passed++
    const { method = 'GET', url = '/', headers } = request
    // fetch sets the headers of the connection and the length itself; some versions refuse a second length.
    const { host: _, connection: __, 'content-length': ___, ...rest } = headers as Record<string, string>
    const ask = () => fetch(origin + url, { method, headers: rest, ...(method === 'POST' ? { body } : {}) })
    if (fault === 'asked twice') await (await ask()).text()
    const reply = await ask()
    const text = await reply.text()
    if (fault === 'reset after') return void request.socket.destroy()
    if (fault === 'stall') return
    if (fault === 'delay') await new Promise((resolve) => setTimeout(resolve, 50))
    if (fault === 'garbage') return void response.writeHead(reply.status).end('<html>{"domain":')
    if (fault === 'list') return void response.writeHead(reply.status).end('[]')
    const { 'content-length': length = '0', ...passing } = Object.fromEntries(reply.headers)
    if (fault === 'answered twice') return void request.socket.write(raw(reply, text).repeat(2))
    response.writeHead(reply.status, { ...passing, 'content-length': length })
    if (fault === 'truncate') response.write(text.slice(0, 5), () => response.destroy())
    else response.end(text)
  }
  // A client that gave up has closed the connection meanwhile.
  const listener = await answering((request, response) => void answer(request, response).catch(() => {}))
  return { ...listener, attempts, passed: () => passed }
}

/** A whole answer as it goes over a connection. */
const raw = ({ status }: Response, text: string): string =>
  `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
