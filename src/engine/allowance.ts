import type { Member, Reads, Transaction } from './ports.js'
import { usedIn } from './quotas.js'
import { periodStart } from './time.js'

const ownerOf = (member: Member) => `member:${member.id}`
const name = 'weekly_credits'

/**
 * Credits a member spent since Monday 00:00 UTC. The count is only kept while the member has a weekly limit;
 * where there is none it is summed from the ledger.
 */
export async function spentThisWeek(reads: Reads, member: Member, now: number): Promise<number> {
  const counter = await reads.counter(ownerOf(member), name)
  if (counter) return usedIn('week', counter, now)
  return await reads.consumed(
    member.workspaceId,
    periodStart('week', now),
    Number.MAX_SAFE_INTEGER,
    member.id,
  )
}

/** Credits a member may still spend this week under a weekly limit. */
export async function allowanceLeft(
  reads: Reads,
  member: Member,
  weeklyLimit: number,
  now: number,
): Promise<number> {
  return Math.max(0, weeklyLimit - (await spentThisWeek(reads, member, now)))
}

/** Counts credits against the week of a member who has a weekly limit. */
export async function countSpending(
  tx: Transaction,
  member: Member,
  credits: number,
  now: number,
): Promise<void> {
  const spent = await spentThisWeek(tx, member, now)
  await tx.setCounter(ownerOf(member), name, { startedAt: periodStart('week', now), count: spent + credits })
}

/** Forgets the count, as when the limit changes; the next charge sums the ledger again. */
export const forgetSpending = (tx: Transaction, member: Member) => tx.dropCounter(ownerOf(member), name)
