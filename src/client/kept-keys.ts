import { createHash } from 'node:crypto'
import { ConnectionLost, type Reply } from '../api/calls/caller.js'
import type { Layer } from '../api/calls/compose.js'
import { type OperationId, operation } from '../api/operations/table.js'
import type { Clock, Ids } from '../engine/ports/ports.js'
import { settles } from './retry.js'

/** Keys of calls that were sent and are not known to be answered, in a place that outlives this process. */
export interface KeptKeys {
  /** The key under which a call was sent before, else the fresh one, which is then kept for it. */
  take(call: KeptCall): Promise<{ readonly key: string; readonly again: boolean }>
  /** Forgets the key of a call that was answered. */
  drop(fingerprint: string): Promise<void>
}

/** A call as it is kept: nothing of what it asks for can be read from it. */
export interface KeptCall {
  /** Digest of server, key and request. */
  readonly fingerprint: string
  readonly operation: OperationId
  readonly fresh: string
  /** Real time. */
  readonly now: number
}

/** What keeping keys works with. */
export interface KeptKeysOptions {
  readonly keys: KeptKeys
  /** The origin of the server. */
  readonly origin: string
  readonly ids: Ids
  readonly clock: Clock
  /** Told that a call goes out again under the key of one whose outcome is not known. */
  readonly onAgain?: (id: OperationId) => void
}

/**
 * Gives every call that does something a key, kept before it is sent. Where its outcome stays open, the same call sends
 * the same key again, so that a server that honours keys charges once. Who brings a key keeps it by themselves.
 */
export function idempotent(options: KeptKeysOptions): Layer {
  const { keys, ids, clock, onAgain = () => {} } = options
  const underWay = new Set<string>()
  return (caller) => ({
    ...caller,
    call: async (id, input, call = {}) => {
      if (!operation(id).idempotent || call.idempotencyKey !== undefined) return caller.call(id, input, call)
      const fingerprint = digest([options.origin, call.apiKey ?? null, id, input])
      // Two equal calls at the same time are meant to be two.
      if (underWay.has(fingerprint)) return caller.call(id, input, call)
      underWay.add(fingerprint)
      try {
        const { key, again } = await keys.take({
          fingerprint,
          operation: id,
          fresh: ids.uuid(),
          now: clock.now(),
        })
        if (again) onAgain(id)
        const ended = await caller.call(id, input, { ...call, idempotencyKey: key }).catch(lost)
        if (isKnown(ended, again)) await keys.drop(fingerprint)
        if (ended instanceof ConnectionLost) throw ended
        return ended
      } finally {
        underWay.delete(fingerprint)
      }
    },
  })
}

function lost(error: unknown): ConnectionLost {
  if (error instanceof ConnectionLost) return error
  throw error
}

/** Whether it is known what became of a call, and of the one before it under the same key. */
function isKnown(ended: Reply | ConnectionLost, again: boolean): boolean {
  if (ended.unknown) return false
  return !again || (!(ended instanceof ConnectionLost) && settles(ended))
}

/** SHA-256 of JSON whose fields are in order. */
const digest = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex')

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const fields = Object.entries(value).filter(([, one]) => one !== undefined)
  fields.sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}
