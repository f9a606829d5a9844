import { ApiError } from '../../api/calls/errors.js'
import { hashNumber, hashOf } from '../../csv/identity-filter.js'
import type { Table } from '../input/read.js'
import type { Batch } from './batch.js'
import type { Slot } from './row-batch.js'

/** What it takes to know what a row asks for. */
export interface Preparing extends Pick<Batch, 'input' | 'validate' | 'identity' | 'repeats' | 'most'> {
  readonly table: Pick<Table, 'header'>
}

/** Gives a row its input, price and identity; of one that makes no sense it answers what is wrong. */
export function prepare(
  { table, input, validate, identity, most, repeats }: Preparing,
  slot: Slot,
): string | undefined {
  const { cells, line } = slot.row
  if (cells.length !== table.header.length)
    return `Line ${line} has ${cells.length === 1 ? '1 cell' : `${cells.length} cells`}; the header has ${table.header.length}`
  try {
    slot.input = input(cells)
    validate?.(slot.input)
    slot.most = most(slot.input)
    slot.identity = identity(slot.input)
  } catch (error) {
    if (error instanceof ApiError) return error.message
    throw error
  }
  if (slot.identity === undefined) return undefined
  const hash = hashOf(slot.identity)
  slot.hash = hashNumber(hash)
  slot.repeats = repeats?.has(hash) ?? true
  return undefined
}
