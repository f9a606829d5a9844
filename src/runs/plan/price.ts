import type { Input } from '../../api/calls/caller.js'
import { mostCredits } from '../../engine/credits/cost.js'
import type { ResultRequest } from '../output/columns.js'

export interface RowPrice {
  /** Returns the maximum cost of an input in credits. */
  readonly most: (input: Input) => number
  /** Price of one record where `limit` is the maximum number of records. */
  readonly perRecord?: number | undefined
}

export function rowPriceOf({ operation, shape }: ResultRequest): RowPrice {
  const { job } = operation.price
  if (job === undefined) return { most: (input) => mostCredits(operation, input) ?? 0 }
  // An omitted limit is a price too.
  const limit = shape.input.shape.limit?.safeParse(undefined).data
  return { most: (input) => mostCredits(operation, { limit, ...input }) ?? 0, perRecord: job }
}
