import { shapeOf } from '../api/areas/shapes.js'
import type { Reply } from '../api/calls/caller.js'
import { ApiError, errorBody } from '../api/calls/errors.js'
import { renameIn, type WireNames } from '../api/calls/wire-names.js'
import { mostLevels } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { misfitOf } from '../api/validation/fits.js'
import { exceededLimit, parseExact } from '../api/values/json.js'
import type { WireAnswer } from './reading.js'

/**
 * Converts a server's answer, which may be anything, to a reply. A success that cannot be used becomes a 502. A refusal
 * that cannot be read keeps its status.
 */
export async function replyOf(operation: Operation, answer: WireAnswer, names?: WireNames): Promise<Reply> {
  const { status } = answer
  const headers = passedHeaders(answer.headers)
  if (status >= 300 && status < 400)
    return unusable(operation, `with a redirect (${status}), which is not followed`, headers)
  const read = bodyOf(answer)
  if (status >= 400) return refusal(status, read, headers, names)
  if ('problem' in read) {
    // Some servers answer a deletion without a body.
    const isSilent = operation.method === 'DELETE' && answer.body.length === 0 && answer.broken === undefined
    if (isSilent) return { status: operation.ok, body: {}, headers, credits: 0 }
    return unusable(operation, read.problem, headers)
  }
  const body = names ? renameIn(read.value, names) : read.value
  const misfit = misfitOf(operation, await shapeOf(operation.id), body)
  if (misfit !== undefined) return unusable(operation, `with ${misfit}`, headers)
  return { status, body, headers, credits: 0, ...(names ? {} : { text: read.text }) }
}

/** Returns the 502 of an answer that cannot be used. */
function unusable(operation: Operation, reason: string, headers: Reply['headers']): Reply {
  const body = errorBody(new ApiError('bad_gateway', { reason }), operation)
  const { 'retry-after': wait } = headers
  return { status: 502, body, headers: wait === undefined ? {} : { 'retry-after': wait }, credits: 0 }
}

type Read = { readonly value: unknown; readonly text: string } | { readonly problem: string }

function refusal(status: number, read: Read, headers: Reply['headers'], names?: WireNames): Reply {
  if (
    'problem' in read ||
    typeof read.value !== 'object' ||
    read.value === null ||
    Array.isArray(read.value)
  ) {
    const body = { error: `Upstream answered ${status} without saying why` }
    return { status, body, headers, credits: 0 }
  }
  const body = names ? renameIn(read.value, names) : read.value
  return { status, body, headers, credits: 0, ...(names ? {} : { text: read.text }) }
}

/** Maximum number of values in an answer, those inside of others included. */
const mostValues = 400_000

function bodyOf({ body, broken, headers }: WireAnswer): Read {
  if (broken !== undefined) return { problem: broken }
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding !== 'identity') return { problem: 'with a compressed body, which was not asked for' }
  const notJson = { problem: 'with something that is not JSON' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    const exceeded = exceededLimit(text, { depth: mostLevels, values: mostValues })
    if (exceeded === 'depth') return { problem: `with JSON nested deeper than ${mostLevels} levels` }
    if (exceeded === 'values') return { problem: `with more than ${mostValues.toLocaleString('en')} values` }
    return { value: parseExact(text), text }
  } catch {
    return notJson
  }
}

/** Headers of one connection or of the transferred body, and cookies, which are secrets. */
const dropped: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authentication-info', 'proxy-authorization'],
  ...[
    'proxy-connection',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'content-length',
    'content-encoding',
  ],
  ...['content-type', 'set-cookie', 'set-cookie2', 'alt-svc', 'strict-transport-security', 'date'],
])

/** Returns the headers to pass on, with lower-case names. */
function passedHeaders(headers: WireAnswer['headers']): Record<string, string> {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !dropped.has(name) && !named.includes(name))
      passed[name] = Array.isArray(value) ? value.join(', ') : value
  return passed
}
