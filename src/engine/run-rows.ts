import type { RunRow } from '../api/caller.js'
import { ApiError } from '../api/errors.js'
import { type Claim, inProgress } from './idempotency.js'
import type { RunReply, Store } from './ports.js'

/**
 * Claims a row of a run on this machine, or answers its reply. The run sees to it that no row is under way twice, so
 * a claim takes nothing: the reply is kept in the transaction of its charge, and where one is there already, charge and
 * reply are undone together. Only what cost or left something is kept; the rest may be asked again.
 */
export async function claimRow(
  store: Store,
  workspaceId: string,
  { run, ordinal, fresh }: RunRow,
  fingerprint: string,
): Promise<{ replay: RunReply } | { claim: Claim }> {
  const found = fresh ? undefined : await store.read((reads) => reads.runReply(workspaceId, run, ordinal))
  if (found && found.fingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
  if (found) return { replay: found }
  let text: string | undefined
  const claim: Claim = {
    effectsOnly: true,
    get text() {
      return text
    },
    keep: async (tx, status, body, credits) => {
      text ??= JSON.stringify(body)
      if (!(await tx.keepRunReply(workspaceId, run, ordinal, { fingerprint, status, credits, body: text })))
        throw inProgress()
    },
    drop: async () => {},
  }
  return { claim }
}
