import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { Persona } from '../ports/ports.js'
import { personaTable } from '../tables/record-tables.js'
import type { HandlersOf } from './handler.js'
import { readPage } from './pagination.js'

/** Handlers of the area `personas`. */
export const personas: HandlersOf<'personas'> = {
  /** `POST /personas`: stored together with the reply of its idempotency key. */
  'personas.create': ({ input, principal, now, ids }) => {
    const persona: Persona = {
      id: ids.uuid(),
      workspaceId: principal.workspace.id,
      name: input.name,
      jobTitles: input.job_titles ?? [],
      excludedJobTitles: input.excluded_job_titles ?? [],
      functions: input.functions ?? [],
      seniorityLevels: input.seniority_levels ?? [],
      createdAt: now,
      updatedAt: now,
    }
    return { output: toOutput(persona), keep: (tx) => personaTable.insert(tx, persona) }
  },
  /** `GET /personas`: newest first. */
  'personas.list': async (context) => {
    const { rows, pagination } = await readPage(context, 'personas.list', {
      count: (tx, workspaceId) => personaTable.count(tx, 'workspace_id = ?', workspaceId),
      rows: (tx, workspaceId, slice) => personaTable.slice(tx, slice, 'workspace_id = ?', workspaceId),
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

/** Finds a persona of a workspace. */
export const findPersona = (tx: Connection, workspaceId: string, id: string): Promise<Persona | undefined> =>
  personaTable.get(tx, 'WHERE workspace_id = ? AND id = ?', workspaceId, id)

const toOutput = (persona: Persona): OutputOf<'personas.get'> => ({
  id: persona.id,
  uuid: persona.id,
  name: persona.name,
  job_titles: [...persona.jobTitles],
  excluded_job_titles: [...persona.excludedJobTitles],
  functions: [...persona.functions],
  seniority_levels: [...persona.seniorityLevels],
  created_at: new Date(persona.createdAt).toISOString(),
  updated_at: new Date(persona.updatedAt).toISOString(),
})
