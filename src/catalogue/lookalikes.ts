import { ApiError } from '../api/errors.js'
import type { Finder } from './finder.js'

/** Searches of the kind `lookalikes`. */
export const lookalikes: Finder<'lookalikes'> = {
  count: () => {
    throw new ApiError('not_implemented')
  },
  find: () => {
    throw new ApiError('not_implemented')
  },
}
