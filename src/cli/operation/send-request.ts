import { type Caller, ConnectionLost, type Input, type Reply } from '../../api/calls/caller.js'
import { isPriced } from '../../api/operations/facts.js'
import type { Context } from '../context/context.js'
import { callOnce, everyPage } from './call.js'
import { holdWithinBudget } from './hold-budget.js'
import { recordSpent } from './record-spending.js'
import type { OperationRequest } from './request.js'
import { openStoredLookups, reportStored, usesStoredAnswers } from './stored-lookups.js'

/** Answers the request of a command from the store, or sends it: one request, or one for each page with `--all`. */
export async function sendRequest(context: Context, request: OperationRequest): Promise<Reply> {
  const { operation, input, invocation } = request
  const { options } = invocation
  const open = () => context.caller()
  if (!isPriced(operation) || !usesStoredAnswers(context, invocation))
    return sendToTarget(context, request, open)
  const onStored = (answeredAt: number) => reportStored(context, answeredAt)
  const stored = await openStoredLookups(context, invocation, onStored)
  const sender: Caller = {
    call: () => sendToTarget(context, request, async () => stored.keep(await open())),
    close: async () => {},
  }
  return stored.recall(sender).call(operation.id, input, { idempotencyKey: keyOf(options) })
}

const keyOf = ({ idempotencyKey: key }: OperationRequest['invocation']['options']): string | undefined =>
  typeof key === 'string' ? key : undefined

async function sendToTarget(
  context: Context,
  request: OperationRequest,
  open: () => Promise<Caller>,
): Promise<Reply> {
  const { operation, invocation } = request
  const { options } = invocation
  const input = await holdWithinBudget(context, request)
  const caller = await open()
  const ask = (fields: Input) => callOnce(context, caller, operation, fields, keyOf(options))
  try {
    return await (options.all === true ? everyPage(ask, input) : ask(input))
  } catch (error) {
    // What was not sent costs nothing.
    if (error instanceof ConnectionLost && !error.unknown) await recordSpent(context, operation.id, 0)
    throw error
  }
}
