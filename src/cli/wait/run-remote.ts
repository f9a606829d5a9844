import type { Context } from '../context/context.js'
import { interruptible } from '../context/interrupts.js'
import type { OperationRequest } from '../operation/request.js'
import { runSync } from '../operation/run-sync.js'
import { confirmCall } from '../quote/confirm.js'
import { sendAndWait } from './await-remote.js'
import { openReceiver, withReceiver } from './receiver.js'
import { checkOutput } from './result-shape.js'
import { checkWebhook, strategyFor } from './strategy.js'

/** Sends a request that starts work to a server, and waits for the result where `isAwaited`. Returns the exit code. */
export async function runRemote(
  context: Context,
  request: OperationRequest,
  isAwaited: boolean,
): Promise<number> {
  const { operation, invocation } = request
  const { options } = invocation
  let { globals } = invocation
  const strategy = isAwaited ? strategyFor(context, request) : undefined
  if (!strategy) checkWebhook(request)
  if (options.dryRun === true)
    return runSync(context, strategy ? await withReceiver(context, request, strategy) : request)
  if (strategy) globals = await checkOutput(context, operation.id, globals)
  const resolved = { ...request, invocation: { ...invocation, globals } }
  await confirmCall(context, request)
  if (!strategy) return runSync(context, request)
  const receiver = strategy.receives ? await openReceiver(context, strategy, invocation) : undefined
  try {
    return await interruptible(context.streams, (interrupted) =>
      sendAndWait(context, resolved, strategy, receiver, interrupted),
    )
  } finally {
    await receiver?.close()
  }
}
