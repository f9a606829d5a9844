import { createHash } from 'node:crypto'
import { type Shape, shapeOf } from '../api/areas/shapes.js'
import type { Input, ReadRequest } from '../api/calls/caller.js'
import { fingerprintOf } from '../api/calls/fingerprint.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { usualBody } from '../api/operations/facts.js'
import { type OperationId, operation } from '../api/operations/table.js'
import { bounds } from '../api/schemas/fields.js'
import { withoutBlanks } from '../api/validation/given-fields.js'
import { validate } from '../api/validation/validate.js'
import { type Bytes, join } from '../api/values/bytes.js'
import { PackedJson, parseExact, toCanonicalJson, toJson } from '../api/values/json.js'
import { errorOf, parseObject, type RefusedBody, refusedBy } from './body.js'

/** A large request body to be parsed in another thread. */
export interface RequestTask {
  readonly kind: 'request'
  readonly operation: OperationId
  readonly pieces: readonly Bytes[]
  readonly params: Readonly<Record<string, string>>
  /** The words for `network` and `premium` in its field names. */
  readonly names: WireNames | undefined
  /** Whether to validate it, and to hand back only the valid fields. */
  readonly validates: boolean
}

/** What another thread made of a request, as it passes between threads. */
export type ParsedRequest =
  | { readonly refused: RefusedBody }
  | { readonly fields: Packed }
  | {
      readonly isLive: boolean
      readonly fingerprint: string
      readonly result: { fields: Packed } | { refused: RefusedBody }
    }

/** Fields as JSON, which is parsed faster than it is copied between threads; large ones are packed. */
interface Packed {
  readonly plain: Bytes
  readonly packed: Readonly<Record<string, Pick<PackedJson, 'parts' | 'length' | 'digest'>>>
}

/** Parses a request, and validates it. What is handed back is small, or need not be copied. */
export async function parseRequest(task: RequestTask): Promise<ParsedRequest> {
  try {
    const row = operation(task.operation)
    const parsed = parseObject(join(task.pieces), row.body ?? usualBody)
    const input = { ...(task.names ? (renameRequest(parsed, task.names) as Input) : parsed), ...task.params }
    // Another server gets the fields as they came, in its own words.
    if (!task.validates) return { fields: pack(input, smallFields(), task.names ? parsed : input) }
    const shape = await shapeOf(row.id)
    const fingerprint = row.idempotent ? fingerprintOf(row, withoutBlanks(row.id, shape, input)) : ''
    // All that decides about a rate window is whether it is false.
    return { isLive: input.live !== false, fingerprint, result: validFields(row.id, shape, input) }
  } catch (error) {
    return { refused: refusedBy(error) }
  }
}

function validFields(
  id: OperationId,
  shape: Shape,
  input: Input,
): { fields: Packed } | { refused: RefusedBody } {
  try {
    return { fields: pack(validate(id, shape, input) as Input, isShortList) }
  } catch (error) {
    return { refused: refusedBy(error) }
  }
}

/** Handlers read longer lists part by part. Other valid fields are small. */
const isShortList = (value: unknown): boolean => !Array.isArray(value) || value.length <= bounds.items

/** Single values of fields that were not validated are understood by the proxy; of the others only a few. */
function smallFields(): (value: unknown) => boolean {
  let room = 65_536
  return (value) => {
    const { length } = toJson(value)
    if (typeof value !== 'object' && length <= bounds.url + 2) return true
    room -= length
    return room >= 0
  }
}

const itemsPerPart = 500

function pack(fields: Input, isPlain: (value: unknown) => boolean, sent: Input = fields): Packed {
  const plain: Record<string, unknown> = {}
  const packed: Record<string, Packed['packed'][string]> = {}
  for (const [name, value] of Object.entries(fields))
    if (isPlain(value)) plain[name] = value
    else packed[name] = packedValue(sent[name] ?? value)
  return { plain: bytesOf(plain), packed }
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
const bytesOf = (value: unknown): Bytes => new TextEncoder().encode(toJson(value))

/** Returns the request that another thread parsed. Throws its refusal. */
export function readRequestOf(body: ParsedRequest): ReadRequest {
  if ('refused' in body) throw errorOf(body.refused)
  if ('fields' in body) return { input: unpack(body.fields) }
  const { isLive, fingerprint, result } = body
  const checked =
    'refused' in result ? { refusal: errorOf(result.refused) } : { fields: unpack(result.fields) }
  return { input: { live: isLive }, checked: { fingerprint, result: checked } }
}

const unpack = ({ plain, packed }: Packed): Input => ({
  ...(parseExact(Buffer.from(plain).toString()) as Input),
  ...Object.fromEntries(Object.entries(packed).map(([name, value]) => [name, new PackedJson(value)])),
})
