import type { Search, Source } from '../ports/ports.js'
import type { Handler } from './handler.js'
import {
  accountPreview,
  echoOf,
  filtersOf,
  importOf,
  nameOf,
  previewSize,
  searchFor,
  searchOf,
  startedMessage,
} from './imports.js'

/** `POST /accounts/`: extracts the companies of a search URL. */
export const extract: Handler<'accounts.extract'> = async ({ input, principal, now, source, store, ids }) => {
  const decoded = await source.searchAt(input.search_url, 'companies')
  const search = await store.read((reads) => searchOf(reads, principal.workspace.id, decoded))
  const id = ids.uuid()
  return {
    output: {
      message: {
        id,
        import_name: input.name,
        import_url: input.search_url,
        created_at: new Date(now).toISOString(),
        ...(input.limit === undefined ? {} : { limit: input.limit }),
        ...echoOf(input),
      },
    },
    job: importOf(id, input.name, search, input, await source.count(search, now)),
  }
}

/** `POST /accounts/search`: extracts the companies that match filters. */
export const search: Handler<'accounts.search'> = async ({ input, now, source, ids }) => {
  const { total, preview, search } = await previewCompanies(
    source,
    searchFor('companies', filtersOf(input)),
    now,
  )
  const id = ids.uuid()
  return {
    output: { message: startedMessage, id, total, preview },
    job: importOf(id, nameOf(input, 'Company search', now), search, input, total),
  }
}

/** `POST /accounts/search/preview`: the number of matches, and the first of them. */
export const searchPreview: Handler<'accounts.search_preview'> = async ({ input, now, source }) => {
  const { total, preview } = await previewCompanies(source, searchFor('companies', filtersOf(input)), now)
  return { output: { total_count: total, preview } }
}

/** Returns how many companies a search finds, and the first of them. */
export async function previewCompanies(
  source: Source,
  search: Search<'companies' | 'growth' | 'lookalikes'>,
  now: number,
) {
  const { records, next } = await source.find(search, { limit: previewSize, now })
  // Finding out that these are all takes as long as counting.
  const total = next === undefined ? records.length : await source.count(search, now)
  return { search, total, preview: records.map(({ account }) => accountPreview(account)) }
}
