import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { NewJob } from '../credits/accept.js'
import type {
  Account,
  DecodedSearch,
  FoundLead,
  PeopleFilters,
  Reads,
  Search,
  SearchKind,
} from '../ports/ports.js'

/** The fields that all imports share. */
export interface Asked {
  readonly name?: string | undefined
  readonly webhook_url?: string | undefined
  readonly limit?: number | undefined
  readonly streaming?: boolean | undefined
  readonly scale?: boolean | undefined
  readonly custom?: Readonly<Record<string, unknown>> | undefined
}

/** Number of records in a preview. */
export const previewSize = 25

/** The message of an accepted import. */
export const startedMessage = 'Import started'
/** The message when nothing matches. */
export const nothingFound = 'No results found'

/** Returns the job of an import: everything a search finds, or as much as requested. */
export function importOf(id: string, name: string, search: Search, asked: Asked, total: number): NewJob {
  return {
    ...{ id, name },
    plan: { does: 'search', search, scale: asked.scale ?? false },
    expected: expectedOf(asked, total),
    most: asked.limit,
    webhookUrl: asked.webhook_url,
    streaming: asked.streaming ?? false,
    custom: asked.custom,
  }
}

/** Returns the number of records an import will bring: the matches, up to its limit. */
export const expectedOf = ({ limit }: Asked, total: number): number =>
  limit === undefined ? total : Math.min(limit, total)

/** Returns the default name of a search, such as `Lead search - API - 31/12/2026 18:05`. */
export function nameOf({ name }: Asked, what: string, now: number): string {
  if (name !== undefined) return name
  const [date = '', time = ''] = new Date(now).toISOString().split('T')
  return `${what} - API - ${date.split('-').reverse().join('/')} ${time.slice(0, 5)}`
}

/** Returns the custom attributes, when there are some. */
export const echoOf = ({ custom }: Asked): { custom?: Record<string, unknown> } =>
  custom === undefined ? {} : { custom: { ...custom } }

/** Returns the filters of a request without its other fields. */
export function filtersOf<T extends Asked & { readonly live?: unknown }>(
  input: T,
): Omit<T, keyof Asked | 'live'> {
  const { name, webhook_url, limit, streaming, scale, custom, live, ...filters } = input
  return filters
}

interface WithLists {
  readonly included_account_lists?: readonly string[] | undefined
  readonly excluded_account_lists?: readonly string[] | undefined
}

/** Replaces account lists in filters by their companies. Throws 422 for a list that is unknown or incomplete. */
export async function withAccounts<T extends WithLists>(
  reads: Reads,
  workspaceId: string,
  { included_account_lists, excluded_account_lists, ...filters }: T,
): Promise<Omit<T, keyof WithLists> & Pick<PeopleFilters, 'included_accounts' | 'excluded_accounts'>> {
  const accounts = (field: string, ids: readonly string[]) => accountsOf(reads, workspaceId, field, ids)
  const [included, excluded] = [included_account_lists ?? [], excluded_account_lists ?? []]
  return {
    ...filters,
    ...(included.length > 0 && { included_accounts: await accounts('included_account_lists', included) }),
    ...(excluded.length > 0 && { excluded_accounts: await accounts('excluded_account_lists', excluded) }),
  }
}

async function accountsOf(
  reads: Reads,
  workspaceId: string,
  field: string,
  ids: readonly string[],
): Promise<string[]> {
  const accounts: string[] = []
  for (const id of ids) {
    const byNumber = /^\d{1,15}$/.test(id)
    const list = byNumber
      ? await reads.listByNumber(workspaceId, Number(id))
      : await reads.list(workspaceId, id)
    if (!list) throw new ApiError('invalid', { reason: `${field}: there is no list '${id.slice(0, 80)}'` })
    if (list.status !== 'completed')
      throw new ApiError('invalid', { reason: `${field}: the list '${list.name}' is ${list.status}` })
    accounts.push(...(await reads.listedAccounts(list.id)))
  }
  return accounts
}

/** Returns the search of a URL, with the companies of its account lists. */
export async function searchOf(
  reads: Reads,
  workspaceId: string,
  decoded: DecodedSearch,
): Promise<Search<'companies' | 'people'>> {
  if (decoded.kind === 'companies') return decoded
  return { kind: 'people', filters: await withAccounts(reads, workspaceId, decoded.filters) }
}

/** Returns a company as previews show it. */
export const accountPreview = ({
  name,
  industry,
  network_id,
  network_url,
}: Account): OutputOf<'accounts.search_preview'>['preview'][number] => ({
  company_name: name,
  ...{ industry, network_id, network_url },
})

/** Returns a person as previews show them. */
export const leadPreview = ({
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

/** Returns a search of a kind with filters. */
export const searchFor = <K extends SearchKind>(kind: K, filters: Search<K>['filters']): Search<K> =>
  ({ kind, filters }) as unknown as Search<K>
