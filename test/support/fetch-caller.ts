import type { Caller, CallOptions, Input } from '../../src/api/calls/caller.js'
import { hasBody } from '../../src/api/operations/facts.js'
import { type OperationId, operation } from '../../src/api/operations/table.js'

type Fetch = (request: Request) => Promise<Response>

/** A caller over HTTP as a plain client would write it: it knows the table's methods and paths and nothing else. */
export function fetchCaller(fetch: Fetch, baseUrl: string): Caller {
  return {
    call: async (id, input, options = {}) => {
      const response = await fetch(requestOf(id, input, options, baseUrl))
      return {
        status: response.status,
        body: await response.json(),
        headers: Object.fromEntries(response.headers),
        credits: Number.NaN,
      }
    },
    close: async () => {},
  }
}

function requestOf(id: OperationId, fields: Input, options: CallOptions, baseUrl: string): Request {
  const { method, path } = operation(id)
  const rest: Record<string, unknown> = { ...fields }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = encodeURIComponent(String(rest[name]))
    delete rest[name]
    return value
  })
  const headers = new Headers({ host: new URL(baseUrl).host })
  if (options.apiKey !== undefined) headers.set('x-api-key', options.apiKey)
  if (options.idempotencyKey !== undefined) headers.set('idempotency-key', options.idempotencyKey)
  if (hasBody({ method })) {
    headers.set('content-type', 'application/json')
    return new Request(baseUrl + filled, { method, headers, body: JSON.stringify(rest) })
  }
  const pairs = Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)])
  const query = new URLSearchParams(pairs)
  return new Request(`${baseUrl}${filled}${query.size > 0 ? `?${query}` : ''}`, { method, headers })
}
