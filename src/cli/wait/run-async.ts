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
  given: Context,
  request: OperationRequest,
  lineOf?: (ordinal: number) => number | undefined,
): Promise<number> {
  const { operation, shape, input } = request
  const { options } = request.invocation
  const wait = waitOf(given, request.invocation, input)
  if (options.publicUrl !== undefined && !wait.printsResult)
    throw new UsageError('--public-url needs --wait.')
  if (!given.isLocal()) {
    const { runRemote } = await import('./run-remote.js')
    return runRemote(given, request, wait.printsResult)
  }
  if (options.dryRun === true) return runSync(given, request)
  const context = wait.printsResult ? await checkOutput(given, operation.id) : withFields(given, shape)
  await confirmCall(context, request)
  const reply = await (wait.printsResult ? sendRequest(context, request) : sendAndPrint(context, request))
  if (!isOk(reply)) return reportRefusal(context, operation, reply)
  const id = jobIdOf(reply.body)
  if (id === undefined) return wait.printsResult ? printNothing(context, operation.id) : exitCodes.ok
  if (!wait.printsResult) await reportSuccess(context, request, reply)
  if (wait.doesWork) return finishLocalWork(context, { id, wait, lineOf })
  context.notify(
    'The job is queued. Run it with prospect serve, prospect worker or prospect engine jobs run.',
  )
  return exitCodes.ok
}
