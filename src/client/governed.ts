import type { Layer } from '../api/calls/compose.js'
import { isPriced } from '../api/operations/facts.js'
import { type OperationId, operation } from '../api/operations/table.js'
import { checkedFields, type FieldCheck } from './checked-fields.js'
import { idempotent, type KeptKeys, type KeptKeysOptions } from './kept-keys.js'
import { type PacedOptions, paced, type Windows } from './paced.js'

/** What the layers of a governed server need. */
export interface GovernedOptions
  extends FieldCheck,
    Omit<KeptKeysOptions, 'keys'>,
    Omit<PacedOptions, 'windows'> {
  /** The state of the server on this machine. */
  readonly memory: KeptKeys & Windows
  /** Stores what a server sent for a call that may be paid, when it cannot be used. */
  readonly keepUnusable?: (id: OperationId, text: string) => Promise<void>
}

/**
 * The layers this machine puts around a server: they refuse unknown filters, keep to its rate windows, and give every call
 * that changes something an idempotency key that outlives this process. The server's decisions pass unchanged.
 */
export const governed = ({ memory, keepUnusable, ...options }: GovernedOptions): readonly Layer[] => [
  checkedFields(options),
  idempotent({ ...options, keys: memory }),
  paced({ ...options, windows: memory }),
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
