import { shapeOf } from '../api/areas/shapes.js'
import type { Input, ReadRequest } from '../api/calls/caller.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { usualBody } from '../api/operations/facts.js'
import { type OperationId, operation } from '../api/operations/table.js'
import { fingerprintOf, validate, withoutBlanks } from '../api/validation/validate.js'
import { parseExact, toJson } from '../api/values/json.js'
import { errorOf, parseObject, type RefusedBody, refusedBy } from './body.js'

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

/** What another thread made of a request, as it passes between threads. */
export type ParsedRequest =
  | Fields
  | { readonly isLive: boolean; readonly fingerprint: string; readonly result: Fields }

/** Parses a request, and validates it. */
export async function parseRequest(task: RequestTask): Promise<ParsedRequest> {
  try {
    const row = operation(task.operation)
    const parsed = parseObject(task.bytes, row.body ?? usualBody)
    const input = { ...(task.names ? (renameRequest(parsed, task.names) as Input) : parsed), ...task.params }
    if (!task.validates) return { fields: toJson(input) }
    const shape = await shapeOf(row.id)
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
  if ('fields' in parsed) return { input: inputOf(parsed.fields) }
  const { isLive, fingerprint, result } = parsed
  const checked =
    'refused' in result ? { refusal: errorOf(result.refused) } : { fields: inputOf(result.fields) }
  return { input: { live: isLive }, checked: { fingerprint, result: checked } }
}

const inputOf = (fields: string): Input => parseExact(fields) as Input
