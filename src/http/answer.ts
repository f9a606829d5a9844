import { ConnectionLost, type Reply } from '../api/calls/caller.js'
import { ApiError, errorBody } from '../api/calls/errors.js'
import type { Operation } from '../api/operations/table.js'
import { toJson } from '../api/values/json.js'

/** Headers of every response: JSON that is not cached, sniffed or framed. */
export const safeHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "frame-ancestors 'none'",
} as const

/** What the server of a response has to know of its reply, where that is not nothing. */
const replies = new WeakMap<Response, Pick<Reply, 'credits' | 'loss'>>()

export const creditsOf = (response: Response): number => replies.get(response)?.credits ?? 0

/** Returns what a server has to do instead of sending a response; `undefined` for nearly every one. */
export const lossOf = (response: Response): Reply['loss'] => replies.get(response)?.loss

export function respond({ status, body, headers, text, wire, credits, loss }: Reply): Response {
  const response = answer(status, body, headers, wire ?? text)
  if (credits > 0 || loss) replies.set(response, { credits, loss })
  return response
}

/** Creates a response with a JSON body; `text` is that as text or bytes. The safe headers win over `headers`. */
export function answer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  text?: string | Uint8Array<ArrayBuffer>,
): Response {
  const safe = withSafe(headers)
  return new Response(text ?? toJson(body), { status, headers: safe })
}

export function refuse(error: ApiError, operation?: Operation): Response {
  return answer(error.status, errorBody(error, operation), error.headers)
}

/** Converts a thrown value to an error. Only an `ApiError` and a lost connection are disclosed. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ConnectionLost) {
    const open = thrown.unknown ? '; whether the work was done is not known' : ''
    return new ApiError('bad_gateway', { reason: `nothing: ${thrown.message}${open}` })
  }
  return thrown instanceof ApiError ? thrown : new ApiError('internal')
}

// Replies of other servers pass through here. CORS headers and values that no header can hold are dropped.
const unwritable = /[^\t\x20-\x7e\x80-\xff]/

function withSafe(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || unwritable.test(value) || name.startsWith('access-control-')) continue
    kept[name] = value
  }
  return Object.assign(kept, safeHeaders)
}
