import { ApiError } from '../api/errors.js'
import type { Location } from '../engine/ports.js'

/** Places of a name, best match first, 20 at most. */
export function findLocations(_name: string, _source: 'live' | 'database' | 'hiring'): readonly Location[] {
  throw new ApiError('not_implemented')
}
