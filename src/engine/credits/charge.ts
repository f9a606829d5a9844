import type { Awaitable } from '../../api/values/objects.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { AsyncJob } from '../tables/jobs.js'
import { type Member, readWeeklyLimit, type Workspace } from '../tables/members.js'
import { checkSpendable, type Need, unlimited } from './check-balance.js'
import { addMovement, appendMovement, lockPosition, type NewMovement, toMovement } from './ledger.js'
import { countSpending, readAllowance, readAllowanceNow } from './weekly-limit.js'

export interface Bill extends Need {
  readonly workspace: Workspace
  readonly member: Member
  readonly operation: string
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
