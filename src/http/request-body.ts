import type { InputReader, ReadRequest } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { largeBytes, usualBody } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { parseObject, readBody, saysJson } from './body.js'
import { type BodyThreads, createBodyThreads } from './body-threads.js'
import { readRequestOf } from './parse-body.js'

/** How many bytes of large bodies are in memory at once: of one workspace, and of all. */
const maxHeld = { own: 40 * 1_048_576, all: 160 * 1_048_576 }

export interface BodyOf {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  /** The words for `network` and `premium` in its field names, when they differ. */
  readonly names: WireNames | undefined
}

/** Reads the body of a request as fields, or refuses it with 415, 413, 400 or 503. */
export type BodyReader = (request: Request, of: BodyOf, reader: InputReader) => Promise<ReadRequest>

/** Creates the reader of a server's bodies. */
export function createBodyReader(threads: BodyThreads = createBodyThreads(), max = maxHeld): BodyReader {
  const held = new Map<string, number>()
  let all = 0
  const hold = (owner: string, bytes: number) => {
    all += bytes
    held.set(owner, (held.get(owner) ?? 0) + bytes)
    if (held.get(owner) === 0) held.delete(owner)
  }
  return async (request, { operation, params, names }, { owner, validates }) => {
    if (!saysJson(request.headers)) throw new ApiError('unsupported_media_type')
    const most = operation.body ?? usualBody
    let own = 0
    try {
      const bytes = await readBody(request, most.bytes, (size) => {
        const isFull = (held.get(owner) ?? 0) + size > max.own || all + size > max.all
        if (isFull) throw new ApiError('too_many_bodies', {}, { 'retry-after': '1' })
        own = size
        hold(owner, own)
      })
      if (bytes.length > largeBytes) {
        const of = { operation: operation.id, params, names, validates }
        return readRequestOf(await threads.parse({ kind: 'request', bytes, ...of }))
      }
      const parsed = parseObject(bytes, most)
      return { input: { ...(names ? (renameRequest(parsed, names) as typeof parsed) : parsed), ...params } }
    } finally {
      if (own > 0) hold(owner, -own)
    }
  }
}
