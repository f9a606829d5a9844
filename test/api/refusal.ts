import { ApiError } from '../../src/api/errors.js'
import { validate } from '../../src/api/invalid.js'
import { type InputOf, shapeOf } from '../../src/api/shapes.js'
import type { OperationId } from '../../src/api/table.js'

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
