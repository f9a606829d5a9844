import { type AnswerLoss, ConnectionLost } from '../api/calls/caller.js'
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

const charged = new WeakMap<Response, number>()

export const creditsOf = (response: Response): number => charged.get(response) ?? 0

/** Responses that their clients must not get. */
const losses = new WeakMap<Response, AnswerLoss>()

/** Returns what a server has to do instead of sending a response; `undefined` for nearly every one. */
export const lossOf = (response: Response): AnswerLoss | undefined => losses.get(response)

/** Keeps what a server has to do instead of sending a response. */
export function withLoss(response: Response, loss: AnswerLoss | undefined): Response {
  if (loss) losses.set(response, loss)
  return response
}

/** Keeps the credits that a response charged. */
export function withCredits(response: Response, credits: number): Response {
  if (credits > 0) charged.set(response, credits)
  return response
}

/**
 * Creates a response with a JSON body; `text` is its serialised form, or its bytes. The safe headers win over `headers`.
 */
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
