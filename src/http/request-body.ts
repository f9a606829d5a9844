import type { InputReader, ReadRequest } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { usualBody } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { isLarge, join } from '../api/values/bytes.js'
import { parseObject, readBody, saysJson } from './body.js'
import { type BodyThreads, createBodyThreads } from './body-threads.js'
import { type RequestTask, readRequestOf } from './parse-body.js'

/** How much of large bodies is in memory at once, in bytes, and how many more may wait: of one workspace, and of all. */
export interface RoomLimits {
  readonly ownBytes: number
  readonly allBytes: number
  readonly ownWaiting: number
  readonly allWaiting: number
}

/** One of the largest bodies fits in what a workspace has, beside some that are smaller. */
const usualRoom: RoomLimits = {
  ownBytes: 40 * 1_048_576,
  allBytes: 160 * 1_048_576,
  ownWaiting: 16,
  allWaiting: 256,
}

export interface BodyOf {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  /** The words for `network` and `premium` in its field names, when they differ. */
  readonly names: WireNames | undefined
}

/** Reads the body of a request as fields, or refuses it with 415, 413, 400 or 503. */
export type BodyReader = (request: Request, of: BodyOf, reader: InputReader) => Promise<ReadRequest>

/** Creates the reader of a server's bodies. */
export function createBodyReader(
  threads: BodyThreads = createBodyThreads(),
  limits: RoomLimits = usualRoom,
): BodyReader {
  const room = createRoom(limits)
  return async (request, { operation, params, names }, { owner, validates }) => {
    if (!saysJson(request.headers)) throw new ApiError('unsupported_media_type')
    const most = operation.body ?? usualBody
    let leave: (() => void) | undefined
    try {
      const pieces = await readBody(request, most.bytes, async (bytes) => {
        leave = await room.enter(owner, bytes, request.signal)
      })
      if (isLarge(pieces)) {
        const task: RequestTask = {
          kind: 'request',
          operation: operation.id,
          pieces,
          params,
          names,
          validates,
        }
        return readRequestOf(await threads.parse(task, owner, request.signal))
      }
      const parsed = parseObject(join(pieces), most)
      return { input: { ...(names ? (renameRequest(parsed, names) as typeof parsed) : parsed), ...params } }
    } finally {
      leave?.()
    }
  }
}

interface WaitingBody {
  readonly owner: string
  readonly bytes: number
  readonly admit: () => void
}

/** Creates the room that large bodies take in memory. A body waits outside, unread, until there is room for it. */
function createRoom(limits: RoomLimits) {
  const held = new Map<string, number>()
  const waiting = new Set<WaitingBody>()
  let all = 0
  const hold = (owner: string, bytes: number) => {
    all += bytes
    const own = (held.get(owner) ?? 0) + bytes
    if (own === 0) held.delete(owner)
    else held.set(owner, own)
  }
  const fitsOwn = (owner: string, bytes: number) => {
    const own = held.get(owner) ?? 0
    return own === 0 || own + bytes <= limits.ownBytes
  }
  const fitsAll = (bytes: number) => all === 0 || all + bytes <= limits.allBytes
  const admitNext = () => {
    for (const next of waiting) {
      // Who came first goes first, but nobody waits for the room of another workspace.
      if (!fitsOwn(next.owner, next.bytes)) continue
      if (!fitsAll(next.bytes)) return
      waiting.delete(next)
      next.admit()
    }
  }
  const leaver = (owner: string, bytes: number) => {
    hold(owner, bytes)
    return () => {
      hold(owner, -bytes)
      admitNext()
    }
  }
  return {
    /** Resolves when there is room, with what gives it back. Throws 503 when too many wait. */
    async enter(owner: string, bytes: number, signal: AbortSignal): Promise<() => void> {
      const own = [...waiting].filter((one) => one.owner === owner).length
      if (own === 0 && fitsOwn(owner, bytes) && fitsAll(bytes)) return leaver(owner, bytes)
      if (own >= limits.ownWaiting || waiting.size >= limits.allWaiting)
        throw new ApiError('too_many_bodies', {}, { 'retry-after': '1' })
      return new Promise((resolve, reject) => {
        const next: WaitingBody = { owner, bytes, admit: () => resolve(leaver(owner, bytes)) }
        const giveUp = () => {
          waiting.delete(next)
          reject(new ApiError('bad_request', { reason: 'The request body ended early' }))
        }
        if (signal.aborted) return giveUp()
        signal.addEventListener('abort', giveUp, { once: true })
        waiting.add(next)
      })
    },
  }
}
