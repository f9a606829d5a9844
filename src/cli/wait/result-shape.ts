import type { Shape } from '../../api/areas/shapes.js'
import type { OperationId } from '../../api/operations/table.js'
import { contactResult, leadAndCompany, listRecord } from '../../api/schemas/records.js'
import { companyOf, type EventKind, eventOf } from '../../api/webhooks/events.js'
import type { Context } from '../context/context.js'
import { withFields } from '../operation/result-fields.js'
import { fileOf, isDevice, openSink } from '../output/output.js'

/**
 * Returns the context with `--fields` as the result has them. Throws where it would not have them, or could not be written
 * to `-o`.
 */
export async function checkOutput(context: Context, id: OperationId): Promise<Context> {
  const kind = eventOf(id)
  const resolved = kind ? withFields(context, { output: resultOfKind(kind) }) : context
  const file = fileOf(context.globals)
  // The reader of a pipe would take this for the end of the output.
  if (file !== undefined && (await isDevice(context, file))) return resolved
  await (await openSink(context)).discard()
  return resolved
}

/** Returns the schema of the records of a kind. */
function resultOfKind(kind: EventKind): Shape['output'] {
  if (kind === 'lead_search') return leadAndCompany()
  if (kind === 'contact_enrichment') return contactResult()
  return kind === 'list_import' ? listRecord() : companyOf(kind)
}
