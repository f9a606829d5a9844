import type { Operation } from '../../api/operations/table.js'
import { eventOf } from '../../api/webhooks/events.js'
import type { GlobalOptions, StreamsContext } from '../context/context.js'
import { checkFields } from '../options/schema-options.js'
import { fieldsOf, fileOf, openSink } from '../output/output.js'
import { valueAt } from '../output/records.js'
import { resultOfKind } from './job-result.js'

/** What does not fit the result, or has no place to go, is refused before anything is sent. */
export async function checkOutput(
  context: StreamsContext,
  { id }: Operation,
  globals: GlobalOptions,
): Promise<void> {
  const kind = eventOf(id)
  if (kind) checkFields(resultOfKind(kind), fieldsOf(globals))
  await (await openSink(context, fileOf(globals), globals)).discard()
}

/** The id of the search, import, list or enrichment in a reply; nothing where no work was started. */
export function jobIdOf(body: unknown): string | undefined {
  const id = valueAt(body, 'message.id') ?? valueAt(body, 'id') ?? valueAt(body, 'enrichment_id')
  return typeof id === 'string' ? id : undefined
}
