import type { IncomingMessage, ServerResponse } from 'node:http'
import { answering, type Listener, received } from './listeners.js'

/** What a faulty way to a server does to a request. */
export const faults = ['reset before', 'reset after', 'truncate', 'stall', '502', '503', 'none'] as const
export type Fault = (typeof faults)[number]

/** A faulty way to a server: it passes requests on, and does to each what it is told. */
export interface Chaos extends Listener {
  /** Attempts by idempotency key, or by path where there is none. */
  readonly attempts: ReadonlyMap<string, number>
  /** Requests that were passed on. */
  passed(): number
}

/** Opens a faulty way to a server; `next` says what becomes of the next request. There may be nothing at `/health`. */
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
    if (fault === '502' || fault === '503') return void response.writeHead(Number(fault)).end('<html>')
    passed++
    const { method = 'GET', url = '/', headers } = request
    const { host: _, connection: __, ...rest } = headers as Record<string, string>
    const reply = await fetch(origin + url, { method, headers: rest, ...(method === 'POST' ? { body } : {}) })
    const text = await reply.text()
    if (fault === 'reset after') return void request.socket.destroy()
    if (fault === 'stall') return
    const { 'content-length': length = '0', ...passing } = Object.fromEntries(reply.headers)
    response.writeHead(reply.status, { ...passing, 'content-length': length })
    if (fault === 'truncate') response.write(text.slice(0, 5), () => response.destroy())
    else response.end(text)
  }
  // Whoever gave up has closed the connection meanwhile.
  const listener = await answering((request, response) => void answer(request, response).catch(() => {}))
  return { ...listener, attempts, passed: () => passed }
}
