import type { InputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { PeopleFilters, Search, Source } from '../ports/ports.js'
import type { Handler, Work } from './handler.js'
import {
  echoOf,
  filtersOf,
  importOf,
  leadPreview,
  nameOf,
  previewSize,
  searchFor,
  searchOf,
  withAccounts,
} from './imports.js'

/** `POST /leads`: extracts the people of a search URL. */
export const extract: Handler<'leads.extract'> = async ({ input, principal, now, source, store, ids }) => {
  const decoded = await source.searchAt(input.search_url, 'people')
  const search = await store.read((reads) => searchOf(reads, principal.workspace.id, decoded))
  const id = ids.uuid()
  const name = nameOf(input, 'Lead search', now)
  return {
    output: { id, status: 'processing' },
    job: importOf(id, name, search, input, await source.count(search, now)),
  }
}

/** `POST /leads/advanced_search`: extracts the people that match filters. */
export const advancedSearch: Handler<'leads.advanced_search'> = async (work) => {
  const { input, now, source, ids } = work
  const search = await advancedFilters(work)
  const id = ids.uuid()
  const job = importOf(id, nameOf(input, 'Lead search', now), search, input, await source.count(search, now))
  const message = {
    ...{ id, search_name: job.name, search_url: await urlOf(work, input) },
    expected_profiles_count: job.expected,
    created_at: new Date(now).toISOString(),
    ...echoOf(input),
  }
  return { output: { message }, job }
}

/** `POST /leads/advanced_search/preview`: the approximate number of matches, and the first of them. */
export const advancedPreview: Handler<'leads.advanced_search_preview'> = async (work) => {
  const { total, preview } = await previewPeople(work.source, await advancedFilters(work), work.now)
  return { output: { total_count: total, preview } }
}

type Advanced = 'leads.advanced_search' | 'leads.advanced_search_preview'

async function advancedFilters({ input, principal, store }: Work<Advanced>): Promise<Search<'people'>> {
  const filters = await store.read((reads) => withAccounts(reads, principal.workspace.id, filtersOf(input)))
  return searchFor('people', filters)
}

/** The URL keeps the lists as the request named them. */
const urlOf = ({ source }: Work<Advanced>, input: InputOf<Advanced>) =>
  source.urlOf({ kind: 'people', filters: filtersOf(input) })

/** `POST /leads/search`: people at a company. */
export const search: Handler<'leads.search'> = async (work) => {
  const { input, now, source, ids } = work
  const { company_network_id: networkId, company_network_url: url, company_domain: domain } = input
  const company = { networkId, url, domain }
  const known = await source.company(company)
  if (!known) throw new ApiError('no_company_found')
  const filters = { ...(await personaOf(work)), company }
  const search = searchFor('people', filters)
  const id = ids.uuid()
  const name = nameOf(input, `People at ${known.name ?? known.domain ?? 'a company'}`, now)
  return {
    output: {
      ...{ id, search_name: name, search_url: await source.urlOf(search) },
      created_at: new Date(now).toISOString(),
      ...echoOf(input),
    },
    job: importOf(id, name, search, input, await source.count(search, now)),
  }
}

/**
 * Returns the filters of a request. A persona adds its titles, and its functions and levels unless the request has
 * some.
 */
async function personaOf({ input, principal, store }: Work<'leads.search'>): Promise<PeopleFilters> {
  const { persona_id, company_network_id, company_network_url, company_domain, ...given } = filtersOf(input)
  if (persona_id === undefined) return given
  const persona = await store.read((reads) => reads.persona(principal.workspace.id, persona_id))
  if (!persona) throw new ApiError('invalid', { reason: 'persona_id: there is no such persona' })
  return {
    ...given,
    job_titles: [...persona.jobTitles],
    excluded_job_titles: [...persona.excludedJobTitles],
    functions: given.functions ?? [...persona.functions],
    seniority_levels: given.seniority_levels ?? [...persona.seniorityLevels],
  }
}

/** Returns how many people a search finds, and the first of them. */
export async function previewPeople(source: Source, search: Search<'people' | 'engagers'>, now: number) {
  const { records, next, total } = await source.find(search, { limit: previewSize, now })
  // Finding out that these are all takes as long as counting.
  const count = next === undefined ? records.length : (total ?? (await source.count(search, now)))
  return { search, total: count, preview: records.map(leadPreview) }
}
