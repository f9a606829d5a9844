import { hintOf } from '../../../engine/request/keys.js'
import { creditsOf } from '../../../http/answer.js'
import type { Context, GlobalOptions } from '../../context/context.js'

type Handler = (request: Request) => Promise<Response>

/** Returns a handler that writes one line to stderr for each request: NDJSON with `--json`. */
export function logRequests(
  { streams, clock, ids, redact }: Pick<Context, 'streams' | 'clock' | 'ids' | 'redact'>,
  handler: Handler,
  { json, format }: GlobalOptions,
): Handler {
  const isJson = json === true || format === 'json'
  return async (request) => {
    const from = performance.now()
    const response = await handler(request)
    const entry = {
      time: new Date(clock.now()).toISOString(),
      method: request.method,
      path: pathOf(request.url),
      status: response.status,
      ms: Math.round(performance.now() - from),
      credits: creditsOf(response),
      key: keyOf(request.headers.get('x-api-key')),
      request_id: request.headers.get('x-request-id')?.slice(0, longestId) ?? ids.uuid(),
    }
    // A log that cannot be written must not end the server.
    streams.stderr.write(`${redact(isJson ? JSON.stringify(entry) : toLine(entry))}\n`, () => {})
    return response
  }
}

const longestId = 64
const longestPath = 500

/** Returns the path with the names of its query. The values could be personal data or secrets. */
function pathOf(url: string): string {
  const { pathname, searchParams } = new URL(url)
  const names = [...new Set(searchParams.keys())]
  return `${pathname}${names.length > 0 ? `?${names.join('&')}` : ''}`.slice(0, longestPath)
}

/** Returns the beginning of a key of the engine, as its list of keys shows it; of others nothing. */
const keyOf = (key: string | null): string | null =>
  key === null ? null : key.startsWith('pk_') ? hintOf(key) : '(other)'

function toLine(entry: Readonly<Record<string, string | number | null>>): string {
  const { time, method, path, status, ms, credits, key, request_id } = entry
  const charged = `${credits} ${credits === 1 ? 'credit' : 'credits'}`
  return [time, method, path, status, `${ms} ms`, charged, key ?? '-', request_id]
    .map((part) => String(part).replace(/[\r\n\t]/g, ' '))
    .join(' ')
}
