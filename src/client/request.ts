import type { Input } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { renameOut, type WireNames } from '../api/calls/wire-names.js'
import { hasBody, pathParameters } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { PackedJson, toJson } from '../api/values/json.js'

/** A request on the wire. */
export interface WireRequest {
  readonly method: Operation['method']
  /** Relative to the base address, with its query. */
  readonly path: string
  /** JSON, in pieces where it is large; absent without a body. */
  readonly body?: string | readonly Uint8Array[]
}

/** Builds a request in the server's names. Throws `ApiError` (404) for an id that no path can hold. */
export function wireRequest(operation: Operation, input: Input, names?: WireNames): WireRequest {
  const { method } = operation
  const inPath = new Set(pathParameters(operation))
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(input[name]))
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.has(name)))
  const fields = (names ? renameOut(rest, names) : rest) as Input
  if (hasBody(operation)) return { method, path, body: bodyOf(fields) }
  return { method, path: path + queryOf(fields) }
}

/** Returns fields as JSON. Packed ones are sent as they are. */
function bodyOf(fields: Input): string | readonly Uint8Array[] {
  if (!Object.values(fields).some((value) => value instanceof PackedJson)) return toJson(fields)
  const members = Object.entries(fields).flatMap(([name, value], at) => [
    Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    ...(value instanceof PackedJson ? value.pieces : [Buffer.from(toJson(value))]),
  ])
  return [...members, Buffer.from('}')]
}

/** Encodes a value as one path segment. A value that would change the path is an unknown id. */
function segment(value: unknown): string {
  const text = String(value ?? '')
  if (text === '' || text === '.' || text === '..') throw new ApiError('not_found')
  return encodeURIComponent(text)
}

function queryOf(fields: Input): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) query.append(name, String(each))
  return query.size === 0 ? '' : `?${query}`
}
