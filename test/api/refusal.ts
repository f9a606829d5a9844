import { type InputOf, shapeOf } from '../../src/api/areas/shapes.js'
import { ApiError } from '../../src/api/calls/errors.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { validate } from '../../src/api/validation/validate.js'

/** The validated input. */
export const accepted = async <Id extends OperationId>(id: Id, input: unknown): Promise<InputOf<Id>> =>
  validate(id, await shapeOf(id), input)

/** Status and text of the refusal, or `accepted`. */
export async function refusalOf(id: OperationId, input: unknown): Promise<string> {
  try {
    await accepted(id, input)
    return 'accepted'
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.message}`
    throw error
  }
}
