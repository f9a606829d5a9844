import { ApiError } from '../api/errors.js'
import type { Finder } from './finder.js'

/** Searches of the kind `growth`. */
export const growthSearch: Finder<'growth'> = {
  count: () => {
    throw new ApiError('not_implemented')
  },
  find: () => {
    throw new ApiError('not_implemented')
  },
}
