import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Input } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { type BodyLimits, bodyLimits, maxLevels } from '../api/operations/facts.js'
import { exceededLimit, hazardIn, isTooLarge, parseExact } from '../api/values/json.js'
import { nextTurn } from '../api/values/objects.js'

const json = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** Whether the declared length of a body exceeds `limit` bytes. */
export function declaresMore(headers: Headers, limit: number): boolean {
  return Number(headers.get('content-length') ?? 0) > limit
}

/** Whether the content type is JSON in UTF-8. */
export const saysJson = (headers: Headers): boolean => json.test(headers.get('content-type') ?? '')

/** Reads the body of a request as fields, or refuses it with 415, 413 or 400. */
export async function readFields(
  request: Request,
  params: Readonly<Record<string, string>>,
  names?: WireNames,
): Promise<Input> {
  if (!saysJson(request.headers)) throw new ApiError('unsupported_media_type')
  const parsed = await parseObject(await readBody(request, bodyLimits.bytes), bodyLimits)
  return { ...(names ? (renameRequest(parsed, names) as Input) : parsed), ...params }
}

/** Where a request keeps the one of Node's server that it was made of. */
const source = Symbol('source')

type Served = Request & { [source]?: IncomingMessage }

/** Lets the body be read from Node's request once it has arrived: a web stream takes a tenth of the time of a request. */
export const readFrom = (request: Served, incoming: IncomingMessage): void => {
  request[source] = incoming
}

/** Returns a body that has arrived whole before anybody asked for it. */
function arrivedBody({ [source]: incoming }: Served): Buffer | undefined {
  if (!incoming?.complete || incoming.readableDidRead) return undefined
  return (incoming.read() as Buffer | null) ?? undefined
}

const firstBytes = 4_096

/** Reads a body of at most `limit` bytes; refuses with 413 or 400, and with 415 when it is compressed. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') throw new ApiError('unsupported_encoding')
  const arrived = arrivedBody(request)
  if (arrived && arrived.length > limit) throw new ApiError('body_too_large', { limit })
  if (arrived) return arrived
  // Copied as it comes: a list of a million portions of one byte would take hundreds of times the memory.
  let body = Buffer.allocUnsafe(firstBytes)
  let size = 0
  try {
    for await (const chunk of request.body ?? []) {
      const end = size + chunk.byteLength
      if (end > limit) throw new ApiError('body_too_large', { limit })
      if (end > body.length) body = Buffer.concat([body], Math.min(limit, Math.max(end, 2 * body.length)))
      body.set(chunk, size)
      size = end
    }
    return body.subarray(0, size)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('bad_request', { reason: 'The request body ended early' })
  }
}

/** From this size on, other requests have a turn between the steps of reading a body. */
const longBytes = 65_536

/** Parses bytes as a JSON object, or refuses with 400 or 413. The last value of a repeated key counts. */
async function parseObject(bytes: Uint8Array, limits: Pick<BodyLimits, 'values'>): Promise<Input> {
  const value = parseJson(bytes, limits)
  if (bytes.length >= longBytes) await nextTurn()
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isTooLarge(value))
    throw refused('The request body must be a JSON object')
  if (Object.keys(value).length > maxFields)
    throw refused(`The request body has more than ${maxFields} fields`)
  const hazard = hazardIn(value)
  if (hazard !== undefined) throw refused(hazard)
  if (bytes.length >= longBytes) await nextTurn()
  return value as Input
}

/** Maximum number of fields of a request, of which each is looked at on its own. */
const maxFields = 1_000

/** Parses bytes as JSON, or refuses: not UTF-8, nested too deep or invalid (400), or with too many values (413). */
export function parseJson(bytes: Uint8Array, { values }: Pick<BodyLimits, 'values'>): unknown {
  const text = textOf(bytes)
  const exceeded = exceededLimit(text, { depth: maxLevels, values })
  if (exceeded === 'depth') throw refused(`The request body is nested deeper than ${maxLevels} levels`)
  if (exceeded === 'values') throw new ApiError('too_many_values', { limit: values })
  try {
    return parseExact(text)
  } catch {
    throw new ApiError('malformed_json')
  }
}

/** Returns the text of a body. Throws 400 when it is not UTF-8. */
function textOf(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw refused('The request body is not valid UTF-8')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString()
    .replace(/^\ufeff/, '')
}

export const refused = (reason: string) => new ApiError('bad_request', { reason })
