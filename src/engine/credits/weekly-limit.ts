import { ApiError } from '../../api/calls/errors.js'
import { periodStart } from '../clock.js'
import type { Member, Reads, Transaction } from '../ports/ports.js'
import { countUsed } from './quotas.js'

/** The part of a member that counting needs. */
type Spender = Pick<Member, 'id' | 'workspaceId'>

const ownerOf = (member: Spender) => `member:${member.id}`
const name = 'weekly_credits'

/**
 * Returns the credits a member spent since Monday 00:00 UTC. The counter exists only while the member has a weekly
 * limit; without one the ledger is summed.
 */
export async function readSpentThisWeek(reads: Reads, member: Spender, now: number): Promise<number> {
  const counter = await reads.counter(ownerOf(member), name)
  if (counter) return countUsed('week', counter, now)
  return await reads.consumed(
    member.workspaceId,
    periodStart('week', now),
    Number.MAX_SAFE_INTEGER,
    member.id,
  )
}

/** Returns the credits a member can still spend this week; held credits count as spent. */
export async function readAllowance(
  reads: Reads,
  member: Member,
  weeklyLimit: number,
  now: number,
): Promise<number> {
  const taken = (await readSpentThisWeek(reads, member, now)) + (await reads.heldBy(member.id))
  return Math.max(0, weeklyLimit - taken)
}

/** Throws `workspace_limit_exceeded` when the weekly limit leaves a member less than some credits. */
export function checkWeeklyLimit(allowance: number, credits: number): void {
  if (allowance < credits) throw new ApiError('workspace_limit_exceeded')
}

/** Adds credits to the weekly counter of a member with a limit. */
export async function countSpending(
  tx: Transaction,
  member: Spender,
  credits: number,
  now: number,
): Promise<void> {
  const spent = await readSpentThisWeek(tx, member, now)
  await tx.setCounter(ownerOf(member), name, { startedAt: periodStart('week', now), count: spent + credits })
}

/** Deletes the weekly counter, as when the limit changes. The next charge sums the ledger again. */
export const forgetSpending = (tx: Transaction, member: Spender) => tx.dropCounter(ownerOf(member), name)
