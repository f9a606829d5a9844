import type { AsyncJob, Transaction } from '../ports/ports.js'
import { addMovement, type Bill, checkSpendable } from './ledger.js'
import { countSpending, readAllowance } from './weekly-limit.js'

/** Holds the highest cost of accepted work. Throws when balance or allowance would go below zero. */
export async function holdCredits(tx: Transaction, bill: Bill, jobId: string, now: number): Promise<void> {
  const { workspace, member, operation, credits: amount } = bill
  if (amount === 0) return
  const balance = await tx.lockPosition(workspace.id)
  const limit = await tx.weeklyLimit(member.id)
  const allowance = limit === null ? Number.POSITIVE_INFINITY : await readAllowance(tx, member, limit, now)
  checkSpendable(bill, { credits: balance.credits, allowance })
  const who = { workspaceId: workspace.id, memberId: member.id, operation, reference: jobId }
  await addMovement(tx, { ...who, kind: 'hold', debit: 'credits', credit: 'held', amount, at: now }, balance)
}

/** Pays for records from the hold of their job, which is never less. Returns what is left of the hold. */
export async function settleHold(
  tx: Transaction,
  job: AsyncJob,
  amount: number,
  now: number,
): Promise<number> {
  if (amount === 0) return job.held
  if (amount > job.held) throw new Error(`job ${job.id} holds ${job.held} credits and would settle ${amount}`)
  const member = { id: job.memberId, workspaceId: job.workspaceId }
  if ((await tx.weeklyLimit(member.id)) !== null) await countSpending(tx, member, amount, now)
  await addMovement(tx, { ...from(job), kind: 'settle', debit: 'held', credit: 'spent', amount, at: now })
  return job.held - amount
}

/** Releases the rest of an ended job's hold. */
export async function releaseHold(tx: Transaction, job: AsyncJob, held: number, now: number): Promise<void> {
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
  ...{ workspaceId, memberId, operation },
  reference: id,
})
