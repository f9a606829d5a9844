import { isPriced } from '../../api/operations/facts.js'
import { withOwnWebhook } from '../../api/validation/own-webhook.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { extraOf } from '../operation/extras.js'
import { askMissing, checkTyped, type OperationRequest } from '../operation/request.js'
import { withFields } from '../operation/result-fields.js'
import { runSync } from '../operation/run-sync.js'
import { findStored } from '../operation/stored-lookups.js'
import { canAsk } from '../output/prompt.js'
import { waitOf } from '../wait/options.js'

/** Runs the command of an operation: for the rows of a file, or for one request. Returns the exit code. */
export async function runOperation(context: Context, asked: OperationRequest): Promise<number> {
  const request = (await extraOf(asked.operation.id).run?.(context, asked)) ?? asked
  if (typeof request === 'number') return request
  const { operation, shape, input: given } = request
  const { options } = request.invocation
  if (options.csv !== undefined) {
    const { fromCsv } = await import('../batch/from-csv.js')
    return fromCsv(context, request)
  }
  if (options.distribute === true || options.database !== undefined)
    throw new UsageError(`--${options.distribute === true ? 'distribute' : 'database'} needs --csv.`)
  // A command that waits for the result on a server gives its own address later.
  const isOurs =
    operation.starts !== undefined &&
    (context.isLocal() || waitOf(context, request.invocation, given).printsResult)
  let input = await askMissing(context, shape, isOurs ? withOwnWebhook(operation.id, shape, given) : given)
  if (operation.filters && options.input === undefined) {
    const { resolveFilterNames } = await import('../operation/filter-names.js')
    input = await resolveFilterNames(context, input)
  }
  // After the names of lists have become ids, which have no spaces.
  checkTyped(request, input)
  if (context.globals.verbose) await context.notifySource()
  if (operation.starts === undefined) {
    if (isPriced(operation) && options.dryRun !== true && canAsk(context)) {
      withFields(context, shape)
      if (!(await findStored(context, { ...request, input })))
        await (await import('../quote/confirm.js')).confirmCall(context, { ...request, input })
    }
    return runSync(context, { ...request, input })
  }
  const { runAsync } = await import('../wait/run-async.js')
  return runAsync(context, { ...request, input })
}
