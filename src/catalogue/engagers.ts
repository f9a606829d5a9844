import { ApiError } from '../api/errors.js'
import type { Finder } from './finder.js'

/** Searches of the kind `engagers`. */
export const engagers: Finder<'engagers'> = {
  count: () => {
    throw new ApiError('not_implemented')
  },
  find: () => {
    throw new ApiError('not_implemented')
  },
}
