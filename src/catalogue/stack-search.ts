import { ApiError } from '../api/errors.js'
import type { Finder } from './finder.js'

/** Searches of the kind `stack`. */
export const stackSearch: Finder<'stack'> = {
  count: () => {
    throw new ApiError('not_implemented')
  },
  find: () => {
    throw new ApiError('not_implemented')
  },
}
