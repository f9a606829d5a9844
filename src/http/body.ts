import { isUtf8 } from 'node:buffer'
import { shapeOf } from '../api/areas/shapes.js'
import type { Input, ReadRequest } from '../api/calls/caller.js'
import { ApiError, type Details, type ErrorCode } from '../api/calls/errors.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { type BodyLimits, largeBytes, maxLevels, usualBody } from '../api/operations/facts.js'
import { type OperationId, operation, wrapperOf } from '../api/operations/table.js'
import { findUnknown, fingerprintOf, validate, withoutBlanks } from '../api/validation/validate.js'
import {
  exceededLimit,
  hazardIn,
  isParsedSlowly,
  isTooLarge,
  keepWritten,
  parseExact,
  toCanonicalJson,
  toJson,
  type WrittenJson,
} from '../api/values/json.js'

const json = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** Whether the declared length of a body exceeds `limit` bytes. */
export function declaresMore(headers: Headers, limit: number): boolean {
  return Number(headers.get('content-length') ?? 0) > limit
}

/** Whether the content type is JSON in UTF-8. */
export const saysJson = (headers: Headers): boolean => json.test(headers.get('content-type') ?? '')

/**
 * Reads a body of at most `limit` bytes; refuses with 413 or 400, and with 415 when it is compressed. Calls `enter` before
 * it reads a large body, or more than the beginning of one whose length is not known.
 */
export async function readBody(request: Request, limit: number, enter: (bytes: number) => void = () => {}) {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') throw new ApiError('unsupported_encoding')
  const declared = request.headers.get('content-length')
  try {
    // The parser below enforces a declared length.
    if (declared !== null && Number(declared) <= largeBytes) {
      const bytes = new Uint8Array(await request.arrayBuffer())
      if (bytes.length > limit) throw new ApiError('body_too_large', { limit })
      return bytes
    }
    if (declared !== null) enter(Number(declared))
    const chunks: Uint8Array[] = []
    let size = 0
    let isInside = declared !== null
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength
      if (size > limit) throw new ApiError('body_too_large', { limit })
      chunks.push(chunk)
      if (isInside || size <= largeBytes) continue
      enter(limit)
      isInside = true
    }
    return Buffer.concat(chunks)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('bad_request', { reason: 'The request body ended early' })
  }
}

/** Parses bytes as a JSON object, or refuses with 400 or 413. The last value of a repeated key counts. */
export function parseObject(bytes: Uint8Array, limits: Pick<BodyLimits, 'values'>): Input {
  const value = parseJson(bytes, limits)
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isTooLarge(value))
    throw refused('The request body must be a JSON object')
  if (Object.keys(value).length > maxFields)
    throw refused(`The request body has more than ${maxFields} fields`)
  const hazard = hazardIn(value)
  if (hazard !== undefined) throw refused(hazard)
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

/** A refusal, as it passes between threads. */
export interface RefusedBody {
  readonly code: ErrorCode
  readonly details: Details
}

export function refusedBy(error: unknown): RefusedBody {
  if (error instanceof ApiError) return { code: error.code, details: error.details }
  throw error
}

export const errorOf = ({ code, details }: RefusedBody): ApiError => new ApiError(code, details)

/** A large request body to be parsed in another thread. */
export interface RequestTask {
  readonly kind: 'request'
  readonly operation: OperationId
  readonly bytes: Uint8Array
  readonly params: Readonly<Record<string, string>>
  /** The words for `network` and `premium` in its field names. */
  readonly names: WireNames | undefined
  /** Whether to validate it, and to hand back only the valid fields. */
  readonly validates: boolean
}

/** Fields as JSON, which is parsed faster than it is copied between threads; or why there are none. */
type Fields = { readonly fields: string } | { readonly refused: RefusedBody }

/**
 * A field of a request for another server. An array or object comes with its JSON, which is needed twice and takes long to
 * write; its value is copied only where that is faster than parsing.
 */
interface PassedField {
  readonly name: string
  readonly value?: unknown
  readonly written?: WrittenJson
  /** Whether nobody here reads it, so that it needs no value. */
  readonly isUnread?: boolean
}

/** What another thread made of a request, as it passes between threads. */
type ParsedRequest =
  | { readonly passed: readonly PassedField[] }
  | { readonly refused: RefusedBody }
  | { readonly isLive: boolean; readonly fingerprint: string; readonly result: Fields }

/** Parses a request, and validates it. */
export async function parseRequest(task: RequestTask): Promise<ParsedRequest> {
  try {
    const row = operation(task.operation)
    const parsed = parseObject(task.bytes, row.body ?? usualBody)
    const input = { ...(task.names ? (renameRequest(parsed, task.names) as Input) : parsed), ...task.params }
    const shape = await shapeOf(row.id)
    if (!task.validates) {
      // Names are changed in all of a request.
      const unknown = task.names ? [] : findUnknown(row.id, shape, input)
      const unread = unknown.filter((name) => name !== wrapperOf(row.id))
      return { passed: Object.entries(input).map((field) => passedField(field, unread)) }
    }
    const fingerprint = row.idempotent ? fingerprintOf(row, withoutBlanks(row.id, shape, input)) : ''
    // All that decides about a rate window is whether it is false.
    return {
      isLive: input.live !== false,
      fingerprint,
      result: fieldsOf(() => validate(row.id, shape, input)),
    }
  } catch (error) {
    return { refused: refusedBy(error) }
  }
}

function passedField([name, value]: readonly [string, unknown], unread: readonly string[]): PassedField {
  if (typeof value !== 'object' || value === null) return { name, value }
  const written = { json: toJson(value), canonical: toCanonicalJson(value) }
  if (unread.includes(name)) return { name, written, isUnread: true }
  return { name, written, ...(isParsedSlowly(written.json) ? { value } : {}) }
}

function fieldsOf(valid: () => unknown): Fields {
  try {
    return { fields: toJson(valid()) }
  } catch (error) {
    return { refused: refusedBy(error) }
  }
}

/** Returns the request that another thread parsed. Throws its refusal. */
export function readRequestOf(parsed: ParsedRequest): ReadRequest {
  if ('refused' in parsed) throw errorOf(parsed.refused)
  if ('passed' in parsed)
    return { input: Object.fromEntries(parsed.passed.map((field) => [field.name, valueOfField(field)])) }
  const { isLive, fingerprint, result } = parsed
  const checked =
    'refused' in result
      ? { refusal: errorOf(result.refused) }
      : { fields: parseExact(result.fields) as Input }
  return { input: { live: isLive }, checked: { fingerprint, result: checked } }
}

function valueOfField({ value, written, isUnread }: PassedField): unknown {
  if (!written) return value
  return keepWritten(isUnread ? new UnreadValue() : ((value ?? parseExact(written.json)) as object), written)
}

/** Stands for the value of a field that is only passed on; `toRequestJson` writes it. */
class UnreadValue {
  toJSON(): never {
    throw new Error('This value was not read')
  }
}
