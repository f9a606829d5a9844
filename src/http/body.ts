import { Buffer, isUtf8 } from 'node:buffer'
import type { Input } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { isDeeperThan, parseExact } from '../api/values/json.js'

const json = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** Whether the declared length of a body exceeds `limit` bytes. */
export function declaresMore(headers: Headers, limit: number): boolean {
  return Number(headers.get('content-length') ?? 0) > limit
}

/** Reads the JSON object in a request's body of at most `limit` bytes; refuses with 415, 413 or 400. */
export async function readObject(request: Request, limit: number): Promise<Input> {
  if (!saysJson(request.headers)) throw new ApiError('unsupported_media_type')
  return parseObject(await readBody(request, limit))
}

/** Whether the content type is JSON in UTF-8. */
export const saysJson = (headers: Headers): boolean => json.test(headers.get('content-type') ?? '')

/** Reads a body of at most `limit` bytes; refuses with 413 or 400, and with 415 when it is compressed. */
export async function readBody(request: Request, limit: number): Promise<ArrayBuffer | Uint8Array> {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') throw new ApiError('unsupported_encoding')
  const bytes = await readBytes(request, limit)
  if (bytes.byteLength > limit) throw new ApiError('body_too_large', { limit })
  return bytes
}

/** The parser below enforces a declared length, so such a body is read at once. Others are counted. */
async function readBytes(request: Request, limit: number): Promise<ArrayBuffer | Uint8Array> {
  try {
    if (request.headers.has('content-length')) return await request.arrayBuffer()
    return await readCounted(request, limit)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('bad_request', { reason: 'The request body ended early' })
  }
}

async function readCounted(request: Request, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > limit) throw new ApiError('body_too_large', { limit })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

/** Maximum nesting of arrays and objects in a request body. */
export const deepest = 64

/** Parses bytes as a JSON object, or refuses with 400. The last value of a repeated key counts. */
export function parseObject(bytes: ArrayBuffer | Uint8Array): Input {
  const value = parseJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused('The request body must be a JSON object')
  }
  return checked(value as Record<string, unknown>)
}

/** Parses bytes as JSON, or refuses with 400: not UTF-8, nested too deep, or invalid. */
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

/** Refuses infinite numbers and `__proto__`, which JSON can spell. Returns the fields unchanged. */
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
