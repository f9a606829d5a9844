import { ApiError } from '../../api/calls/errors.js'

/** Maximum number of rows of a run. A place is the number of the run times this, plus the ordinal of the row. */
export const rowsPerRun = 2 ** 32

/** Returns the place of a row. Throws when it is no safe integer, since two rows could then share a place. */
export function toPlace(run: number, ordinal: number): number {
  const place = run * rowsPerRun + ordinal
  if (place > Number.MAX_SAFE_INTEGER)
    throw new ApiError('storage_failed', {
      reason: `it has had ${run.toLocaleString('en')} runs, and more cannot be numbered`,
    })
  return place
}

export const toRunNumber = (place: number): number => Math.floor(place / rowsPerRun)

/** Returns the first place of a run and the first one after it. */
export const placesOf = (run: number): [number, number] => [toPlace(run, 0), toPlace(run + 1, 0)]
