import type { Shape } from '../../api/areas/shapes.js'
import type { Context } from '../context/context.js'
import { checkLayout, hasField, resolveFields } from '../options/schema-options.js'
import { fieldsOf } from '../output/output.js'
import { recordsIn, valueAt } from '../output/records.js'
import type { OperationRequest } from './request.js'

/** Throws a Refusal for a field that no result has, and for a `--layout` of records that it does not have. */
export function withFields(context: Context, { output }: Pick<Shape, 'output'>): Context {
  checkLayout(output, context.globals.layout)
  const fields = fieldsOf(context.globals)
  return fields ? context.withGlobals({ fields: resolveFields(output, fields).join(',') }) : context
}

/** Returns the context without `--fields`, after a warning, where the body has none of a field that only it could know. */
export function withKnownFields(context: Context, { shape }: OperationRequest, body: unknown): Context {
  const fields = fieldsOf(context.globals) ?? []
  const { rows } = recordsIn(body, fields)
  const isMissing = (field: string) =>
    rows.length > 0 && rows.every((row) => valueAt(row, field) === undefined)
  const missing = fields.find((field) => isMissing(field) && !hasField(shape.output, field))
  if (missing === undefined) return context
  context.notify(`The result has no field "${missing}", so all of it is printed.`)
  return context.withGlobals({ fields: undefined })
}
