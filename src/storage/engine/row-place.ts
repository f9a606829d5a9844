import { ApiError } from '../../api/calls/errors.js'

/** Rows that a run can have; its number stands in the digits above. */
export const rowsPerRun = 2 ** 32

/** Where what belongs to a row of a run is kept; refused where a place would no longer be one row's alone. */
export function placeOf(run: number, ordinal: number): number {
  const place = run * rowsPerRun + ordinal
  if (place > Number.MAX_SAFE_INTEGER)
    throw new ApiError('storage_failed', {
      reason: `it has had ${run.toLocaleString('en')} runs, and more cannot be numbered`,
    })
  return place
}

/** Number of the run that a place belongs to. */
export const runAt = (place: number): number => Math.floor(place / rowsPerRun)
