import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { mostCredits } from '../../engine/credits/price.js'

/** What the rows of a batch can cost. */
export interface RowPrice {
  /** The most that an input can cost, in credits. */
  readonly most: (input: Input) => number
  /** Price of one record where `limit` says how many there are at most. */
  readonly perRecord?: number
}

/** What the rows of an operation can cost. */
export function rowPriceOf(operation: Operation, shape: Shape): RowPrice {
  const { job } = operation.price
  if (job === undefined) return { most: (input) => mostCredits(operation, input) ?? 0 }
  // An omitted limit is a price too.
  const limit = shape.input.shape.limit?.safeParse(undefined).data
  return { most: (input) => mostCredits(operation, { limit, ...input }) ?? 0, perRecord: job }
}
