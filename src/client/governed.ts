import type { Layer } from '../api/calls/compose.js'
import type { OperationId } from '../api/operations/table.js'
import type { Clock, Ids } from '../engine/ports/ports.js'
import { idempotent, type KeptKeys } from './kept-keys.js'
import { paced, type Windows } from './paced.js'

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
 * The layers this machine puts around a server: they keep to its rate windows, and give every call that changes something
 * an idempotency key that outlives this process. The server's decisions pass unchanged.
 */
export const governed = ({
  memory,
  origin,
  plan,
  ids,
  clock,
  onAgain,
}: GovernedOptions): readonly Layer[] => [
  idempotent({ keys: memory, origin, ids, clock, ...(onAgain ? { onAgain } : {}) }),
  paced({ windows: memory, origin, clock, plan }),
]
