import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { hasBody, pathParameters } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import { mostCredits } from './cost.js'

/** What a request sends, and what it can cost. */
export interface DryRun {
  readonly method: Operation['method']
  /** Relative to the base address, with the query. */
  readonly path: string
  readonly body: Input | null
  /** Credits; `max` is null where it depends on what matches. */
  readonly price: { readonly min: number; readonly max: number | null }
}

/** Returns what a request would send and cost, without sending it. */
export function dryRun(operation: Operation, { input: schema }: Pick<Shape, 'input'>, input: Input): DryRun {
  const inPath = new Set(pathParameters(operation))
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.has(name)))
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(input[name] ?? '')),
  )
  // Defaults of the schema count: an omitted limit can have a price.
  const parsed = schema.safeParse(input)
  const price = { min: 0, max: mostCredits(operation, parsed.success ? parsed.data : input) }
  const { method } = operation
  if (hasBody(operation)) return { method, path, body: rest, price }
  return { method, path: path + queryOf(rest), body: null, price }
}

function queryOf(fields: Input): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each))
  return query.size === 0 ? '' : `?${query}`
}
