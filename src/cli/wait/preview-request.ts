import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import type { ClockContext, HomeContext, StreamsContext } from '../context/context.js'
import { openEvents } from '../context/open-databases.js'
import type { Invocation } from '../options/command-environment.js'
import { targetOf } from '../target/resolve-target.js'
import { expectedUrl } from './receiver.js'
import { waitStrategyOf } from './strategy.js'

/** A request whose result is waited for, as it would be sent to a server: with the address where it is received. */
export async function withReceiver(
  context: StreamsContext & ClockContext & HomeContext,
  row: Operation,
  input: Input,
  { globals, options }: Invocation,
): Promise<Input> {
  const target = targetOf(globals, context.streams.env, context.settings())
  const { receives, known, port } = waitStrategyOf(row, input, target, options)
  if (!receives) return input
  const given = typeof options.idempotencyKey === 'string' ? options.idempotencyKey : undefined
  const place = { known, port, key: given ?? context.ids.uuid() }
  if (given === undefined)
    context.notify(
      'The path of webhook_url is another one each time, unless --idempotency-key is given.',
      globals,
    )
  return { ...input, webhook_url: await expectedUrl(context, await openEvents(context), place) }
}
