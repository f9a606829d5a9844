import { ApiError } from '../../api/calls/errors.js'
import { planOf } from '../../api/operations/plans.js'
import { dayMs, isoDay } from '../../api/values/dates.js'
import type { Awaitable } from '../../api/values/objects.js'
import {
  addRow,
  boundText,
  type Connection,
  type Driver,
  joinGiven,
  portionsOf,
  readNumber,
} from '../../storage/driver/connection.js'
import { type CounterState, countedAt, nextRenewal } from '../clock.js'
import { countersNamed, dropCounter, readCounter, setCounter } from '../tables/counters.js'
import { type AsyncJob, readHeldBy } from '../tables/jobs.js'
import {
  findWorkspace,
  type Member,
  readWeeklyLimit,
  updateWorkspace,
  type Workspace,
} from '../tables/members.js'
import { column, type RecordOf, RecordTable } from '../tables/record-table.js'

interface NewMovement
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

const toMovement = ({ at, ...step }: NewMovement, balance: Balances): Movement => ({
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

export interface Bill {
  readonly workspace: Workspace
  readonly member: Member
  readonly operation: string
  readonly credits: number
  /** `undefined` where a server has not said it. */
  readonly topUpUrl: string | undefined
}

/** What a member can spend: the balance of the workspace, and the rest of the member's weekly allowance. */
interface SpendableCredits {
  readonly credits: number
  readonly allowance: number
}

const unlimited = Number.POSITIVE_INFINITY

export async function readSpendableCredits(
  tx: Connection,
  workspace: Workspace,
  member: Member,
  now: number,
): Promise<SpendableCredits> {
  const { credits } = await readBalances(tx, workspace.id)
  const limit = member.weeklyLimit
  return { credits, allowance: limit === null ? unlimited : await readAllowance(tx, member, limit, now) }
}

/** Throws 402 when the balance is too low, or 403 when the weekly allowance is. */
export function checkSpendable(
  { credits: need, topUpUrl: top_up_url }: Pick<Bill, 'credits' | 'topUpUrl'>,
  { credits: have, allowance }: SpendableCredits,
): void {
  if (have < need) throw new ApiError('insufficient_credits', { need, have, top_up_url })
  if (allowance < need) throw new ApiError('workspace_limit_exceeded')
}

/** Charges a bill. Throws when balance or allowance would go below zero, also under concurrent charges. */
export async function charge(tx: Connection, bill: Bill, now: number): Promise<void> {
  const { workspace, member, operation, credits: amount } = bill
  const [balance, limit] = await both(lockPosition(tx, workspace.id), readWeeklyLimit(tx, member.id))
  const allowance = limit === null ? unlimited : await readAllowance(tx, member, limit, now)
  checkSpendable(bill, { credits: balance.credits, allowance })
  if (limit !== null) await countSpending(tx, member, amount, now)
  // One literal: a spread here would cost more than the rest of the function.
  const step: NewMovement = {
    workspace_id: workspace.id,
    kind: 'charge',
    debit: 'credits',
    credit: 'spent',
    amount,
    at: now,
    member_id: member.id,
    operation,
  }
  await appendMovement(tx, toMovement(step, balance))
}

/** Returns two results that need not wait for each other; at once when both are there, as in all but the first charge of a commit. */
const both = <A, B>(one: Awaitable<A>, other: Awaitable<B>): Awaitable<readonly [A, B]> =>
  one instanceof Promise || other instanceof Promise ? Promise.all([one, other]) : [one, other]

/** Holds the highest cost of accepted work. Throws when balance or allowance would go below zero. */
export async function holdCredits(tx: Connection, bill: Bill, jobId: string, now: number): Promise<void> {
  const { workspace, member, operation, credits: amount } = bill
  if (amount === 0) return
  const balance = await lockPosition(tx, workspace.id)
  const allowance = (await readAllowanceNow(tx, member, now)) ?? unlimited
  checkSpendable(bill, { credits: balance.credits, allowance })
  const who = { workspace_id: workspace.id, member_id: member.id, operation, reference: jobId }
  await addMovement(tx, { ...who, kind: 'hold', debit: 'credits', credit: 'held', amount, at: now }, balance)
}

/** Pays for records from the hold of their job, which is never less. Returns what is left of the hold. */
export async function settleHold(tx: Connection, job: AsyncJob, amount: number, now: number) {
  if (amount === 0) return job.held
  if (amount > job.held) throw new Error(`job ${job.id} holds ${job.held} credits and would settle ${amount}`)
  const member = { id: job.memberId, workspaceId: job.workspaceId }
  if ((await readWeeklyLimit(tx, member.id)) !== null) await countSpending(tx, member, amount, now)
  await addMovement(tx, { ...from(job), kind: 'settle', debit: 'held', credit: 'spent', amount, at: now })
  return job.held - amount
}

/** Releases the rest of an ended job's hold. */
export async function releaseHold(tx: Connection, job: AsyncJob, amount: number, now: number): Promise<void> {
  if (amount === 0) return
  const what = { ...from(job), amount, at: now }
  await addMovement(tx, { ...what, kind: 'release', debit: 'held', credit: 'credits' })
}

const from = ({ id, workspaceId, memberId, operation }: AsyncJob) => ({
  workspace_id: workspaceId,
  member_id: memberId,
  operation,
  reference: id,
})

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
  const found = tx.get<Balances>(positionSql, workspaceId)
  return found instanceof Promise ? found.then((row) => row ?? start) : (found ?? start)
}

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

/** The part of a member that counting needs; with `server`, the credits of that server are counted, in real time. */
type WeeklySpender = Pick<Member, 'id' | 'workspaceId'> & { readonly server?: string }

/** Returns the owner and the name of a counter. Those of servers are not affected when the engine's clock goes back. */
const counterOf = ({ id, server }: WeeklySpender): readonly [owner: string, name: string] =>
  server === undefined ? [`member:${id}`, 'weekly_credits'] : [serverOwner + server, serverCounter(id)]

const serverOwner = 'server:'
const serverCounter = (id: string): string => `weekly_credits ${id}`

/**
 * Returns the week of a member and the credits spent in it. It begins on Monday, 00:00 UTC. For this engine the counter exists
 * only while the member has a weekly limit; without one the ledger is summed.
 */
export async function readWeek(tx: Connection, member: WeeklySpender, now: number): Promise<CounterState> {
  const counter = await readCounter(tx, ...counterOf(member))
  const week = countedAt(counter, { period: 'week' }, now)
  if (counter || member.server !== undefined) return week
  const spent = await readConsumed(tx, member.workspaceId, week.started_at, week.resetsAt, member.id)
  return { ...week, count: spent }
}

export const readSpentThisWeek = async (
  tx: Connection,
  member: WeeklySpender,
  now: number,
): Promise<number> => (await readWeek(tx, member, now)).count

/** Returns what a member has spent this week at each server; `now` is real time. */
export async function readSpentAtServers(tx: Connection, { id }: Pick<Member, 'id'>, now: number) {
  const counters = await countersNamed(tx, serverCounter(id))
  return counters.flatMap(({ owner, ...counter }) => {
    const { count: spent } = countedAt(counter, { period: 'week' }, now)
    return spent === 0 ? [] : [{ server: owner.slice(serverOwner.length), spent }]
  })
}

/** Returns the credits a member can still spend this week; held credits count as spent, those at servers in their counter. */
async function readAllowance(tx: Connection, member: WeeklySpender, weeklyLimit: number, now: number) {
  const held = member.server === undefined ? await readHeldBy(tx, member.id) : 0
  const taken = (await readSpentThisWeek(tx, member, now)) + held
  return Math.max(0, weeklyLimit - taken)
}

/** What a member can still spend this week; what is held for accepted work counts as spent. */
export type WeekLeft = Readonly<Record<'limit' | 'spent' | 'held' | 'left' | 'resetsAt', number>>

/** Returns what a member can still spend this week; null without a limit. With `server` it is that of this server, in real time. */
export async function readWeekLeft(
  tx: Connection,
  member: WeeklySpender & Pick<Member, 'weeklyLimit'>,
  now: number,
): Promise<WeekLeft | null> {
  const { weeklyLimit: limit } = member
  if (limit === null) return null
  const { count: spent, resetsAt } = await readWeek(tx, member, now)
  const held = member.server === undefined ? await readHeldBy(tx, member.id) : 0
  return { limit, spent, held, left: Math.max(0, limit - spent - held), resetsAt }
}

/** Returns the week of a member as the API reports it. */
export const reportWeek = (week: WeekLeft | null) => {
  if (!week) return null
  const { resetsAt, ...amounts } = week
  return { ...amounts, resets_at: new Date(resetsAt).toISOString() }
}

/** Returns the allowance by the limit as it is now, which may differ from when the request began; `undefined` without a limit. */
export async function readAllowanceNow(tx: Connection, member: WeeklySpender, now: number) {
  const limit = await readWeeklyLimit(tx, member.id)
  return limit === null ? undefined : await readAllowance(tx, member, limit, now)
}

/** Adds credits to the weekly counter of a member; below 0, they are given back. */
export async function countSpending(tx: Connection, member: WeeklySpender, credits: number, now: number) {
  const { started_at: startedAt, count } = await readWeek(tx, member, now)
  await setCounter(tx, ...counterOf(member), { started_at: startedAt, count: Math.max(0, count + credits) })
}

/** Deletes the weekly counter, as when the limit changes. The next charge sums the ledger again. */
export const forgetSpending = (tx: Connection, member: WeeklySpender) => dropCounter(tx, ...counterOf(member))
