import { type Input, isOk } from '../../api/calls/caller.js'
import type { Operation, OperationId } from '../../api/operations/table.js'
import type { Search } from '../../api/ports/ports.js'
import { pickFields, withoutUndefined } from '../../api/values/objects.js'
import type { Context } from '../context/context.js'
import { numberAt } from '../output/records.js'
import { callOnce } from './send.js'

/** Returns how many records match, about, where that can be asked for free and not in the same rate window as the import. */
export async function countMatches(
  context: Context,
  { id }: Operation,
  input: Input,
): Promise<number | undefined> {
  if (id === 'intents.stack') return countAt(context, 'intents.stack_preview', input, 'total_count')
  if (id !== 'leads.search') return undefined
  const { persona_id: persona, company_network_id: networkId, company_network_url: url, ...others } = input
  const { company_domain: domain, job_titles, excluded_job_titles, functions, seniority_levels } = others
  const places = pickFields(others, ['included_locations', 'excluded_locations'])
  if (persona !== undefined) return undefined
  if (context.isLocal()) {
    const of = { job_titles, excluded_job_titles, functions, seniority_levels, ...places }
    const filters = { ...withoutUndefined(of), company: withoutUndefined({ networkId, url, domain }) }
    const catalogue = await context.catalogue()
    return catalogue.count({ kind: 'people', filters } as unknown as Search<'people'>, context.clock.now())
  }
  if (functions === undefined && seniority_levels === undefined && (networkId ?? url) !== undefined) {
    const company = networkId === undefined ? { company_network_url: url } : { company_network_id: networkId }
    const titles = withoutUndefined({ title_to_include: job_titles, title_to_exclude: excluded_job_titles })
    return countAt(context, 'accounts.count_profiles', { ...company, ...titles, ...places }, 'total')
  }
  // The exact count has neither functions nor levels, and knows no domain; the preview of a search has no profiles.
  const company = networkId ?? domain
  if (company === undefined) return undefined
  const { live } = others
  const titles = withoutUndefined({ job_titles, excluded_job_titles, functions, seniority_levels, live })
  const filters = { included_companies: [company], ...titles, ...places }
  return countAt(context, 'leads.advanced_search_preview', filters, 'total_count')
}

async function countAt(context: Context, id: OperationId, input: Input, total: string) {
  const reply = await callOnce(context, id, input)
  return isOk(reply) ? numberAt(reply.body, total) : undefined
}
