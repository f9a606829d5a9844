import { ApiError } from '../../api/calls/errors.js'
import type { Connection } from '../../storage/driver/connection.js'
import { column, type RecordOf, RecordTable } from '../tables/record-table.js'
import type { HandlersOf } from './handler.js'
import { readPage } from './pagination.js'

/** A saved description of the people a workspace looks for. Times are engine time. */
export const personaTable = new RecordTable('personas', {
  id: column.text,
  workspace_id: column.text,
  name: column.text,
  created_at: column.number,
  updated_at: column.number,
  job_titles: column.json<string[]>(),
  excluded_job_titles: column.json<string[]>(),
  functions: column.json<string[]>(),
  seniority_levels: column.json<string[]>(),
})
type Persona = RecordOf<typeof personaTable>

export const personas: HandlersOf<'personas'> = {
  /** `POST /personas`: stored together with the reply of its idempotency key. */
  'personas.create': ({ input, principal, now, ids }) => {
    const { name, job_titles = [], excluded_job_titles = [], functions = [], seniority_levels = [] } = input
    const persona: Persona = {
      id: ids.uuid(),
      workspace_id: principal.workspace.id,
      name,
      job_titles,
      excluded_job_titles,
      functions,
      seniority_levels,
      created_at: now,
      updated_at: now,
    }
    return { output: toOutput(persona), keep: (tx) => personaTable.insert(tx, persona) }
  },
  'personas.list': async (context) => {
    const { rows, pagination } = await readPage(context, 'personas.list', {
      count: (tx, workspaceId) => personaTable.count(tx, 'workspace_id = ?', workspaceId),
      rows: (tx, workspaceId, slice) => personaTable.slice(tx, slice, 'workspace_id = ?', workspaceId),
      position: ({ created_at, id }) => [created_at, id],
    })
    return { output: { personas: rows.map(toOutput), pagination } }
  },
  /** `GET /personas/{uuid}`: an unknown persona and one of another workspace are both 404. */
  'personas.get': async ({ input, principal, store }) => {
    const persona = await store.read((tx) => findPersona(tx, principal.workspace.id, input.uuid))
    if (!persona) throw new ApiError('not_found')
    return { output: toOutput(persona) }
  },
  /** `DELETE /personas/{uuid}`: a second call is 404. */
  'personas.delete': async ({ input, principal, store }) => {
    const dropped = await store.transaction(
      (tx) =>
        tx.run('DELETE FROM personas WHERE workspace_id = ? AND id = ?', principal.workspace.id, input.uuid),
      principal.workspace.id,
    )
    if (dropped === 0) throw new ApiError('not_found')
    return { output: { message: 'Persona deleted' } }
  },
}

export const findPersona = (tx: Connection, workspaceId: string, id: string) =>
  personaTable.get(tx, 'WHERE workspace_id = ? AND id = ?', workspaceId, id)

const toOutput = ({ id, workspace_id: _, created_at, updated_at, ...found }: Persona) => ({
  id,
  uuid: id,
  ...found,
  created_at: new Date(created_at).toISOString(),
  updated_at: new Date(updated_at).toISOString(),
})
