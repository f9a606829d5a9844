import { createHash } from 'node:crypto'
import { ConnectionLost, type Layer, lostCall, type Reply } from '../api/calls/caller.js'
import { creditsCharged, type OperationId, operation } from '../api/operations/table.js'
import type { Clock, Ids } from '../api/ports/ports.js'
import { toCanonicalJson } from '../api/values/json.js'
import type { ServerMemory } from '../storage/state/remote-servers.js'
import { isConclusive } from './attempts.js'

/** What storing keys needs. */
export interface KeptKeysOptions {
  readonly keys: Pick<ServerMemory, 'take' | 'drop'>
  readonly origin: string
  readonly ids: Ids
  readonly clock: Clock
  /** Called when a call is sent again under the key of an attempt without a known outcome. */
  readonly onAgain?: (id: OperationId) => void
}

/**
 * Stores an idempotency key before every call that changes something. When the outcome stays unknown, the same call
 * later sends the same key, so that a server that supports keys charges once. Calls with a key of their own are left
 * alone.
 */
export function idempotent(options: KeptKeysOptions): Layer {
  const { keys, ids, clock, onAgain = () => {} } = options
  const underWay = new Set<string>()
  return (caller) => ({
    ...caller,
    call: async (id, input, call = {}) => {
      if (!operation(id).idempotent || call.idempotencyKey !== undefined) return caller.call(id, input, call)
      const fingerprint = digest([options.origin, call.apiKey ?? null, id, input])
      // Two equal calls at the same time are separate calls.
      if (underWay.has(fingerprint)) return caller.call(id, input, call)
      underWay.add(fingerprint)
      try {
        const fresh = call.freshKey?.() ?? ids.uuid()
        const { key, again } = await keys.take({ fingerprint, operation: id, fresh, now: clock.now() })
        if (again) onAgain(id)
        const ended = await caller.call(id, input, { ...call, idempotencyKey: key }).catch(lostCall)
        if (isKnown(ended, again)) await keys.drop(fingerprint)
        if (ended instanceof ConnectionLost) throw ended
        return ended
      } finally {
        underWay.delete(fingerprint)
      }
    },
  })
}

/** Does the same for single calls to an engine in this process. It keeps the replies to rows of runs itself. */
export const idempotentEngine =
  (options: KeptKeysOptions): Layer =>
  (engine) => {
    const kept = idempotent(options)(engine)
    return {
      ...engine,
      call: async (id, input, call) => {
        if (call?.row) return engine.call(id, input, call)
        const reply = await kept.call(id, input, call)
        const isAgain = reply.headers['idempotent-replayed'] === 'true'
        return isAgain ? { ...reply, replayed: creditsCharged(operation(id), reply.body) } : reply
      },
    }
  }

/** Whether the outcome of a call and of the earlier attempt under its key are known. */
export function isKnown(ended: Reply | ConnectionLost, again: boolean): boolean {
  if (ended.unknown) return false
  return !again || (!(ended instanceof ConnectionLost) && isConclusive(ended))
}

/** SHA-256 of JSON with sorted fields. */
const digest = (value: unknown): string => createHash('sha256').update(toCanonicalJson(value)).digest('hex')
