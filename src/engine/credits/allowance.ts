import { periodStart } from '../clock.js'
import type { Member, Reads, Transaction } from '../ports/ports.js'
import { usedIn } from './quotas.js'

/** As much of a member as counts spending. */
type Spender = Pick<Member, 'id' | 'workspaceId'>

const ownerOf = (member: Spender) => `member:${member.id}`
const name = 'weekly_credits'

/**
 * Credits a member spent since Monday 00:00 UTC. The count is only kept while the member has a weekly limit;
 * where there is none it is summed from the ledger.
 */
export async function spentThisWeek(reads: Reads, member: Spender, now: number): Promise<number> {
  const counter = await reads.counter(ownerOf(member), name)
  if (counter) return usedIn('week', counter, now)
  return await reads.consumed(
    member.workspaceId,
    periodStart('week', now),
    Number.MAX_SAFE_INTEGER,
    member.id,
  )
}

/** Credits a member may still spend this week under a weekly limit: what accepted work holds is as good as spent. */
export async function allowanceLeft(
  reads: Reads,
  member: Member,
  weeklyLimit: number,
  now: number,
): Promise<number> {
  const taken = (await spentThisWeek(reads, member, now)) + (await reads.heldBy(member.id))
  return Math.max(0, weeklyLimit - taken)
}

/** Counts credits against the week of a member who has a weekly limit. */
export async function countSpending(
  tx: Transaction,
  member: Spender,
  credits: number,
  now: number,
): Promise<void> {
  const spent = await spentThisWeek(tx, member, now)
  await tx.setCounter(ownerOf(member), name, { startedAt: periodStart('week', now), count: spent + credits })
}

/** Forgets the count, as when the limit changes; the next charge sums the ledger again. */
export const forgetSpending = (tx: Transaction, member: Spender) => tx.dropCounter(ownerOf(member), name)
