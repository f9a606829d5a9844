import type { OperationId } from '../api/operations/table.js'
import type { Clock, Ids } from '../engine/ports/ports.js'
import { type KeptKeys, withKeptKeys } from './kept-keys.js'
import { paced, type Windows } from './paced.js'
import type { Remote } from './remote.js'

/** What a governed server is made of. */
export interface GovernedOptions {
  /** What this machine remembers of the server. */
  readonly memory: KeptKeys & Windows
  readonly origin: string
  /** The plan of whoever asks. */
  readonly plan?: string | undefined
  readonly ids: Ids
  readonly clock: Clock
  /** Told that a call goes out again under the key of one whose outcome is not known. */
  readonly onAgain?: (id: OperationId) => void
}

/**
 * A server with what this machine adds: it keeps to the server's windows, and gives every call that does something a key
 * which outlives this process. What the server decides passes through unchanged.
 */
export function governed(
  remote: Remote,
  { memory, origin, plan, ids, clock, onAgain }: GovernedOptions,
): Remote {
  const slow = paced(remote, { windows: memory, origin, clock, plan })
  const kept = withKeptKeys(slow, { keys: memory, origin, ids, clock, ...(onAgain ? { onAgain } : {}) })
  return { ...remote, call: kept.call }
}
