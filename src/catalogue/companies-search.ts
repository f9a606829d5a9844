import { ApiError } from '../api/errors.js'
import type { Finder } from './finder.js'

/** Searches of the kind `companies`. */
export const companySearch: Finder<'companies'> = {
  count: () => {
    throw new ApiError('not_implemented')
  },
  find: () => {
    throw new ApiError('not_implemented')
  },
}
