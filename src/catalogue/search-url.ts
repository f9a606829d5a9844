import { ApiError } from '../api/errors.js'
import type { Search } from '../engine/ports.js'

/** The search that a search url of the network stands for. */
export function searchAt(_url: string, _of: 'companies' | 'people'): Search<'companies' | 'people'> {
  throw new ApiError('not_implemented')
}

/** The url of a search on the network; null where it has filters that urls do not have. */
export function urlOf(_search: Search<'companies' | 'people'>): string | null {
  throw new ApiError('not_implemented')
}
