import { ApiError } from '../api/errors.js'
import type { Finder } from './finder.js'

/** Searches of the kind `hiring`. */
export const hiringSearch: Finder<'hiring'> = {
  count: () => {
    throw new ApiError('not_implemented')
  },
  find: () => {
    throw new ApiError('not_implemented')
  },
}
