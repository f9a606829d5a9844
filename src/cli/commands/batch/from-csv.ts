import { type Shape, shapeOf } from '../../../api/areas/shapes.js'
import type { Input } from '../../../api/calls/caller.js'
import { type Operation, operations } from '../../../api/operations/table.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'

/** Does an operation for the rows of a file: a request for all of them, or one for each. Answers the exit code. */
export async function fromCsv(
  environment: CommandEnvironment,
  operation: Operation,
  shape: Shape,
  input: Input,
  invocation: Invocation,
): Promise<number> {
  if (operation.batch?.into !== undefined) {
    const { sendTogether } = await import('./one-request.js')
    return sendTogether(environment, operation, shape, operation.batch.into, input, invocation)
  }
  const { lookUpRows } = await import('./batch.js')
  const answering = answeringRow(operation)
  const rowShape = answering === operation ? shape : await shapeOf(answering.id)
  return lookUpRows(environment, answering, rowShape, input, invocation)
}

/** The row that answers a line of the file at once, where the one of the command only accepts it. */
function answeringRow(operation: Operation): Operation {
  const { command, batch } = operation
  const through = operations().find((row) => row.command === command && row.flag === batch?.through)
  return batch?.through !== undefined && through ? { ...through, batch } : operation
}
