import type {
  Key,
  Member,
  Principal,
  Reads,
  StoredClock,
  Transaction,
  Workspace,
} from '../../engine/ports/ports.js'
import { boundText, type Connection, mapResult } from '../driver/connection.js'
import {
  changeOf,
  fromRow,
  insertOf,
  keyColumns,
  memberColumns,
  type Row,
  selectList,
  workspaceColumns,
} from './row-mapping.js'

const principalsSql = `
SELECT ${selectList(keyColumns, 'k')}, ${selectList(memberColumns, 'm')}, ${selectList(workspaceColumns, 'w')},
  clock.offset_ms, clock.frozen_at
FROM keys k
JOIN members m ON m.id = k.member_id
JOIN workspaces w ON w.id = m.workspace_id
JOIN clock ON clock.id = 1`
const principalSql = `${principalsSql} WHERE k.hash = ${boundText}`
const ofKeySql = `${principalsSql} WHERE k.id = ${boundText}`

const limitOf = (memberId: string) => `weekly limit ${memberId}`
const limitSql = 'SELECT weekly_limit AS "weeklyLimit" FROM members WHERE id = ?'

const workspaceInsert = insertOf('workspaces', workspaceColumns)
const memberInsert = insertOf('members', memberColumns)
const keyInsert = insertOf('keys', keyColumns)

const clockOf = (row: Row): StoredClock => ({
  offsetMs: Number(row.offset_ms),
  frozenAt: row.frozen_at === null ? null : Number(row.frozen_at),
})

/** Questions about the clock, workspaces, members and keys. */
export function memberReads(connection: Connection) {
  const all = async <T>(sql: string, read: (row: Row) => T, ...values: string[]): Promise<T[]> =>
    (await connection.all<Row>(sql, ...values)).map(read)
  return {
    principal: async (hash) => {
      const row = await connection.get<Row>(principalSql, hash)
      return row && principalOf(row)
    },
    principalOfKey: async (id) => {
      const row = await connection.get<Row>(ofKeySql, id)
      return row && principalOf(row)
    },
    clock: async () =>
      clockOf((await connection.get<Row>('SELECT offset_ms, frozen_at FROM clock WHERE id = 1')) ?? {}),
    workspace: async (id) => {
      const where = id === undefined ? 'used = 1' : 'id = ?'
      const row = await connection.get<Row>(
        `SELECT ${selectList(workspaceColumns)} FROM workspaces WHERE ${where}`,
        ...(id === undefined ? [] : [id]),
      )
      return row && fromRow<Workspace>(workspaceColumns, row)
    },
    workspaces: () =>
      all(`SELECT ${selectList(workspaceColumns)} FROM workspaces ORDER BY created_at, name`, (row) =>
        fromRow<Workspace>(workspaceColumns, row),
      ),
    members: (workspaceId) =>
      all(
        `SELECT ${selectList(memberColumns)} FROM members WHERE workspace_id = ? ORDER BY created_at, email`,
        (row) => fromRow<Member>(memberColumns, row),
        workspaceId,
      ),
    keys: (workspaceId) =>
      all(
        `SELECT ${selectList(keyColumns)} FROM keys
         WHERE member_id IN (SELECT id FROM members WHERE workspace_id = ?) ORDER BY created_at, id`,
        (row) => fromRow<Key>(keyColumns, row),
        workspaceId,
      ),
  } satisfies Partial<Reads>
}

const principalOf = (row: Row): Principal => ({
  key: fromRow<Key>(keyColumns, row, 'k'),
  member: fromRow<Member>(memberColumns, row, 'm'),
  workspace: fromRow<Workspace>(workspaceColumns, row, 'w'),
  clock: clockOf(row),
})

/** Changes to the clock, workspaces, members and keys. */
export function memberWrites(connection: Connection) {
  const useWorkspace = async (id: string) => {
    await connection.run('UPDATE workspaces SET used = CASE WHEN id = ? THEN 1 ELSE 0 END', id)
  }
  return {
    setClock: async (clock) => {
      await connection.run('UPDATE clock SET offset_ms = ?, frozen_at = ?', clock.offsetMs, clock.frozenAt)
    },
    addWorkspace: async (workspace, used) => {
      await connection.run(workspaceInsert.sql, ...workspaceInsert.values(workspace))
      if (used) await useWorkspace(workspace.id)
    },
    useWorkspace,
    changeWorkspace: async (id, change) => {
      const changed = changeOf(workspaceColumns, change)
      if (changed)
        await connection.run(`UPDATE workspaces SET ${changed.set} WHERE id = ?`, ...changed.values, id)
    },
    addMember: async (member) => {
      await connection.run(memberInsert.sql, ...memberInsert.values(member))
    },
    changeMember: async (id, change) => {
      connection.known.delete(limitOf(id))
      const changed = changeOf(memberColumns, change)
      if (changed)
        await connection.run(`UPDATE members SET ${changed.set} WHERE id = ?`, ...changed.values, id)
    },
    weeklyLimit: (id) => {
      const known = connection.known.get(limitOf(id)) as number | null | undefined
      if (known !== undefined) return known
      return mapResult(connection.get<{ weeklyLimit: number | null }>(limitSql, id), (found) => {
        connection.known.set(limitOf(id), found?.weeklyLimit ?? null)
        return found?.weeklyLimit ?? null
      })
    },
    addKey: async (key) => {
      await connection.run(keyInsert.sql, ...keyInsert.values(key))
    },
    revokeKey: async (id, at) =>
      (await connection.run('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', at, id)) >
      0,
  } satisfies Partial<Transaction>
}
