import { boundText, type Connection, mapResult, type StoredRow } from '../../storage/driver/connection.js'
import type { Principal, Reads, StoredClock, Transaction } from '../ports/ports.js'
import { keyTable, memberTable, workspaceTable } from './record-tables.js'

const principalsSql = `
SELECT ${keyTable.list('k')}, ${memberTable.list('m')}, ${workspaceTable.list('w')}, clock.offset_ms, clock.frozen_at
FROM keys k
JOIN members m ON m.id = k.member_id
JOIN workspaces w ON w.id = m.workspace_id
JOIN clock ON clock.id = 1`
const principalSql = `${principalsSql} WHERE k.hash = ${boundText}`
const principalOfKeySql = `${principalsSql} WHERE k.id = ${boundText}`

const limitOf = (memberId: string) => `weekly limit ${memberId}`
const limitSql = 'SELECT weekly_limit AS "weeklyLimit" FROM members WHERE id = ?'

const toClock = (row: StoredRow): StoredClock => ({
  offsetMs: Number(row.offset_ms),
  frozenAt: row.frozen_at === null ? null : Number(row.frozen_at),
})

const toPrincipal = (row: StoredRow): Principal => ({
  key: keyTable.toRecord(row, 'k'),
  member: memberTable.toRecord(row, 'm'),
  workspace: workspaceTable.toRecord(row, 'w'),
  clock: toClock(row),
})

/** Returns the reads of the clock, workspaces, members and keys. */
export function memberReads(connection: Connection) {
  const findPrincipal = async (sql: string, value: string) => {
    const row = await connection.get<StoredRow>(sql, value)
    return row && toPrincipal(row)
  }
  return {
    principal: (hash) => findPrincipal(principalSql, hash),
    principalOfKey: (id) => findPrincipal(principalOfKeySql, id),
    clock: async () =>
      toClock((await connection.get<StoredRow>('SELECT offset_ms, frozen_at FROM clock WHERE id = 1')) ?? {}),
    workspace: (id) =>
      id === undefined
        ? workspaceTable.get(connection, 'WHERE used = 1')
        : workspaceTable.get(connection, 'WHERE id = ?', id),
    workspaces: () => workspaceTable.all(connection, 'ORDER BY created_at, name'),
    members: (workspaceId) =>
      memberTable.all(connection, 'WHERE workspace_id = ? ORDER BY created_at, email', workspaceId),
    keys: (workspaceId) => {
      const ofWorkspace = 'member_id IN (SELECT id FROM members WHERE workspace_id = ?)'
      return keyTable.all(connection, `WHERE ${ofWorkspace} ORDER BY created_at, id`, workspaceId)
    },
  } satisfies Partial<Reads>
}

/** Returns the changes of the clock, workspaces, members and keys. */
export function memberWrites(connection: Connection) {
  const useWorkspace = async (id: string) => {
    await connection.run('UPDATE workspaces SET used = CASE WHEN id = ? THEN 1 ELSE 0 END', id)
  }
  return {
    setClock: async ({ offsetMs, frozenAt }) => {
      await connection.run('UPDATE clock SET offset_ms = ?, frozen_at = ?', offsetMs, frozenAt)
    },
    addWorkspace: async (workspace, used) => {
      await workspaceTable.add(connection, workspace)
      if (used) await useWorkspace(workspace.id)
    },
    useWorkspace,
    changeWorkspace: async (id, change) => {
      const update = workspaceTable.update(change, 'id = ?', id)
      if (update) await connection.run(...update)
    },
    addMember: (member) => memberTable.add(connection, member),
    changeMember: async (id, change) => {
      connection.known.delete(limitOf(id))
      const update = memberTable.update(change, 'id = ?', id)
      if (update) await connection.run(...update)
    },
    weeklyLimit: (id) => {
      const known = connection.known.get(limitOf(id)) as number | null | undefined
      if (known !== undefined) return known
      return mapResult(connection.get<{ weeklyLimit: number | null }>(limitSql, id), (found) => {
        connection.known.set(limitOf(id), found?.weeklyLimit ?? null)
        return found?.weeklyLimit ?? null
      })
    },
    addKey: (key) => keyTable.add(connection, key),
    revokeKey: async (id, at) => {
      const sql = 'UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL'
      return (await connection.run(sql, at, id)) > 0
    },
  } satisfies Partial<Transaction>
}
