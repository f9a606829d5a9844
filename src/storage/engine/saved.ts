import type { Persona, Reads, Transaction } from '../../engine/ports/ports.js'
import type { Connection } from '../driver/connection.js'
import { fromRow, insertOf, newestFirst, personaColumns, type Row, selectList } from './row-mapping.js'

const personaList = selectList(personaColumns)
const personaInsert = insertOf('personas', personaColumns)
const secretSql = 'SELECT secret FROM cursor_secrets WHERE workspace_id = ?'
const keepSecretSql =
  'INSERT INTO cursor_secrets (workspace_id, secret) VALUES (?, ?) ON CONFLICT (workspace_id) DO NOTHING'

/** Questions about what a workspace has saved, and the secret of its cursors. */
export function savedReads(connection: Connection) {
  return {
    persona: async (workspaceId, id) => {
      const sql = `SELECT ${personaList} FROM personas WHERE workspace_id = ? AND id = ?`
      const row = await connection.get<Row>(sql, workspaceId, id)
      return row && fromRow<Persona>(personaColumns, row)
    },
    personas: async (workspaceId, slice) => {
      const { sql, values } = newestFirst(`SELECT ${personaList} FROM personas WHERE workspace_id = ?`, slice)
      const rows = await connection.all<Row>(sql, workspaceId, ...values)
      return rows.map((row) => fromRow<Persona>(personaColumns, row))
    },
    countPersonas: async (workspaceId) => {
      const sql = 'SELECT COUNT(*) AS total FROM personas WHERE workspace_id = ?'
      return (await connection.get<{ total: number }>(sql, workspaceId))?.total ?? 0
    },
    cursorSecret: async (workspaceId) =>
      (await connection.get<{ secret: string }>(secretSql, workspaceId))?.secret,
  } satisfies Partial<Reads>
}

/** Changes to what a workspace has saved. */
export function savedWrites(connection: Connection) {
  return {
    addPersona: async (persona) => {
      await connection.run(personaInsert.sql, ...personaInsert.values(persona))
    },
    dropPersona: async (workspaceId, id) =>
      (await connection.run('DELETE FROM personas WHERE workspace_id = ? AND id = ?', workspaceId, id)) > 0,
    keepCursorSecret: async (workspaceId, secret) => {
      await connection.run(keepSecretSql, workspaceId, secret)
      return (await connection.get<{ secret: string }>(secretSql, workspaceId))?.secret ?? secret
    },
  } satisfies Partial<Transaction>
}
