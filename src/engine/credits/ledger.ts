import { ApiError } from '../../api/calls/errors.js'
import { planOf } from '../../api/operations/plans.js'
import type { Awaitable, Connection, Driver } from '../../storage/driver/connection.js'
import { nextRenewal } from '../clock.js'
import type { AsyncJob } from '../tables/jobs.js'
import {
  findWorkspace,
  type Member,
  readWeeklyLimit,
  updateWorkspace,
  type Workspace,
} from '../tables/members.js'
import {
  appendMovement,
  type Balances,
  type LedgerAccount,
  listMovements,
  lockPosition,
  type Movement,
  readBalances,
} from '../tables/movements.js'
import { checkWeeklyLimit, countSpending, readAllowance, readAllowanceNow } from './weekly-limit.js'

/** A movement to make. */
interface NewMovement
  extends Pick<Movement, 'workspace_id' | 'kind' | 'debit' | 'credit' | 'amount'>,
    Partial<Record<'member_id' | 'operation' | 'reference', string>> {
  readonly at: number
}

/** Returns the balances after a movement. */
function applyMovement(
  position: Balances,
  movement: Pick<NewMovement, 'debit' | 'credit' | 'amount'>,
): Balances {
  const change = (account: LedgerAccount) =>
    (movement.credit === account ? movement.amount : 0) - (movement.debit === account ? movement.amount : 0)
  return {
    seq: position.seq + 1,
    credits: position.credits + change('credits'),
    held: position.held + change('held'),
    spent: position.spent + change('spent'),
  }
}

/** Returns the ledger row of a movement. */
const toMovement = ({ at, ...step }: NewMovement, balance: Balances): Movement => ({
  ...{ member_id: null, operation: null, reference: null, created_at: at },
  ...step,
  ...applyMovement(balance, step),
})

/**
 * Appends a movement, and looks the last one up unless the caller has locked it. The caller has checked that the
 * balances allow it.
 */
export async function addMovement(tx: Connection, step: NewMovement, balance?: Balances): Promise<Balances> {
  const movement = toMovement(step, balance ?? (await lockPosition(tx, step.workspace_id)))
  await appendMovement(tx, movement)
  return movement
}

/** Who pays, and for what. */
export interface Bill {
  readonly workspace: Workspace
  readonly member: Member
  readonly operation: string
  readonly credits: number
  readonly topUpUrl: string
}

/** What a member can spend: the balance of the workspace, and the rest of the member's weekly allowance. */
interface SpendableCredits {
  readonly credits: number
  readonly allowance: number
}

const unlimited = Number.POSITIVE_INFINITY

/** Returns what a member can spend at a moment. */
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
  bill: Pick<Bill, 'credits' | 'topUpUrl'>,
  { credits, allowance }: SpendableCredits,
): void {
  if (credits < bill.credits)
    throw new ApiError('insufficient_credits', {
      need: bill.credits,
      have: credits,
      top_up_url: bill.topUpUrl,
    })
  checkWeeklyLimit(allowance, bill.credits)
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

/** Returns two results that need not wait for each other; at once when both are there, since every paid request reads them. */
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
export async function settleHold(
  tx: Connection,
  job: AsyncJob,
  amount: number,
  now: number,
): Promise<number> {
  if (amount === 0) return job.held
  if (amount > job.held) throw new Error(`job ${job.id} holds ${job.held} credits and would settle ${amount}`)
  const member = { id: job.memberId, workspaceId: job.workspaceId }
  if ((await readWeeklyLimit(tx, member.id)) !== null) await countSpending(tx, member, amount, now)
  await addMovement(tx, { ...from(job), kind: 'settle', debit: 'held', credit: 'spent', amount, at: now })
  return job.held - amount
}

/** Releases the rest of an ended job's hold. */
export async function releaseHold(tx: Connection, job: AsyncJob, held: number, now: number): Promise<void> {
  if (held > 0)
    await addMovement(tx, {
      ...from(job),
      kind: 'release',
      debit: 'held',
      credit: 'credits',
      amount: held,
      at: now,
    })
}

const from = ({ id, workspaceId, memberId, operation }: AsyncJob) => ({
  workspace_id: workspaceId,
  member_id: memberId,
  operation,
  reference: id,
})

/** Grants the monthly credits of all renewals that are due. Returns whether there was one. */
export async function grantDue(store: Driver, workspace: Workspace, now: number): Promise<boolean> {
  if (now < workspace.nextAllocationAt) return false
  return await store.transaction(async (tx) => {
    const current = await findWorkspace(tx, workspace.id)
    if (!current || now < current.nextAllocationAt) return false
    let at = current.nextAllocationAt
    for (; at <= now; at = nextRenewal(current.createdAt, at)) await grant(tx, current, at)
    await updateWorkspace(tx, current.id, { nextAllocationAt: at })
    return true
  }, workspace.id)
}

async function grant(tx: Connection, workspace: Workspace, at: number): Promise<void> {
  const amount = planOf(workspace.plan).monthlyCredits
  if (amount > 0)
    await addMovement(tx, {
      workspace_id: workspace.id,
      kind: 'allocation',
      debit: 'issued',
      credit: 'credits',
      amount,
      at,
    })
}

const pageSize = 10_000

/** Recomputes every balance of a workspace after a position, from the first movement by default. Returns what is wrong. */
export async function verifyLedger(
  store: Pick<Driver, 'read'>,
  workspaceId: string,
  from: Balances = { seq: 0, credits: 0, held: 0, spent: 0 },
): Promise<{ readonly movements: number; readonly problems: readonly string[] }> {
  const problems: string[] = []
  let position = from
  for (;;) {
    const page = await store.read((tx) => listMovements(tx, workspaceId, position.seq, pageSize))
    for (const movement of page) {
      problems.push(...findDifferences(applyMovement(position, movement), movement))
      position = movement
    }
    if (page.length < pageSize) return { movements: position.seq - from.seq, problems }
  }
}

function findDifferences(expected: Balances, movement: Movement): string[] {
  const found = (['seq', 'credits', 'held', 'spent'] as const).filter(
    (field) => movement[field] !== expected[field] || movement[field] < 0,
  )
  return found.map(
    (field) => `movement ${movement.seq}: ${field} is ${movement[field]}, should be ${expected[field]}`,
  )
}
