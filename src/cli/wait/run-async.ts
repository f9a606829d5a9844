import { isOk } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { reportRefusal } from '../operation/refusal.js'
import type { OperationRequest } from '../operation/request.js'
import { withFields } from '../operation/result-fields.js'
import { reportSuccess, runSync, sendAndPrint } from '../operation/run-sync.js'
import { sendRequest } from '../operation/send-request.js'
import { confirmCall } from '../quote/confirm.js'
import { finishLocalWork } from './local-work.js'
import { waitOf } from './options.js'
import { jobIdOf, printNothing } from './result.js'
import { checkOutput } from './result-shape.js'

/**
 * Sends a request that starts work. On this machine it also does the work; with `--wait` it prints the result in place
 * of the reply. `lineOf` returns the line of the file that a company of a list came from. Returns the exit code.
 */
export async function runAsync(
  context: Context,
  request: OperationRequest,
  lineOf?: (ordinal: number) => number | undefined,
): Promise<number> {
  const { operation, shape, input } = request
  const { options } = request.invocation
  let { globals } = request.invocation
  const wait = waitOf(context, request.invocation, input)
  if (options.publicUrl !== undefined && !wait.printsResult)
    throw new UsageError('--public-url needs --wait.')
  if (!context.isLocal(globals)) {
    const { runRemote } = await import('./run-remote.js')
    return runRemote(context, request, wait.printsResult)
  }
  if (options.dryRun === true) return runSync(context, request)
  if (wait.printsResult) globals = await checkOutput(context, operation.id, globals)
  else globals = withFields(shape, globals)
  await confirmCall(context, request)
  const reply = await (wait.printsResult
    ? sendRequest(context, request)
    : sendAndPrint(context, { ...request, invocation: { ...request.invocation, globals } }))
  if (!isOk(reply)) return reportRefusal(context, operation, reply, globals)
  const id = jobIdOf(reply.body)
  if (id === undefined) return wait.printsResult ? printNothing(context, operation.id, globals) : exitCodes.ok
  if (!wait.printsResult) await reportSuccess(context, request, reply)
  if (wait.doesWork) return finishLocalWork(context, { id, globals, wait, lineOf })
  context.notify('The work waits for prospect serve, prospect worker or prospect engine jobs run.', globals)
  return exitCodes.ok
}
