import type { RunRow } from '../../api/calls/caller.js'
import { toJson } from '../../api/values/json.js'
import { type Claim, inProgress } from './idempotency.js'

/**
 * The claim of a row of a run on this machine. The run sees to it that a row asks the same whenever it is sent, and is
 * never under way twice, so a claim takes nothing: the reply is kept in the transaction of its charge, and where one is
 * there already, charge and reply are undone together. Only what cost or left something is kept; the rest may be asked
 * again.
 */
export function rowClaim(workspaceId: string, row: RunRow): Claim {
  let text: string | undefined
  return {
    effectsOnly: true,
    get text() {
      return text
    },
    keep: async (tx, status, body, credits) => {
      text ??= toJson(body)
      if (!(await tx.keepRunReply(workspaceId, row, { status, credits, body: text }))) throw inProgress()
    },
    drop: async () => {},
  }
}
