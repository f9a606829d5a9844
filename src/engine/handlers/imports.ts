import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { OperationId } from '../../api/operations/table.js'
import type {
  Account,
  DecodedSearch,
  FoundLead,
  PeopleFilters,
  Search,
  SearchKind,
  Source,
  UnknownCompanies,
} from '../../api/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { NewJob } from '../credits/accept.js'
import { findList, findListByNumber, listMatchedAccounts } from '../tables/lists.js'
import type { HandlerContext } from './handler.js'

/** The fields that all imports share. */
interface ImportInput {
  readonly name?: string | undefined
  readonly webhook_url?: string | undefined
  readonly limit?: number | undefined
  readonly streaming?: boolean | undefined
  readonly scale?: boolean | undefined
  readonly custom?: Readonly<Record<string, unknown>> | undefined
}

/** Number of records in a preview. */
export const previewSize = 25

/** Returns how many companies a search finds, and the first of them. */
export async function previewCompanies(
  { source, now }: ImportContext,
  search: Search<'companies' | 'growth' | 'lookalikes'>,
) {
  const { records, next } = await source.find(search, { limit: previewSize, now })
  // Finding out that these are all takes as long as counting.
  const total = next === undefined ? records.length : await source.count(search, now)
  return { total, preview: records.map(({ account }) => accountPreview(account)) }
}

/** Returns how many people a search finds, and the first of them. */
export async function previewPeople({ source, now }: ImportContext, search: Search<'people' | 'engagers'>) {
  const { records, next, total } = await source.find(search, { limit: previewSize, now })
  const count = next === undefined ? records.length : (total ?? (await source.count(search, now)))
  return { total: count, preview: records.map(leadPreview) }
}

export async function noteOf(source: Source, { kind, filters }: Search): Promise<{ note?: string }> {
  if (kind !== 'people') return {}
  const unknown = Object.entries(await source.unknownCompanies(filters))
  const note = unknown.map(([field, companies]) =>
    describeUnknown(field as keyof UnknownCompanies, companies, filters),
  )
  return note.length > 0 ? { note: note.join(' ') } : {}
}

function describeUnknown(
  field: keyof UnknownCompanies,
  unknown: readonly string[],
  { [field]: given = [] }: PeopleFilters,
): string {
  const noun = `${field.split('_', 1)[0]} ${given.length === 1 ? 'company' : 'companies'}`
  const effect = field === 'excluded_companies' ? 'exclude' : 'find'
  const says = unknown.length === 1 ? `is unknown and ${effect}s` : `are unknown and ${effect}`
  const named = unknown.slice(0, maxNamed).map((company) => company.slice(0, maxNameLength))
  const more = unknown.length > maxNamed ? ` and ${unknown.length - maxNamed} more` : ''
  return `${unknown.length} of ${given.length} ${noun} ${says} nobody: ${named.join(', ')}${more}.`
}

/** Maximum number of unknown companies that a note names, and of the characters of each. */
const maxNamed = 5
const maxNameLength = 80

type ImportContext = Pick<HandlerContext<OperationId>, 'now' | 'source' | 'ids'>
type ImportRequest = ImportContext & { readonly input: ImportInput }

/** Starts an import whose first records are in the reply. `what` is part of its default name. */
export async function startImport<T>(
  context: ImportRequest,
  search: Search,
  what: string,
  found: { readonly total: number; readonly preview: T[] },
) {
  const job = await importOf(context, search, what, found.total)
  return { output: { message: 'Import started', id: job.id, ...found }, job }
}

/** Starts an import of which each company is paid for, unless nothing matches. `count` names the number of matches. */
export async function startPaidImport<Count extends string>(
  context: ImportRequest,
  search: Search,
  what: string,
  count: Count,
) {
  const total = await context.source.count(search, context.now)
  const matches = { [count]: total } as Record<Count, number>
  if (total === 0) return { output: { ...matches, message: 'No results found' } }
  const job = await importOf(context, search, what, total)
  return {
    output: { id: job.id, ...matches, message: 'Import started' },
    job: { ...job, reserve: { company: job.expected } },
  }
}

