import { ApiError } from '../../api/calls/errors.js'
import { namedFields } from '../../api/schemas/enumerations.js'
import { decodeSearchUrl } from '../../catalogue/search-url/decode.js'
import type { Context } from '../context/context.js'
import type { OperationRequest } from './request.js'

/**
 * Returns what the pasted URL of a search asks for: its filters, with names in place of ids, and on this machine's engine how
 * many records match. No operation of a server tells that for free.
 */
export async function explainSearch(context: Context, { operation, input }: OperationRequest) {
  const kind = operation.id === 'accounts.extract' ? 'companies' : 'people'
  const isLocal = context.isLocal()
  try {
    const search = decodeSearchUrl(String(input.search_url), kind)
    const total = isLocal ? await (await context.catalogue()).count(search, context.clock.now()) : null
    if (!isLocal) context.notify('The number of matches is not known in advance.')
    return { search: { filters: withLabels(search.filters), total } }
  } catch (error) {
    // A server may know filters that this program does not.
    if (isLocal || !(error instanceof ApiError)) throw error
    context.notify(`The filters of this URL are not known here: ${error.message}.`)
    return { search: { filters: null, total: null } }
  }
}

/** Returns filters with the names of their ids. */
const withLabels = (filters: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(filters).map(([name, value]: [string, unknown]) => {
      const labels = namedFields[name]?.labels
      const nameOf = (id: unknown) => labels?.[String(id)] ?? id
      return [name, Array.isArray(value) ? value.map(nameOf) : value]
    }),
  )
