import { type Input, isOk } from '../../api/calls/caller.js'
import { failureOf } from '../../api/calls/errors.js'
import { operation } from '../../api/operations/table.js'
import type { Fields } from '../../api/values/objects.js'
import type { ListKind } from '../../lists/keys.js'
import type { Context } from '../context/context.js'
import { Stop } from '../context/errors.js'
import { callOnce, everyPage } from './call.js'
import { resolveListName } from './filter-names.js'

/** Yields the records of the catalogue of this machine, or the companies of the list that `list:NAME` names. */
export async function* readListRecords(
  context: Context,
  source: string,
  kind: ListKind,
): AsyncGenerator<Fields> {
  if (source === 'catalogue') return yield* (await context.catalogue()).exportRecords(kind)
  const id = await resolveListName(context, source.slice('list:'.length))
  const caller = await context.caller()
  const row = operation('lists.get')
  const reply = await everyPage((page: Input) => callOnce(context, caller, row, { id, ...page }), {})
  if (isOk(reply)) return yield* (reply.body as { readonly companies: readonly Fields[] }).companies
  const { text, exit } = failureOf(reply.status, reply.body)
  throw new Stop(`${source} cannot be read: ${text}`, exit, 'See your lists: prospect lists list')
}