/** Returns the job of an import: what a search finds, up to the limit. Unnamed it is `Lead search - API - 31/12/2026 18:05`. */
export async function importOf(
  { ids, now, source, input }: ImportRequest,
  search: Search,
  what: string,
  matches?: number,
): Promise<NewJob> {
  const { limit, webhook_url: webhookUrl, streaming = false, scale = false, custom } = input
  const total = matches ?? (await source.count(search, now))
  const [date = '', time = ''] = new Date(now).toISOString().split('T')
  return {
    id: ids.uuid(),
    name: input.name ?? `${what} - API - ${date.split('-').reverse().join('/')} ${time.slice(0, 5)}`,
    plan: { does: 'search', search, scale },
    expected: Math.min(limit ?? total, total),
    most: limit,
    webhookUrl,
    streaming,
    custom,
  }
}

export const echoOf = ({ custom }: ImportInput): { custom?: Record<string, unknown> } =>
  custom === undefined ? {} : { custom: { ...custom } }

/** Returns the filters of a request without its other fields. */
export function filtersOf<T extends ImportInput & { readonly live?: unknown }>(
  input: T,
): Omit<T, keyof ImportInput | 'live'> {
  const { name, webhook_url, limit, streaming, scale, custom, live, ...filters } = input
  return filters
}

interface WithLists {
  readonly included_account_lists?: readonly string[] | undefined
  readonly excluded_account_lists?: readonly string[] | undefined
}

/** Replaces account lists in filters by their companies. Throws 422 for a list that is unknown or incomplete. */
export async function withAccounts<T extends WithLists>(
  tx: Connection,
  workspaceId: string,
  { included_account_lists, excluded_account_lists, ...filters }: T,
): Promise<Omit<T, keyof WithLists> & Pick<PeopleFilters, 'included_accounts' | 'excluded_accounts'>> {
  const accounts = (field: string, ids: readonly string[]) => accountsOf(tx, workspaceId, field, ids)
  const [included, excluded] = [included_account_lists ?? [], excluded_account_lists ?? []]
  return {
    ...filters,
    ...(included.length > 0 && { included_accounts: await accounts('included_account_lists', included) }),
    ...(excluded.length > 0 && { excluded_accounts: await accounts('excluded_account_lists', excluded) }),
  }
}

async function accountsOf(tx: Connection, workspaceId: string, field: string, ids: readonly string[]) {
  const accounts: string[] = []
  for (const id of ids) {
    const byNumber = /^\d{1,15}$/.test(id)
    const list = byNumber
      ? await findListByNumber(tx, workspaceId, Number(id))
      : await findList(tx, workspaceId, id)
    if (!list) throw new ApiError('invalid', { reason: `${field}: there is no list '${id.slice(0, 80)}'` })
    if (list.status !== 'completed')
      throw new ApiError('invalid', { reason: `${field}: the list '${list.name}' is ${list.status}` })
    accounts.push(...(await listMatchedAccounts(tx, list.id)))
  }
  return accounts
}

/** Returns the search of a URL, with the companies of its account lists. */
export async function searchOf(tx: Connection, workspaceId: string, decoded: DecodedSearch) {
  if (decoded.kind === 'companies') return decoded
  return searchFor('people', await withAccounts(tx, workspaceId, decoded.filters))
}

const accountPreview = ({
  name,
  industry,
  network_id,
  network_url,
}: Account): OutputOf<'accounts.search_preview'>['preview'][number] => ({
  company_name: name,
  industry,
  network_id,
  network_url,
})

const leadPreview = ({
  lead,
  company,
  network_id,
}: FoundLead): OutputOf<'leads.advanced_search_preview'>['preview'][number] => ({
  full_name: lead.full_name,
  headline: lead.headline ?? null,
  current_company: company?.name ?? null,
  current_title: lead.title,
  network_id,
  profile_url: lead.network_profile_url,
})

export const searchFor = <K extends SearchKind>(kind: K, filters: Search<K>['filters']): Search<K> =>
  ({ kind, filters }) as unknown as Search<K>
