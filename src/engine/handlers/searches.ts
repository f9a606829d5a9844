import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Lead } from '../../api/ports/ports.js'
import { withoutUndefined } from '../../api/values/objects.js'
import { releaseHold } from '../credits/charge.js'
import { toFoundCompany } from '../jobs/payloads.js'
import {
  type AsyncJob,
  countJobs,
  countRecords,
  dropJobs,
  findJob,
  listJobs,
  listRecords,
  lockJobOf,
} from '../tables/jobs.js'
import type { HandlersOf } from './handler.js'
import { readPage } from './pagination.js'

export const searches: HandlersOf<'searches'> = {
  /** `GET /searches`: newest first; without `enriched=false` only those with a lead that has contact data. */
  'searches.list': async (context) => {
    const { enriched } = context.input
    const filter = { kind: 'lead_search', ...(enriched ? { enriched } : {}) } as const
    const { rows, pagination } = await readPage(context, 'searches.list', {
      filters: { enriched },
      count: (tx, workspaceId) => countJobs(tx, workspaceId, filter),
      rows: (tx, workspaceId, slice) => listJobs(tx, workspaceId, filter, slice),
      position: ({ createdAt, id }) => [createdAt, id],
    })
    return { output: { searches: rows.map(toEntry), pagination } }
  },
  /** `GET /searches/{id}`: what it found, in the order found: people, or companies as deliveries have them. */
  'searches.get': async (context) => {
    const { input, principal, store } = context
    const search = await store.read((tx) => findJob(tx, principal.workspace.id, input.id))
    if (search?.plan.does !== 'search') throw new ApiError('not_found')
    const status = input.status && statuses[input.status]
    const { rows, pagination } = await readPage(context, 'searches.get', {
      filters: { id: search.id, status: input.status },
      count: (tx) => countRecords(tx, search.id, status),
      rows: async (tx, _, { after, skip, limit }) => {
        const range = { after: after?.[0] ?? 0, skip, ...(status ? { status } : {}) }
        return listRecords(tx, search.id, range, limit)
      },
      position: ({ ordinal }) => [ordinal, ''],
    })
    const error = search.state === 'failed' ? (search.error ?? undefined) : undefined
    const ending = withoutUndefined({ status: states[search.state], truncated: search.truncated, error })
    if (search.kind === 'lead_search') {
      const leads = rows.map(({ record }) => JSON.parse(record) as Lead)
      return { output: { search: { ...toEntry(search), ...ending }, leads, pagination } }
    }
    const { leads_count: accounts_count, ...entry } = toEntry(search)
    const accounts = rows.map(({ ordinal, record }) => toFoundCompany(ordinal, record))
    return { output: { search: { ...entry, accounts_count, ...ending }, accounts, pagination } }
  },
  /**
   * `DELETE /searches/{id}`: with its records, and deliveries that are not made yet. What it was charged for stays paid,
   * and the rest of its hold is released. Whoever works on it has lost it.
   */
  'searches.delete': async ({ input, principal: { workspace }, now, store }) => {
    const deleted = await store.transaction(async (tx) => {
      const search = await lockJobOf(tx, workspace.id, input.id)
      if (search?.plan.does !== 'search') return false
      await releaseHold(tx, search, search.held, now)
      await dropJobs(tx, [search.id])
      return true
    }, workspace.id)
    if (!deleted) throw new ApiError('not_found')
    return { output: { message: 'Search deleted' } }
  },
}

const toEntry = ({ id, name, done, createdAt }: AsyncJob): OutputOf<'searches.list'>['searches'][number] => ({
  id,
  name,
  leads_count: done,
  created_at: new Date(createdAt).toISOString(),
})

const states = { queued: 'NOT_STARTED', running: 'ONGOING', finished: 'FINISHED', failed: 'ERROR' } as const
const statuses = { qualified: 'QUALIFIED', disqualified: 'DISQUALIFIED' } as const
