import type { Consumption, Movement, Position, Reads, Transaction } from '../../engine/ports/ports.js'
import { addRow, boundText, type Connection, mapResult } from '../driver/connection.js'
import { fromRow, insertOf, movementColumns, type Row, selectList } from './row-mapping.js'

const positionSql = `
SELECT seq, credits, held, spent FROM movements WHERE workspace_id = ${boundText} ORDER BY seq DESC LIMIT 1`
const movementsSql = `
SELECT ${selectList(movementColumns)} FROM movements WHERE workspace_id = ? AND seq > ? ORDER BY seq LIMIT ?`
const consumedSql = `
SELECT coalesce(sum(amount), 0) AS credits FROM movements
WHERE credit = 'spent' AND workspace_id = ? AND created_at >= ? AND created_at < ?`
const movementInsert = insertOf('movements', movementColumns)

const dayMs = 86_400_000
const groupings = {
  day: `created_at / ${dayMs}`,
  operation: "coalesce(operation, '')",
  member: "coalesce((SELECT email FROM members WHERE id = member_id), '')",
} as const

const start: Position = { seq: 0, credits: 0, held: 0, spent: 0 }

const positionOf = (connection: Connection, workspaceId: string) =>
  mapResult(connection.get<Position>(positionSql, workspaceId), (found) => found ?? start)

/** Questions about credits. */
export function ledgerReads(connection: Connection) {
  return {
    position: (workspaceId) => positionOf(connection, workspaceId),
    movements: async (workspaceId, afterSeq, limit) =>
      (await connection.all<Row>(movementsSql, workspaceId, afterSeq, limit)).map((row) =>
        fromRow<Movement>(movementColumns, row),
      ),
    consumed: async (workspaceId, from, to, memberId) => {
      const [sql, values] =
        memberId === undefined ? [consumedSql, []] : [`${consumedSql} AND member_id = ?`, [memberId]]
      const row = await connection.get<{ credits: number }>(sql, workspaceId, from, to, ...values)
      return Number(row?.credits ?? 0)
    },
    consumption: async (workspaceId, from, to, by) => {
      const rows = await connection.all<{ group_key: string | number; credits: number; movements: number }>(
        `SELECT ${groupings[by]} AS group_key, sum(amount) AS credits, count(*) AS movements FROM movements
         WHERE credit = 'spent' AND workspace_id = ? AND created_at >= ? AND created_at < ?
         GROUP BY 1 ORDER BY 1`,
        workspaceId,
        from,
        to,
      )
      return rows.map(
        (row): Consumption => ({
          by: by === 'day' ? dayOf(Number(row.group_key)) : String(row.group_key),
          credits: Number(row.credits),
          movements: Number(row.movements),
        }),
      )
    },
  } satisfies Partial<Reads>
}

const dayOf = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)

/** Changes to credits: a movement is only ever added. */
export function ledgerWrites(connection: Connection) {
  return {
    // The transaction has the workspace to itself, or the whole database.
    lockPosition: (workspaceId) =>
      (connection.known.get(`position ${workspaceId}`) as Position | undefined) ??
      positionOf(connection, workspaceId),
    append: (movement) =>
      mapResult(addRow(connection, movementInsert.sql, ...movementInsert.values(movement)), () => {
        connection.known.set(`position ${movement.workspaceId}`, movement)
      }),
  } satisfies Partial<Transaction>
}
