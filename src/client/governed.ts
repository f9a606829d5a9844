import { shapeOf } from '../api/areas/shapes.js'
import type { Input, Layer } from '../api/calls/caller.js'
import { ApiError, toRefusal } from '../api/calls/errors.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { isPriced } from '../api/operations/facts.js'
import { type OperationId, operation } from '../api/operations/table.js'
import { ownWebhook } from '../api/validation/own-webhook.js'
import { checkNames, withoutBlanks } from '../api/validation/validate.js'
import { idempotent, type KeptKeysOptions } from './kept-keys.js'
import { type PacedOptions, paced } from './paced.js'

interface GovernedOptions extends FieldCheck, Omit<KeptKeysOptions, 'keys'>, Omit<PacedOptions, 'windows'> {
  /** The state of the server on this machine. */
  readonly memory: KeptKeysOptions['keys'] & PacedOptions['windows']
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
      if (reply.unusable && (isPriced(row) || row.starts !== undefined)) await keep(id, reply.unusable)
      return reply
    },
  })

interface FieldCheck {
  /** The server's words in field names, which are accepted too. */
  readonly names?: WireNames | undefined
  /** Receives what is wrong, once, with requests that are sent all the same. Without it they are refused. */
  readonly onPassed?: ((text: string) => void) | undefined
}

/**
 * Refuses fields that no server of this API knows, because a search that ignored them would find others and use up a
 * quota (decision 17). Empty fields are left out, as an engine does.
 */
export const checkedFields = ({ names, onPassed }: FieldCheck): Layer => {
  const told = new Set<string>()
  return (caller) => ({
    ...caller,
    call: async (id, input, options) => {
      const read = await readFields(id, input, names)
      if (!(read instanceof ApiError)) return caller.call(id, onPassed ? input : read, options)
      if (!onPassed) {
        // A window that `live` chooses comes before the fields.
        return (await caller.refusedNow?.(id, options, input)) ?? toRefusal(read, operation(id))
      }
      if (!told.has(read.message)) onPassed(read.message)
      told.add(read.message)
      return caller.call(id, input, options)
    },
  })
}

async function readFields(id: OperationId, input: Input, names?: WireNames): Promise<Input | ApiError> {
  try {
    const shape = await shapeOf(id)
    const fields = withoutBlanks(id, shape, names ? (renameRequest(input, names) as Input) : input)
    checkNames(id, shape, fields)
    return fields
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Receives deliveries for others. */
export interface Home {
  /** Returns why nothing may be sent to an address; `undefined` when it is permitted. */
  check(url: string): Promise<string | undefined>
  /** Returns our address that stands for another one. It is the same for the same idempotency key. */
  addressFor(url: string, operation: OperationId, idempotencyKey: string | undefined): string
}

/** Replaces every webhook address by one of ours, so that the server's deliveries come here first. */
export const retargeted =
  (home: Home): Layer =>
  (remote) => ({
    ...remote,
    call: async (id, input, options = {}) => {
      const row = operation(id)
      const { webhook_url: url } = input
      // Nothing is delivered to the placeholder: whoever sends it polls.
      const isNone = typeof url !== 'string' || url === ownWebhook
      if (row.starts === undefined || isNone) return remote.call(id, input, options)
      const reason = await home.check(url)
      if (reason !== undefined)
        return toRefusal(new ApiError('bad_request', { reason: `webhook_url: ${reason}` }), row)
      const webhook_url = home.addressFor(url, id, options.idempotencyKey)
      return remote.call(id, { ...input, webhook_url }, options)
    },
  })
