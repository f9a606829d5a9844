import type { InputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Account, CompanyQuery, Headcount, JobPosting } from '../../api/ports/ports.js'
import type { HandlersOf } from './handler.js'
import { echoOf, filtersOf, importOf, previewCompanies, searchFor, searchOf, startImport } from './imports.js'
import { answerItems, askVendorsFor, unlessLost } from './vendors.js'
import { newNotes } from './waterfall.js'

export const accounts: HandlersOf<'accounts'> = {
  /** One company; free when not found. `live: false` omits the phone. */
  'accounts.enrich': async (context) => {
    const { input, source } = context
    const query = toEnrichQuery(input)
    const account = await source.company(query)
    if (account) return { output: accountFor(input, account), used: { company: 1 } }
    const notes = newNotes()
    const other = await askVendorsFor(context, 'company', toVendorQuery(input), notes)
    if (!other) throw unlessLost(notes, 'no_company_found')
    return { output: accountFor(input, other) }
  },
  /** `POST /accounts/bulk_enrich`: each resolved company is paid for. */
  'accounts.bulk_enrich': async (context) => {
    const { input, source } = context
    const { output, paid } = await answerItems<(typeof input.accounts)[number], Account>(
      input.accounts,
      (one) => source.company(toEnrichQuery(one)),
      (one, notes) => askVendorsFor(context, 'company', toVendorQuery(one), notes),
      (account) => accountFor(input, account),
    )
    return { output, used: { company: paid } }
  },
  'accounts.technologies': async ({ input, source }) => ({
    output: { technologies: [...(await source.technologies(input.query ?? '', input.limit))] },
  }),
  /** The technologies of a company, surest first; free when none is known. */
  'accounts.stack': async ({ input, source }) => {
    const uses = orNotFound(await source.stack(toCompanyQuery(input)))
    return {
      output: { technologies: uses.map(({ name }) => name), technologies_with_confidence: [...uses] },
      used: { company: uses.length > 0 ? 1 : 0 },
    }
  },
  'accounts.headcount': async ({ input, source }) => {
    const output = orNotFound(await source.headcount(toCompanyQuery(input), input.departments ?? []))
    if (input.live !== false) return { output }
    const now = ([department, { current_headcount }]: [string, Headcount[string]]) =>
      [department, { current_headcount }] as const
    return { output: Object.fromEntries(Object.entries(output).map(now)) }
  },
  'accounts.count_profiles': async ({ input, source }) => {
    const { title_to_include, title_to_exclude, included_locations, excluded_locations } = input
    const filters = { title_to_include, title_to_exclude, included_locations, excluded_locations }
    return {
      output: {
        total: orNotFound(await source.countProfiles(toCompanyQuery(input), filters)),
        title_to_include: title_to_include ?? [],
        title_to_exclude: title_to_exclude ?? [],
        included_locations: included_locations ?? [],
        excluded_locations: excluded_locations ?? [],
      },
    }
  },
  /** The newest open jobs of a company, never more than can be paid for. */
  'accounts.hiring': async ({ input, source, affordable, now }) => {
    const { limit, full_description, ...filters } = input
    const { total, jobs } = orNotFound(
      await source.jobs(toCompanyQuery(input), filters, Math.min(limit, affordable), now),
    )
    return {
      output: {
        total_jobs: total,
        truncated: jobs.length < Math.min(total, limit),
        jobs: full_description ? [...jobs] : jobs.map(withSnippet),
      },
      used: { job: jobs.length },
    }
  },
  'accounts.extract': async (context) => {
    const { input, principal, now, source, store } = context
    const decoded = await source.searchAt(input.search_url, 'companies')
    const search = await store.read((tx) => searchOf(tx, principal.workspace.id, decoded))
    const job = await importOf(context, search, 'Company search')
    const message = {
      id: job.id,
      import_name: input.name,
      import_url: input.search_url,
      created_at: new Date(now).toISOString(),
      ...(input.limit === undefined ? {} : { limit: input.limit }),
      ...echoOf(input),
    }
    return { output: { message }, job }
  },
  'accounts.search': async (context) => {
    const search = searchFor('companies', filtersOf(context.input))
    const found = await previewCompanies(context, search)
    const { output, job } = await startImport(context, search, 'Company search', found)
    return { output: { ...output, status: 'processing' }, job }
  },
  'accounts.search_preview': async (context) => {
    const found = await previewCompanies(context, searchFor('companies', filtersOf(context.input)))
    return { output: { total_count: found.total, preview: found.preview } }
  },
}

const toEnrichQuery = ({
  company_network_url: url,
  domain,
  name,
  country,
}: Omit<InputOf<'accounts.enrich'>, 'live'>): CompanyQuery => ({ url, domain, name, country })

const toVendorQuery = (input: Parameters<typeof toEnrichQuery>[0]) => {
  const { name: companyName, ...query } = toEnrichQuery(input)
  return { ...query, companyName }
}

/** Returns a company as a request gets it: `live: false` omits the phone. */
function accountFor({ live }: { readonly live: boolean }, account: Account): Account {
  if (live) return account
  const { phone: _, ...rest } = account
  return rest
}

const snippetLength = 300

/** Cuts between characters, not inside a surrogate pair. */
function withSnippet(job: JobPosting): JobPosting {
  const { description } = job
  if (description === null || description.length <= snippetLength) return job
  const characters = [...description]
  if (characters.length <= snippetLength) return job
  return { ...job, description: `${characters.slice(0, snippetLength).join('')}…` }
}

type CompanyField = `company_${'network_id' | 'network_url' | 'domain' | 'name'}`

const toCompanyQuery = (input: Partial<Record<CompanyField, string | undefined>>): CompanyQuery => ({
  networkId: input.company_network_id,
  url: input.company_network_url,
  domain: input.company_domain,
  name: input.company_name,
})

/** Returns what was found; throws 404 when the company is unknown. */
function orNotFound<T>(answer: T | undefined): T {
  if (answer === undefined) throw new ApiError('no_company_found')
  return answer
}
