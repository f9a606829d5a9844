import { ConnectionLost, isOk, type Reply } from '../../api/calls/caller.js'
import { failureOf } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { Context } from '../context/context.js'
import { reportOfReply, Stop } from '../context/errors.js'
import { reportRefusal } from '../operation/refusal.js'
import type { OperationRequest } from '../operation/request.js'
import { sendRequest } from '../operation/send-request.js'
import { reportError } from '../output/report-error.js'
import { waitOf } from './options.js'
import type { Receiver } from './receiver.js'
import { printNothing } from './result.js'
import type { WaitStrategy } from './strategy.js'
import { toAcceptedWork } from './watch.js'
import { watchRemote } from './watch-remote.js'

/**
 * Sends a request that starts work, waits for the result, and prints it in place of the reply. Returns the exit code.
 */
export async function sendAndWait(
  context: Context,
  request: OperationRequest,
  strategy: WaitStrategy,
  receiver: Receiver | undefined,
  interrupted: AbortSignal,
): Promise<number> {
  const { operation, invocation } = request
  const reply = await send(context, request, receiver)
  if (reply.unknown && receiver)
    return reportError(context, { ...reportOfReply(reply), hint: retryHint(receiver.key) })
  if (!isOk(reply)) {
    if (!receiver || !refusesAddress(reply)) return reportRefusal(context, operation, reply)
    context.notify('The server cannot send webhooks to this machine, so its results are polled.')
    return sendAndWait(context, request, strategy, undefined, interrupted)
  }
  const accepted = toAcceptedWork(request, strategy.kind, reply.body)
  if (!accepted) return printNothing(context, operation.id)
  const { seconds } = waitOf(context, invocation, request.input)
  const isReplayed = reply.headers['idempotent-replayed'] === 'true'
  return watchRemote(context, { accepted, strategy, receiver, seconds, isReplayed }, interrupted)
}

/** Sends the request, with the receiver's address and the key that the address is derived from. */
async function send(
  context: Context,
  request: OperationRequest,
  receiver: Receiver | undefined,
): Promise<Reply> {
  if (!receiver) return sendRequest(context, request)
  const { key, url } = receiver
  const { input, invocation } = request
  const options = { ...invocation.options, idempotencyKey: key }
  try {
    return await sendRequest(context, {
      ...request,
      input: { ...input, webhook_url: url },
      invocation: { ...invocation, options },
    })
  } catch (error) {
    if (!(error instanceof ConnectionLost && error.unknown)) throw error
    const text = `${error.message}. Whether the job was started and charged is not known`
    throw new Stop(text, exitCodes.unreachable, retryHint(key), 'outcome_unknown')
  }
}

const retryHint = (key: string): string =>
  `Run the same command again with --idempotency-key ${key}: a server that supports idempotency keys starts the job once.`

/** Whether a server refuses the webhook, as those do that deliver to public addresses only. */
const refusesAddress = ({ status, body }: Reply): boolean =>
  [400, 422].includes(status) && failureOf(status, body).text.includes('webhook_url')
