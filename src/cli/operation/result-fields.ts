import type { Shape } from '../../api/areas/shapes.js'
import type { GlobalOptions, StreamsContext } from '../context/context.js'
import { checkLayout, hasField, resolveFields } from '../options/schema-options.js'
import { fieldsOf } from '../output/output.js'
import { recordsIn, valueAt } from '../output/records.js'
import type { OperationRequest } from './request.js'

/**
 * Returns the options with `--fields` as a result has them. Throws a Refusal for a field that no result has, and for a
 * `--layout` of records that it does not have.
 */
export function withFields({ output }: Pick<Shape, 'output'>, globals: GlobalOptions): GlobalOptions {
  checkLayout(output, globals.layout)
  const fields = fieldsOf(globals)
  return fields ? { ...globals, fields: resolveFields(output, fields).join(',') } : globals
}

/** Returns the options without `--fields`, after a warning, where the body has none of a field that only it could know. */
export function withKnownFields(
  context: StreamsContext,
  { shape }: OperationRequest,
  body: unknown,
  globals: GlobalOptions,
) {
  const fields = fieldsOf(globals) ?? []
  const { rows } = recordsIn(body, fields)
  const isMissing = (field: string) =>
    rows.length > 0 && rows.every((row) => valueAt(row, field) === undefined)
  const missing = fields.find((field) => isMissing(field) && !hasField(shape.output, field))
  if (missing === undefined) return globals
  context.notify(`The result has no field "${missing}", so all of it is printed.`, globals)
  const { fields: _, ...rest } = globals
  return rest
}
