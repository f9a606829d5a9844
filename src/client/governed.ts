import type { Layer } from '../api/calls/compose.js'
import { isPriced } from '../api/operations/facts.js'
import { type OperationId, operation } from '../api/operations/table.js'
import type { Clock, Ids } from '../engine/ports/ports.js'
import { checkedFields, type FieldCheck } from './checked-fields.js'
import { idempotent, type KeptKeys } from './kept-keys.js'
import { paced, type Windows } from './paced.js'

/** What the layers of a governed server need. */
export interface GovernedOptions extends FieldCheck {
  /** The state of the server on this machine. */
  readonly memory: KeptKeys & Windows
  readonly origin: string
  /** The caller's plan. */
  readonly plan?: string | undefined
  /** Whether to keep to limits that were observed and are not specified. */
  readonly observed?: boolean | undefined
  readonly ids: Ids
  readonly clock: Clock
  /** Called when a call is sent again under the key of an attempt without a known outcome. */
  readonly onAgain?: (id: OperationId) => void
  /** Stores what a server sent for a call that may be paid, when it cannot be used. */
  readonly keepUnusable?: (id: OperationId, text: string) => Promise<void>
}

/**
 * The layers this machine puts around a server: they refuse unknown filters, keep to its rate windows, and give every call
 * that changes something an idempotency key that outlives this process. The server's decisions pass unchanged.
 */
export const governed = ({
  memory,
  origin,
  plan,
  observed,
  ids,
  clock,
  onAgain,
  keepUnusable,
  ...check
}: GovernedOptions): readonly Layer[] => [
  checkedFields(check),
  idempotent({ keys: memory, origin, ids, clock, ...(onAgain ? { onAgain } : {}) }),
  paced({ windows: memory, origin, clock, plan, observed }),
  ...(keepUnusable ? [unusableKept(keepUnusable)] : []),
]

/** Stores what cannot be used before the call fails. */
const unusableKept =
  (keep: NonNullable<GovernedOptions['keepUnusable']>): Layer =>
  (caller) => ({
    ...caller,
    call: async (id, input, options) => {
      const reply = await caller.call(id, input, options)
      const row = operation(id)
      if (reply.unusable !== undefined && (isPriced(row) || row.starts !== undefined))
        await keep(id, reply.unusable)
      return reply
    },
  })
