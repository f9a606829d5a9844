import {
  type Awaitable,
  addRow,
  boundText,
  type Connection,
  mapResult,
  readNumber,
} from '../../storage/driver/connection.js'
import { plain, RecordTable } from './record-table.js'

/** The accounts of a workspace's ledger. Credits come from `issued`, the only one below zero. */
export type LedgerAccount = 'issued' | 'credits' | 'held' | 'spent'

/** Why credits move. */
export type MovementKind = 'top_up' | 'allocation' | 'adjustment' | 'charge' | 'hold' | 'settle' | 'release'

/** Balances after a movement; all zero before the first one (`seq` 0). */
export interface Balances {
  readonly seq: number
  readonly credits: number
  readonly held: number
  readonly spent: number
}

/** One movement: `amount` credits from `debit` to `credit`. It is written once and never changed. */
export interface Movement extends Balances {
  readonly workspace_id: string
  readonly kind: MovementKind
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  readonly amount: number
  readonly member_id: string | null
  readonly operation: string | null
  /** Id of the request, job or command behind it. */
  readonly reference: string | null
  /** Engine time. */
  readonly created_at: number
}

/** Consumption of a range by one key, such as a day or an operation. */
export interface Consumption {
  readonly by: string
  readonly credits: number
  readonly movements: number
}

const movementTable = new RecordTable<Movement>(
  'movements',
  plain('workspace_id', 'seq', 'kind', 'debit', 'credit', 'amount', 'credits', 'held', 'spent', 'member_id'),
  plain('operation', 'reference', 'created_at'),
)

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

/** Returns the balances of a workspace after its last movement. */
export const readBalances = (tx: Connection, workspaceId: string): Awaitable<Balances> =>
  mapResult(tx.get<Balances>(positionSql, workspaceId), (found) => found ?? start)

/** The same in a transaction that has locked the workspace, or the whole database: nothing else can add a movement. */
export const lockPosition = (tx: Connection, workspaceId: string): Awaitable<Balances> =>
  (tx.known.get(`position ${workspaceId}`) as Balances | undefined) ?? readBalances(tx, workspaceId)

export const appendMovement = (tx: Connection, movement: Movement): Awaitable<void> =>
  mapResult(addRow(tx, movementTable.insertion, ...movementTable.insertValues(movement)), () => {
    tx.known.set(`position ${movement.workspace_id}`, movement)
  })

/** Returns the movements of a workspace after `afterSeq`, oldest first, at most `limit`. */
export const listMovements = (tx: Connection, workspaceId: string, afterSeq: number, limit: number) =>
  movementTable.all(
    tx,
    'WHERE workspace_id = ? AND seq > ? ORDER BY seq LIMIT ?',
    workspaceId,
    afterSeq,
    limit,
  )

/** Returns the credits consumed in `[from, to)` engine time, of one member if given. */
export const readConsumed = (
  tx: Connection,
  workspaceId: string,
  from: number,
  to: number,
  memberId?: string,
) =>
  memberId === undefined
    ? readNumber(tx, consumedSql, workspaceId, from, to)
    : readNumber(tx, consumedOfMemberSql, workspaceId, from, to, memberId)

/** Sums the credits consumed in `[from, to)` engine time: of all movements, or of those in `(after, last]`. */
export async function readConsumption(
  tx: Connection,
  workspaceId: string,
  from: number,
  to: number,
  by: 'day' | 'operation' | 'member',
  { after, last }: { readonly after: number; readonly last: number } = allMovements,
): Promise<readonly Consumption[]> {
  // The newest movements are found by their number, else those of a time by it: `+` hides a column from the planner.
  const [time, number] = after > 0 ? ['+created_at', 'seq'] : ['created_at', '+seq']
  const rows = await tx.all<{ group_key: string | number; credits: number; movements: number }>(
    `SELECT ${groupings[by]} AS group_key, sum(amount) AS credits, count(*) AS movements FROM movements
     WHERE credit = 'spent' AND workspace_id = ? AND ${time} >= ? AND ${time} < ?
       AND ${number} > ? AND ${number} <= ?
     GROUP BY 1 ORDER BY 1`,
    ...[workspaceId, from, to, after, last],
  )
  return rows.map((row) => ({
    by: by === 'day' ? dayOf(Number(row.group_key)) : String(row.group_key),
    credits: Number(row.credits),
    movements: Number(row.movements),
  }))
}

const dayOf = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)
