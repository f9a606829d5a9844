import { ApiError } from '../../api/calls/errors.js'
import type { Driver } from '../../storage/driver/connection.js'
import { periodStart } from '../clock.js'
import type { Member, Workspace } from '../tables/members.js'
import { findBalances, readBalances } from './ledger.js'
import { readAllowance } from './weekly-limit.js'

/** What a request costs at most. */
export interface Need {
  readonly credits: number
  /** `undefined` where a server has not said it. */
  readonly topUpUrl: string | undefined
}

/** What a member can spend: the balance of the workspace, and the rest of the member's weekly allowance. */
interface SpendableCredits {
  readonly credits: number
  readonly allowance: number
}

export const unlimited = Number.POSITIVE_INFINITY

/** Returns what a member can spend, outside of a transaction. Without a weekly limit, one statement tells. */
export async function readSpendableCredits(
  store: Pick<Driver, 'find' | 'readShared'>,
  workspace: Workspace,
  member: Member,
  now: number,
): Promise<SpendableCredits> {
  const limit = member.weeklyLimit
  if (limit === null) {
    const { credits } = await findBalances(store, workspace.id)
    return { credits, allowance: unlimited }
  }
  return store.readShared(`spendable ${member.id} ${periodStart('week', now)}`, async (tx) => ({
    credits: (await readBalances(tx, workspace.id)).credits,
    allowance: await readAllowance(tx, member, limit, now),
  }))
}

/** Throws 402 when the balance is too low, or 403 when the weekly allowance is. */
export function checkSpendable(
  { credits: need, topUpUrl: top_up_url }: Need,
  { credits: have, allowance }: SpendableCredits,
): void {
  if (have < need) throw new ApiError('insufficient_credits', { need, have, top_up_url })
  if (allowance < need) throw new ApiError('workspace_limit_exceeded')
}
