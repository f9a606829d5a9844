import { ConnectionLost } from '../api/calls/caller.js'
import { ApiError, errorBody } from '../api/calls/errors.js'
import type { Operation } from '../api/operations/table.js'
import { toJson } from '../api/values/json.js'

/** Headers of every answer: it is JSON, and nothing may keep, guess about or frame it. */
export const safeHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "frame-ancestors 'none'",
} as const

/** An answer with a JSON body, written as `text` where that is given; the safe headers win over `headers`. */
export function answer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  text: string = toJson(body),
): Response {
  return new Response(text, { status, headers: withSafe(headers) })
}

/** An error as the answer of an operation, or of the server itself when there is none. */
export function refuse(error: ApiError, operation?: Operation): Response {
  return answer(error.status, errorBody(error, operation), error.headers)
}

/** The error behind whatever was thrown: only an `ApiError`, and a server that did not answer, tell the outside anything. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ConnectionLost) {
    const open = thrown.unknown ? '; whether the work was done is not known' : ''
    return new ApiError('bad_gateway', { reason: `nothing: ${thrown.message}${open}` })
  }
  return thrown instanceof ApiError ? thrown : new ApiError('internal')
}

// Replies of other servers pass through here: what browsers would read as a permission, or what cannot be
// written as a header at all, stays behind.
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
