import { rowShapeOf } from '../../api/areas/shapes.js'
import { type Caller, ConnectionLost, isOk } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { wantsWebhook, withOwnWebhook } from '../../api/validation/own-webhook.js'
import { eventOf } from '../../api/webhooks/events.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { resolveFilterNames } from '../operation/filter-names.js'
import { checkTyped, type OperationRequest } from '../operation/request.js'
import { toAcceptedWork, watchPolled } from '../wait/watch.js'

/** Returns the request of an import for each row of a file. Throws UsageError where no row could be sent. */
export async function toRowImport(context: Context, request: OperationRequest): Promise<OperationRequest> {
  const { operation, invocation } = request
  const { options } = invocation
  const input = await resolveFilterNames(context, request.input)
  if (options.distribute === true)
    throw new UsageError(`--distribute is not for ${operation.command}, which waits for its results here.`)
  if (input.limit === undefined)
    throw new UsageError(
      '--limit is missing.',
      'Give the most people of each company, such as --limit 3. Each one counts against your daily profiles.',
    )
  if (!context.isLocal() && wantsWebhook(request.shape) && input.webhook_url === undefined)
    throw new UsageError(
      `${operation.command} needs --webhook-url at a server, which sends its results there, too.`,
      'Give an address of yours, or use leads search, which needs none.',
    )
  const shared = withOwnWebhook(operation.id, request.shape, input)
  const [field = ''] = operation.batch?.fields ?? []
  checkTyped(request, { [field]: field.endsWith('s') ? ['acme.example'] : 'acme.example', ...shared })
  return { ...request, input: shared, shape: await rowShapeOf(operation) }
}

const nobody = { status: 404, body: { error: 'Nobody found' }, headers: {}, credits: 0 } as const
const never = new AbortController().signal

/** Finishes work that this machine's engine accepted; `run` is the run that it is for. */
export type Finish = (run: string) => (id: string, signal: AbortSignal) => Promise<void>

/** Returns a caller that answers an import with the people that it found, when it has ended. */
export const collectFound = (
  context: Context,
  caller: Caller,
  operation: Operation,
  finish: Finish,
): Caller => ({
  ...caller,
  call: async (id, input, { signal = never, ...options } = {}) => {
    const reply = await caller.call(id, input, options)
    if (id !== operation.id || !isOk(reply)) return reply
    const accepted = toAcceptedWork({ operation, input }, eventOf(id) ?? 'lead_search', reply.body)
    if (!accepted) return nobody
    if (context.isLocal()) await finish(options.row?.run ?? '')(accepted.id, signal)
    const watch = watchPolled(context, accepted)
    const { state, error, truncated } = await watch.follow(signal, () => {})
    // The next part of the run asks for it again, under the same key.
    if (state === 'going') throw new ConnectionLost('the run was interrupted', true)
    const people = await Array.fromAsync(watch.records())
    const { headers, credits } = reply
    if (people.length > 0) return { status: operation.ok, body: { truncated, people }, headers, credits }
    return state === 'finished' ? nobody : { ...nobody, status: 502, body: { error } }
  },
})
