import { Buffer, isUtf8 } from 'node:buffer'
import type { Input } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { isDeeperThan, parseExact } from '../api/values/json.js'

/** Deepest nesting of arrays and objects in a request body. */
export const deepest = 64

/** Reads bytes as a JSON object, or refuses them with 400; a key given twice has its last value. */
export function parseObject(bytes: ArrayBuffer | Uint8Array): Input {
  const value = parseJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused('The request body must be a JSON object')
  }
  return checked(value as Record<string, unknown>)
}

/** Reads bytes as JSON of any kind, or refuses them with 400: no UTF-8, nested too deep, not JSON. */
export function parseJson(bytes: ArrayBuffer | Uint8Array): unknown {
  const buffer =
    bytes instanceof Uint8Array
      ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : Buffer.from(bytes)
  if (!isUtf8(buffer)) throw refused('The request body is not valid UTF-8')
  const text = buffer.toString().replace(/^\ufeff/, '')
  if (isDeeperThan(text, deepest)) throw refused(`The request body is nested deeper than ${deepest} levels`)
  return parse(text)
}

/** Refuses what JSON can spell but no value can be: infinite numbers and `__proto__`; answers the fields unchanged. */
export function checked(fields: Record<string, unknown>): Input {
  check(fields)
  return fields
}

const refused = (reason: string) => new ApiError('bad_request', { reason })

function parse(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    throw new ApiError('malformed_json')
  }
}

function check(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw refused('The request body has a number that is too large')
  }
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw refused('A field must not be named __proto__')
    check((value as Record<string, unknown>)[key])
  }
}
