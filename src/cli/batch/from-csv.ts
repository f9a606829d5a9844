import { shapeOf } from '../../api/areas/shapes.js'
import { immediateOperation } from '../../api/operations/table.js'
import type { Context } from '../context/context.js'
import type { OperationRequest } from '../operation/request.js'

/**
 * Runs an operation for the rows of a file: one request for all of them, or one for each. `input` holds the fields that
 * all rows share. Returns the exit code.
 */
export async function fromCsv(context: Context, request: OperationRequest): Promise<number> {
  const { operation } = request
  if (operation.batch?.into !== undefined) {
    const { sendTogether } = await import('./one-request.js')
    return sendTogether(context, request, operation.batch.into)
  }
  const { lookUpRows } = await import('./run.js')
  const row = immediateOperation(operation)
  if (row === operation) return lookUpRows(context, request)
  return lookUpRows(context, { ...request, operation: row, shape: await shapeOf(row.id) })
}
