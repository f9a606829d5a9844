import type { InputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Person, PersonQuery } from '../../api/ports/ports.js'
import { tenureAt } from '../../api/values/dates.js'
import type { HandlerContext, HandlersOf } from './handler.js'
import {
  echoOf,
  filtersOf,
  importOf,
  noteOf,
  previewPeople,
  searchFor,
  searchOf,
  withAccounts,
} from './imports.js'
import { findPersona } from './personas.js'
import { answerItems, askVendorsFor, unlessLost } from './vendors.js'
import { newNotes } from './waterfall.js'

export const leads: HandlersOf<'leads'> = {
  /** One person; free when not found. `live: false` omits email address and phones. */
  'leads.enrich': async (context) => {
    const { input, source, now } = context
    const person = await source.person(toPersonQuery(input))
    if (person) return { output: personFor(input, person, now), used: { person: 1 } }
    const notes = newNotes()
    const other = await askVendorsFor(context, 'person', toPersonQuery(input), notes)
    if (!other) throw unlessLost(notes, 'no_person_found')
    return { output: personFor(input, other, now) }
  },
  /** `POST /leads/bulk_enrich`: each resolved person is paid for. */
  'leads.bulk_enrich': async (context) => {
    const { input, source, now } = context
    const { output, paid } = await answerItems<(typeof input.leads)[number], Person>(
      input.leads,
      (one) => source.person(toPersonQuery(one)),
      (one, notes) => askVendorsFor(context, 'person', toPersonQuery(one), notes),
      (person) => personFor(input, person, now),
    )
    return { output, used: { person: paid } }
  },
  'leads.extract': async (context) => {
    const { input, principal, source, store } = context
    const decoded = await source.searchAt(input.search_url, 'people')
    const { filters } = await store.read((tx) => searchOf(tx, principal.workspace.id, decoded))
    const search = searchFor('people', { ...filters, max_per_company: input.max_per_company })
    const note = await noteOf(source, search)
    const job = await importOf(context, search, 'Lead search')
    return { output: { id: job.id, status: 'processing', ...note }, job }
  },
  'leads.advanced_search': async (context) => {
    const { input, now, source } = context
    const search = await readAdvancedSearch(context)
    const job = await importOf(context, search, 'Lead search')
    const message = {
      id: job.id,
      search_name: job.name,
      // The URL keeps the lists as the request named them.
      search_url: await source.urlOf({ kind: 'people', filters: filtersOf(input) }),
      expected_profiles_count: job.expected,
      created_at: new Date(now).toISOString(),
      ...echoOf(input),
      ...(await noteOf(source, search)),
    }
    return { output: { message }, job }
  },
  /** `POST /leads/advanced_search/preview`: the approximate number of matches, and the first of them. */
  'leads.advanced_search_preview': async (context) => {
    const search = await readAdvancedSearch(context)
    const { total, preview } = await previewPeople(context, search)
    return { output: { total_count: total, preview, ...(await noteOf(context.source, search)) } }
  },
  'leads.search': async (context) => {
    const { input, now, source } = context
    const { company_network_id: networkId, company_network_url: url, company_domain: domain } = input
    const company = { networkId, url, domain }
    const known = await source.company(company)
    if (!known) throw new ApiError('no_company_found')
    const search = searchFor('people', { ...(await readPersonFilters(context)), company })
    const job = await importOf(context, search, `People at ${known.name ?? known.domain ?? 'a company'}`)
    return {
      output: {
        id: job.id,
        status: 'processing',
        search_name: job.name,
        search_url: await source.urlOf(search),
        created_at: new Date(now).toISOString(),
        ...echoOf(input),
      },
      job,
    }
  },
}

/** Returns a person with the years and months in position and company as of `now`. */
export const withTenure = (person: Person, now: number): Person => ({
  ...person,
  ...tenureAt(person.current_position?.started_at, person, now),
})

const toPersonQuery = (input: Omit<InputOf<'leads.enrich'>, 'live'>): PersonQuery => ({
  url: input.network_url,
  firstName: input.first_name,
  lastName: input.last_name,
  companyName: input.company_name,
  domain: input.domain,
})

/** Returns a person as a request gets it: `live: false` omits email address and phones. */
function personFor({ live }: { readonly live: boolean }, found: Person, now: number): Person {
  const person = withTenure(found, now)
  if (live) return person
  const { most_probable_email: _, most_probable_email_status: __, phones: ___, ...rest } = person
  return rest
}

type Advanced = 'leads.advanced_search' | 'leads.advanced_search_preview'

async function readAdvancedSearch({ input, principal, store }: HandlerContext<Advanced>) {
  const filters = await store.read((tx) => withAccounts(tx, principal.workspace.id, filtersOf(input)))
  return searchFor('people', filters)
}

/** Returns the filters of a request. A persona adds its titles, and functions and levels where there are none. */
async function readPersonFilters({ input, principal, store }: HandlerContext<'leads.search'>) {
  const { persona_id, company_network_id, company_network_url, company_domain, ...given } = filtersOf(input)
  if (persona_id === undefined) return given
  const persona = await store.read((tx) => findPersona(tx, principal.workspace.id, persona_id))
  if (!persona) throw new ApiError('invalid', { reason: 'persona_id: there is no such persona' })
  return {
    ...given,
    job_titles: persona.job_titles,
    excluded_job_titles: persona.excluded_job_titles,
    functions: given.functions ?? persona.functions,
    seniority_levels: given.seniority_levels ?? persona.seniority_levels,
  }
}
