import { ApiError } from '../../api/calls/errors.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { Member, Workspace } from '../tables/members.js'
import { readBalances } from './ledger.js'
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
  { credits: need, topUpUrl: top_up_url }: Need,
  { credits: have, allowance }: SpendableCredits,
): void {
  if (have < need) throw new ApiError('insufficient_credits', { need, have, top_up_url })
  if (allowance < need) throw new ApiError('workspace_limit_exceeded')
}
