import { planOf } from '../../api/operations/plans.js'
import { dayMs, isoDay } from '../../api/values/dates.js'
import type { Awaitable } from '../../api/values/objects.js'
import {
  addRow,
  boundText,
  type Connection,
  type Driver,
  findRow,
  joinGiven,
  portionsOf,
  readNumber,
} from '../../storage/driver/connection.js'
import { nextRenewal } from '../clock.js'
import { findWorkspace, updateWorkspace, type Workspace } from '../tables/members.js'
import { column, type RecordOf, RecordTable } from '../tables/record-table.js'

export interface NewMovement
  extends Pick<Movement, 'workspace_id' | 'kind' | 'debit' | 'credit' | 'amount'>,
    Partial<Record<'member_id' | 'operation' | 'reference', string>> {
  readonly at: number
}

function applyMovement(position: Balances, movement: Pick<NewMovement, 'debit' | 'credit' | 'amount'>) {
  const change = (account: LedgerAccount) =>
    (movement.credit === account ? movement.amount : 0) - (movement.debit === account ? movement.amount : 0)
  return {
    seq: position.seq + 1,
    credits: position.credits + change('credits'),
    held: position.held + change('held'),
    spent: position.spent + change('spent'),
  }
}

export const toMovement = ({ at, ...step }: NewMovement, balance: Balances): Movement => ({
  member_id: null,
  operation: null,
  reference: null,
  created_at: at,
  ...step,
  ...applyMovement(balance, step),
})

/** Appends a movement that the balances allow; `balance` is the last one, where the caller has locked it. */
export async function addMovement(tx: Connection, step: NewMovement, balance?: Balances): Promise<Balances> {
  const movement = toMovement(step, balance ?? (await lockPosition(tx, step.workspace_id)))
  await appendMovement(tx, movement)
  return movement
}

/** Grants the monthly credits of all renewals that are due. */
export async function grantDue(store: Driver, workspace: Workspace, now: number): Promise<void> {
  if (now < workspace.nextAllocationAt) return
  await store.transaction(async (tx) => {
    const current = await findWorkspace(tx, workspace.id)
    if (!current || now < current.nextAllocationAt) return
    let at = current.nextAllocationAt
    for (; at <= now; at = nextRenewal(current.createdAt, at)) await grant(tx, current, at)
    await updateWorkspace(tx, current.id, { nextAllocationAt: at })
  }, workspace.id)
}

async function grant(tx: Connection, workspace: Workspace, at: number): Promise<void> {
  const amount = planOf(workspace.plan).monthlyCredits
  if (amount === 0) return
  const what = { workspace_id: workspace.id, amount, at }
  await addMovement(tx, { ...what, kind: 'allocation', debit: 'issued', credit: 'credits' })
}

const pageSize = 10_000

/** Recomputes every balance of a workspace. Returns what is wrong. */
export async function verifyLedger(store: Pick<Driver, 'read'>, workspaceId: string) {
  const problems: string[] = []
  let position = start
  const read = (last = start) => store.read((tx) => listMovements(tx, workspaceId, last.seq, pageSize))
  for await (const page of portionsOf(pageSize, read))
    for (const movement of page) {
      problems.push(...findDifferences(applyMovement(position, movement), movement))
      position = movement
    }
  return { movements: position.seq, problems }
}

function findDifferences(expected: Balances, movement: Movement): string[] {
  const found = (['seq', 'credits', 'held', 'spent'] as const).filter(
    (field) => movement[field] !== expected[field] || movement[field] < 0,
  )
  return found.map(
    (field) => `movement ${movement.seq}: ${field} is ${movement[field]}, should be ${expected[field]}`,
  )
}

/** The accounts of a workspace's ledger. Credits come from `issued`, the only one below zero. */
export type LedgerAccount = 'issued' | 'credits' | 'held' | 'spent'

/** Why credits move. */
export type MovementKind = 'top_up' | 'allocation' | 'adjustment' | 'charge' | 'hold' | 'settle' | 'release'

/** One movement: `amount` credits from `debit` to `credit`. It is written once and never changed. */
const movementTable = new RecordTable('movements', {
  workspace_id: column.text,
  seq: column.number,
  kind: column.word<MovementKind>(),
  debit: column.word<LedgerAccount>(),
  credit: column.word<LedgerAccount>(),
  amount: column.number,
  credits: column.number,
  held: column.number,
  spent: column.number,
  member_id: column.maybeText,
  operation: column.maybeText,
  /** Id of the request, job or command behind it. */
  reference: column.maybeText,
  /** Engine time. */
  created_at: column.number,
})
export type Movement = RecordOf<typeof movementTable>

