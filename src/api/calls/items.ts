import { inputsOfItems } from '../operations/facts.js'
import { itemOperation } from '../operations/table.js'
import { type Caller, isOk, type Reply } from './caller.js'

/**
 * Calls an operation; a request for several of which one item is left is a single one, because servers take two or more.
 * `read` returns the body of a reply that may be passed on as it came.
 */
export async function callItems(
  caller: Pick<Caller, 'call'>,
  read: (reply: Reply) => unknown,
  ...[id, input, options]: Parameters<Caller['call']>
): Promise<Reply> {
  const of = itemOperation(id)
  const [item, ...others] = of === undefined ? [] : inputsOfItems(input)
  if (of === undefined || item === undefined || others.length > 0) return caller.call(id, input, options)
  const reply = await caller.call(of, item, options)
  const { text: _, wire: __, ...rest } = reply
  if (isOk(reply)) return { ...rest, body: { results: [read(reply)] } }
  return reply.status === 404 ? { status: 200, body: { results: [null] }, headers: {}, credits: 0 } : reply
}
