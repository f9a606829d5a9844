import { createHash } from 'node:crypto'
import { shapeOf } from '../api/areas/shapes.js'
import type { Input, ReadRequest } from '../api/calls/caller.js'
import { ApiError, type Details, type ErrorCode } from '../api/calls/errors.js'
import { fingerprintOf } from '../api/calls/fingerprint.js'
import { renameIn, type WireNames } from '../api/calls/wire-names.js'
import { usualBody } from '../api/operations/facts.js'
import { type OperationId, operation } from '../api/operations/table.js'
import { validate } from '../api/validation/validate.js'
import { exceededLimit, PackedJson, toCanonicalJson, toJson } from '../api/values/json.js'
import { parseObject } from './body.js'

/** A large request body to be parsed in another thread. */
export interface BodyTask {
  readonly operation: OperationId
  readonly bytes: Uint8Array
  readonly params: Readonly<Record<string, string>>
  /** The words for `network` and `premium` in its field names. */
  readonly names: WireNames | undefined
  /** Whether to validate it, and to hand back only the valid fields. */
  readonly validates: boolean
}

/** What another thread made of a body, as it passes between threads. */
export type ParsedBody =
  | { readonly refused: Refused }
  | { readonly fields: Packed }
  | {
      readonly live: unknown
      readonly fingerprint: string
      readonly result: { fields: Packed } | { refused: Refused }
    }

interface Refused {
  readonly code: ErrorCode
  readonly details: Details
}

/** Fields, of which the large ones are packed. */
interface Packed {
  readonly plain: Input
  readonly packed: Readonly<Record<string, Pick<PackedJson, 'parts' | 'length' | 'digest'>>>
}

/** Parses a body, and validates it. What is handed back is small, or need not be copied. */
export async function parseBody(task: BodyTask): Promise<ParsedBody> {
  try {
    const row = operation(task.operation)
    const parsed = parseObject(task.bytes, row.body ?? usualBody)
    const input = { ...(task.names ? (renameIn(parsed, task.names) as Input) : parsed), ...task.params }
    // Another server gets the fields as they came, in its own words.
    if (!task.validates) return { fields: pack(input, task.names ? parsed : input) }
    const fingerprint = row.idempotent ? fingerprintOf(row, input) : ''
    return { live: input.live, fingerprint, result: await validFields(task.operation, input) }
  } catch (error) {
    return { refused: refusedBy(error) }
  }
}

async function validFields(
  id: OperationId,
  input: Input,
): Promise<{ fields: Packed } | { refused: Refused }> {
  try {
    return { fields: pack(validate(id, await shapeOf(id), input) as Input) }
  } catch (error) {
    return { refused: refusedBy(error) }
  }
}

function refusedBy(error: unknown): Refused {
  if (error instanceof ApiError) return { code: error.code, details: error.details }
  throw error
}

/** Values that are handed back as they are: copying more between threads takes as long as parsing them. */
const mostPlainValues = 1_000
const itemsPerPart = 500

function pack(fields: Input, sent: Input = fields): Packed {
  const plain: Record<string, unknown> = {}
  const packed: Record<string, Packed['packed'][string]> = {}
  for (const [name, value] of Object.entries(fields)) {
    const text = typeof value === 'object' && value !== null ? toJson(value) : ''
    if (exceededLimit(text, { depth: Number.POSITIVE_INFINITY, values: mostPlainValues }) === undefined)
      plain[name] = value
    else packed[name] = packedValue(sent[name] ?? value)
  }
  return { plain, packed }
}

function packedValue(value: unknown): Packed['packed'][string] {
  const digest = createHash('sha256').update(toCanonicalJson(value)).digest('base64url')
  if (!Array.isArray(value)) return { parts: [bytesOf(value)], length: 0, digest }
  const parts = Array.from({ length: Math.ceil(value.length / itemsPerPart) }, (_, at) =>
    bytesOf(value.slice(at * itemsPerPart, (at + 1) * itemsPerPart)),
  )
  return { parts, length: value.length, digest }
}

/** In memory of its own, which can be handed over. */
const bytesOf = (value: unknown): Uint8Array<ArrayBuffer> => new TextEncoder().encode(toJson(value))

/** Returns the memory of a parsed body that is handed over to the other thread. */
export function memoryOf(body: ParsedBody): ArrayBuffer[] {
  const fields =
    'fields' in body ? body.fields : 'result' in body && 'fields' in body.result && body.result.fields
  if (!fields) return []
  return Object.values(fields.packed).flatMap(({ parts }) => parts.map(({ buffer }) => buffer as ArrayBuffer))
}

/** Returns the request that another thread parsed. Throws its refusal. */
export function readRequestOf(body: ParsedBody): ReadRequest {
  if ('refused' in body) throw errorOf(body.refused)
  if ('fields' in body) return { input: unpack(body.fields) }
  const { live, fingerprint, result } = body
  const checked =
    'refused' in result ? { refusal: errorOf(result.refused) } : { fields: unpack(result.fields) }
  return { input: { live }, checked: { fingerprint, result: checked } }
}

const errorOf = ({ code, details }: Refused): ApiError => new ApiError(code, details)

const unpack = ({ plain, packed }: Packed): Input => ({
  ...plain,
  ...Object.fromEntries(Object.entries(packed).map(([name, value]) => [name, new PackedJson(value)])),
})
