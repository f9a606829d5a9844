import { shapeOf } from '../api/areas/shapes.js'
import type { Input } from '../api/calls/caller.js'
import type { Layer } from '../api/calls/compose.js'
import { ApiError, toRefusal } from '../api/calls/errors.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { type OperationId, operation } from '../api/operations/table.js'
import { checkNames, withoutBlanks } from '../api/validation/given-fields.js'

/** What checking the names of fields needs. */
export interface FieldCheck {
  /** The server's words in field names, which are accepted too. */
  readonly names?: WireNames | undefined
  /** Receives what is wrong, once, with requests that are sent all the same. Without it they are refused. */
  readonly onPassed?: ((text: string) => void) | undefined
}

/**
 * Refuses fields that no server of this API knows, because a search that ignored them would find others and use up a
 * quota. Empty fields are left out, as an engine does.
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
