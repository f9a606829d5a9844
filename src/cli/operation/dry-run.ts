import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { mostCredits } from '../../engine/credits/cost.js'

/** Names of the path parameters of an operation. */
export const pathParameters = (operation: Pick<Operation, 'path'>): string[] =>
  [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/** A request as it would be sent, and what it may cost: what `--dry-run` prints. */
export interface DryRun {
  readonly method: Operation['method']
  /** Relative to the base address, with its query. */
  readonly path: string
  readonly body: Input | null
  /** Credits; `max` is null where it depends on what matches. */
  readonly price: { readonly min: number; readonly max: number | null }
}

/** Shows a request without sending it. */
export function dryRun(operation: Operation, input: Input): DryRun {
  const inPath = new Set(pathParameters(operation))
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.has(name)))
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(input[name] ?? '')),
  )
  const price = { min: 0, max: mostCredits(operation, input) }
  if (operation.method === 'POST') return { method: operation.method, path, body: rest, price }
  return { method: operation.method, path: path + queryOf(rest), body: null, price }
}

function queryOf(fields: Input): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each))
  return query.size === 0 ? '' : `?${query}`
}
