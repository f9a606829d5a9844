import { ApiError } from '../api/errors.js'
import type { Finder } from './finder.js'

/** Searches of the kind `people`. */
export const peopleSearch: Finder<'people'> = {
  count: () => {
    throw new ApiError('not_implemented')
  },
  find: () => {
    throw new ApiError('not_implemented')
  },
}
