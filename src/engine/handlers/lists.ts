import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import { toListOutput } from '../jobs/payloads.js'
import {
  countCompanies,
  findList,
  type ListedCompany,
  listCompanies,
  listTable,
  updateList,
} from '../tables/lists.js'
import type { HandlersOf } from './handler.js'
import { readPage } from './pagination.js'

export const lists: HandlersOf<'lists'> = {
  /** `POST /lists`: the companies are matched afterwards. */
  'lists.create': ({ input, principal, now, ids }) => {
    const id = ids.uuid()
    // A positive whole number.
    const network_list_id = Buffer.from(ids.bytes(6)).readUIntBE(0, 6) + 1
    const { name, companies = [], webhook_url: webhookUrl, custom } = input
    const times = { created_at: now, updated_at: now }
    return {
      output: { id, network_list_id },
      job: {
        id,
        name,
        webhookUrl,
        custom,
        plan: { does: 'list' },
        expected: companies.length,
        list: {
          id,
          workspace_id: principal.workspace.id,
          name,
          network_list_id,
          status: 'pending',
          ...times,
          companies: companies.map(({ network_url: url, domain, name, country_code: country }) => ({
            url,
            domain,
            name,
            country,
          })),
        },
      },
    }
  },
  'lists.list': async (context) => {
    const { rows, pagination } = await readPage(context, 'lists.list', {
      count: (tx, workspaceId) => listTable.count(tx, 'workspace_id = ?', workspaceId),
      rows: (tx, workspaceId, slice) => listTable.slice(tx, slice, 'workspace_id = ?', workspaceId),
      position: ({ created_at, id }) => [created_at, id],
    })
    return { output: { lists: rows.map(toListOutput), pagination } }
  },
  /** `GET /lists/{id}`, with its companies: an unknown list and one of another workspace are both 404. */
  'lists.get': async (context) => {
    const { input, principal, store } = context
    const found = await store.read((tx) => findList(tx, principal.workspace.id, input.id))
    if (!found) throw new ApiError('not_found')
    const { rows, pagination } = await readPage(context, 'lists.get', {
      filters: { id: found.id },
      count: (tx) => countCompanies(tx, found.id),
      rows: (tx, _, { after, skip, limit }) => listCompanies(tx, found.id, after?.[0] ?? 0, limit, skip),
      position: ({ ordinal }) => [ordinal, ''],
    })
    return { output: { ...toListOutput(found), companies: rows.map(toListedOutput), pagination } }
  },
  'lists.rename': async ({ input: { id, name }, principal: { workspace }, now, store }) => {
    const renamed = await store.transaction(async (tx) => {
      if (await findList(tx, workspace.id, id)) await updateList(tx, id, { name, updated_at: now })
      return await findList(tx, workspace.id, id)
    }, workspace.id)
    if (!renamed) throw new ApiError('not_found')
    return { output: toListOutput(renamed) }
  },
}

const toListedOutput = ({
  ordinal,
  company: { name, domain, url, country },
  account_id,
}: ListedCompany): OutputOf<'lists.get'>['companies'][number] => ({
  ordinal,
  name: name ?? null,
  domain: domain ?? null,
  network_url: url ?? null,
  country_code: country ?? null,
  account_id,
})