/** Balances after a movement; all zero before the first one (`seq` 0). */
type Balances = Pick<Movement, 'seq' | 'credits' | 'held' | 'spent'>

/** What consumption can be summed by. */
export const groupings = ['day', 'operation', 'member'] as const
export type Grouping = (typeof groupings)[number]

/** What was consumed under the same keys, such as by a member on a day. */
export interface Consumption extends Partial<Readonly<Record<Grouping, string>>> {
  readonly credits: number
  readonly movements: number
}

const positionSql = `
SELECT seq, credits, held, spent FROM movements WHERE workspace_id = ${boundText} ORDER BY seq DESC LIMIT 1`
const consumed =
  "FROM movements WHERE credit = 'spent' AND workspace_id = ? AND created_at >= ? AND created_at < ?"
const consumedSql = `SELECT coalesce(sum(amount), 0) AS credits ${consumed}`
const behindSql = 'WHERE workspace_id = ? AND seq > ? ORDER BY seq LIMIT ?'

const groupingSql = {
  day: `created_at / ${dayMs}`,
  operation: "coalesce(operation, '')",
  member: "coalesce((SELECT email FROM members WHERE id = member_id), '')",
} as const satisfies Record<Grouping, string>

const start: Balances = { seq: 0, credits: 0, held: 0, spent: 0 }

/** Returns the balances of a workspace after its last movement. */
export function readBalances(tx: Connection, workspaceId: string): Awaitable<Balances> {
  const found = findRow<Balances>(tx, positionSql, workspaceId)
  return found instanceof Promise ? found.then((row) => row ?? start) : (found ?? start)
}

/** The same outside of a transaction. */
export const findBalances = async (store: Pick<Driver, 'find'>, workspaceId: string): Promise<Balances> =>
  (await store.find<Balances>(positionSql, workspaceId)) ?? start

/** The same in a transaction that has locked the workspace, or the whole database: nothing else can add a movement. */
export const lockPosition = (tx: Connection, workspaceId: string): Awaitable<Balances> =>
  (tx.known.get(`position ${workspaceId}`) as Balances | undefined) ?? readBalances(tx, workspaceId)

export function appendMovement(tx: Connection, movement: Movement): Awaitable<unknown> {
  // A row that is refused undoes the transaction, and what is known with it.
  tx.known.set(`position ${movement.workspace_id}`, movement)
  return addRow(tx, movementTable.insertion, ...movementTable.insertValues(movement))
}

/** Returns the movements of a workspace after `afterSeq`, oldest first, at most `limit`. */
export const listMovements = (tx: Connection, workspaceId: string, afterSeq: number, limit: number) =>
  movementTable.all(tx, behindSql, workspaceId, afterSeq, limit)

/** Returns the credits consumed in `[from, to)` engine time, of one member if given. */
export const readConsumed = (
  tx: Connection,
  workspaceId: string,
  from: number,
  to: number,
  memberId?: string,
) => {
  const { where, values } = joinGiven([['member_id = ?', memberId]])
  return readNumber(tx, consumedSql + where, workspaceId, from, to, ...values)
}

/** Sums the credits consumed in `[from, to)` engine time by some keys, in their order; those of one member if given. */
export async function readConsumption(
  tx: Connection,
  workspaceId: string,
  {
    from = 0,
    to = Number.MAX_SAFE_INTEGER,
    member,
    operation,
  }: { from?: number; to?: number; member?: string | undefined; operation?: string },
  by: readonly Grouping[],
): Promise<readonly Consumption[]> {
  const { where: of, values } = joinGiven([
    ['member_id = ?', member],
    ['operation = ?', operation],
  ])
  const keys = by.map((name) => `${groupingSql[name]} AS ${name}`)
  const places = by.map((_, at) => at + 1).join(', ')
  const sql = `SELECT ${keys.join(', ')}, sum(amount) AS credits, count(*) AS movements ${consumed}${of}
    GROUP BY ${places} ORDER BY ${places}`
  const rows = await tx.all<Consumption>(sql, workspaceId, from, to, ...values)
  return rows.map((row) => (row.day === undefined ? row : { ...row, day: dayOf(Number(row.day)) }))
}

const dayOf = (day: number) => isoDay(day * dayMs)
