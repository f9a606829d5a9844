import type { Context } from '../context/context.js'
import { interruptible } from '../context/interrupts.js'
import type { OperationRequest } from '../operation/request.js'
import { runSync } from '../operation/run-sync.js'
import { confirmCall } from '../quote/confirm.js'
import { targetIn } from '../target/resolve-target.js'
import { sendAndWait } from './await-remote.js'
import { openReceiver, withReceiver } from './receiver.js'
import { checkOutput } from './result-shape.js'
import { checkWebhook, waitStrategyOf } from './strategy.js'

/** Sends a request that starts work to a server, and waits for the result where `isAwaited`. Returns the exit code. */
export async function runRemote(
  given: Context,
  request: OperationRequest,
  isAwaited: boolean,
): Promise<number> {
  const { operation, input, invocation } = request
  const { options } = invocation
  const strategy = isAwaited ? waitStrategyOf(operation, input, targetIn(given), options) : undefined
  if (!strategy) checkWebhook(request)
  if (options.dryRun === true)
    return runSync(given, strategy ? await withReceiver(given, request, strategy) : request)
  const context = strategy ? await checkOutput(given, operation.id) : given
  await confirmCall(context, request)
  if (!strategy) return runSync(context, request)
  const receiver = strategy.receives ? await openReceiver(context, strategy, invocation) : undefined
  try {
    return await interruptible(context.streams, (interrupted) =>
      sendAndWait(context, request, strategy, receiver, interrupted),
    )
  } finally {
    await receiver?.close()
  }
}
