import { addRow, boundText, type Connection, mapResult, readNumber } from '../../storage/driver/connection.js'
import type { Balances, Consumption, Reads, Transaction } from '../ports/ports.js'
import { movementTable } from './record-tables.js'

const positionSql = `
SELECT seq, credits, held, spent FROM movements WHERE workspace_id = ${boundText} ORDER BY seq DESC LIMIT 1`
const consumedSql = `
SELECT coalesce(sum(amount), 0) AS credits FROM movements
WHERE credit = 'spent' AND workspace_id = ? AND created_at >= ? AND created_at < ?`
const consumedOfMemberSql = `${consumedSql} AND member_id = ?`

const dayMs = 86_400_000
const groupings = {
  day: `created_at / ${dayMs}`,
  operation: "coalesce(operation, '')",
  member: "coalesce((SELECT email FROM members WHERE id = member_id), '')",
} as const

const allMovements = { after: 0, last: Number.MAX_SAFE_INTEGER }
const start: Balances = { seq: 0, credits: 0, held: 0, spent: 0 }

const positionOf = (connection: Connection, workspaceId: string) =>
  mapResult(connection.get<Balances>(positionSql, workspaceId), (found) => found ?? start)

/** Returns the reads of the ledger. */
export function ledgerReads(connection: Connection) {
  return {
    position: (workspaceId) => positionOf(connection, workspaceId),
    movements: (workspaceId, afterSeq, limit) => {
      const rest = 'WHERE workspace_id = ? AND seq > ? ORDER BY seq LIMIT ?'
      return movementTable.all(connection, rest, workspaceId, afterSeq, limit)
    },
    consumed: (workspaceId, from, to, memberId) =>
      memberId === undefined
        ? readNumber(connection, consumedSql, workspaceId, from, to)
        : readNumber(connection, consumedOfMemberSql, workspaceId, from, to, memberId),
    consumption: async (workspaceId, from, to, by, { after, last } = allMovements) => {
      // The newest movements are found by their number, else those of a time by it: `+` hides a column from the planner.
      const [time, number] = after > 0 ? ['+created_at', 'seq'] : ['created_at', '+seq']
      const rows = await connection.all<{ group_key: string | number; credits: number; movements: number }>(
        `SELECT ${groupings[by]} AS group_key, sum(amount) AS credits, count(*) AS movements FROM movements
         WHERE credit = 'spent' AND workspace_id = ? AND ${time} >= ? AND ${time} < ?
           AND ${number} > ? AND ${number} <= ?
         GROUP BY 1 ORDER BY 1`,
        ...[workspaceId, from, to, after, last],
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

/** Returns the changes of the ledger: movements are only added. */
export function ledgerWrites(connection: Connection) {
  return {
    // Its transaction has locked the workspace, or the whole database.
    lockPosition: (workspaceId) =>
      (connection.known.get(`position ${workspaceId}`) as Balances | undefined) ??
      positionOf(connection, workspaceId),
    append: (movement) =>
      mapResult(addRow(connection, movementTable.insert, ...movementTable.insertValues(movement)), () => {
        connection.known.set(`position ${movement.workspaceId}`, movement)
      }),
  } satisfies Partial<Transaction>
}
