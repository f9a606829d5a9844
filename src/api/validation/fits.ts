import * as z from 'zod'
import type { Shape } from '../areas/shapes.js'
import type { Operation } from '../operations/table.js'
import { isObject } from '../values/objects.js'
import { bare } from './coerce.js'

/**
 * Returns what is wrong with the shape of another server's success, in words that follow "Upstream answered";
 * `undefined` when it is usable. Only lists and objects that the rest relies on are checked. Other servers have other
 * fields, and a paid result is not discarded for the type of one field.
 */
export function misfitOf(
  operation: Operation,
  { output }: Pick<Shape, 'output'>,
  body: unknown,
): string | undefined {
  const schema = bare(output)
  if (schema instanceof z.ZodArray)
    return Array.isArray(body) ? elementsMisfit(schema, body) : `${describeValue(body)} in place of a list`
  if (!isObject(body)) return `${describeValue(body)} in place of an object`
  const isRecord = operation.needs === 'unit' && operation.batch?.found === undefined
  if (isRecord || !(schema instanceof z.ZodObject)) return undefined
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape
  for (const [name, field] of Object.entries(shape)) {
    const misfit = Object.hasOwn(body, name) ? fieldMisfit(bare(field), body[name]) : undefined
    if (misfit !== undefined) return `${misfit} in ${name}`
  }
  return undefined
}

function fieldMisfit(schema: z.core.$ZodType, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  if (schema instanceof z.ZodObject)
    return isObject(value) ? undefined : `${describeValue(value)} in place of an object`
  if (!(schema instanceof z.ZodArray)) return undefined
  if (Array.isArray(value)) return elementsMisfit(schema, value)
  // Older servers answer with one value in place of a list.
  const isOlder = !isObject(value) && !(bare(schema.element) instanceof z.ZodObject)
  return isOlder ? undefined : `${describeValue(value)} in place of a list`
}

function elementsMisfit(schema: z.ZodArray, values: readonly unknown[]): string | undefined {
  if (!(bare(schema.element) instanceof z.ZodObject)) return undefined
  // In the results of a bulk request, null stands for what was not found.
  const isFine = (one: unknown) => isObject(one) || (one === null && schema.element instanceof z.ZodNullable)
  return values.every(isFine) ? undefined : 'a list of something other than objects'
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'nothing'
  return typeof value === 'object' ? 'an object' : 'a single value'
}
