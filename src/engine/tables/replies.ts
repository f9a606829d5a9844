import type { Awaitable } from '../../api/values/objects.js'
import { type Connection, perDialect } from '../../storage/driver/connection.js'
import { endIn, freeIn, leasesOf } from '../../storage/queue.js'

export interface StoredReply {
  readonly fingerprint: string
  /** null while the request is still running. */
  readonly status: number | null
  readonly body: string | null
  /** Fencing token of the claim. */
  readonly token: string
  /** 1 where an open claim no longer counts as alive. */
  readonly free: number
  /** Engine time. */
  readonly created_at: number
}

/** How long a claim lives without a heartbeat. */
export const claimMs = 10_000
export const repliesQueue = {
  table: 'replies',
  key: ['workspace_id', 'key'],
  open: 'status IS NULL',
} as const
const leases = leasesOf(repliesQueue)
const replySql = perDialect(
  (dialect) => `
SELECT fingerprint, status, body, token, CASE WHEN ${freeIn(dialect)} THEN 1 ELSE 0 END AS free, created_at
FROM replies WHERE workspace_id = ? AND key = ?`,
)
const claimSql = perDialect(
  (dialect) => `
INSERT INTO replies (fingerprint, token, lease_until, created_at, workspace_id, key)
VALUES (?, ?, ${endIn(dialect)}, ?, ?, ?) ON CONFLICT (workspace_id, key) DO NOTHING`,
)
const reclaimSql = perDialect(
  (dialect) => `
UPDATE replies SET fingerprint = ?, token = ?, lease_until = ${endIn(dialect)}, created_at = ?, status = NULL, body = NULL
WHERE workspace_id = ? AND key = ? AND token = ?`,
)
const claimed = `WHERE ${leases.mine}`
const keepSql = `UPDATE replies SET status = ?, body = ? ${claimed}`
const dropOldSql = perDialect(
  ({ forUpdateSkipLocked }) => `
DELETE FROM replies WHERE (workspace_id, key) IN (
  SELECT workspace_id, key FROM replies WHERE created_at <= ? AND status IS NOT NULL ORDER BY created_at LIMIT ?${forUpdateSkipLocked}
)`,
)

/** Returns the stored reply to a request with an idempotency key, or the claim to answer it. */
export const findReply = (tx: Connection, workspaceId: string, key: string) =>
  tx.get<StoredReply>(replySql(tx), claimMs, workspaceId, key)

/** The claim of a token on an idempotency key of a workspace. */
type ClaimedKey = Readonly<Record<'workspaceId' | 'key' | 'token', string>>

/** A claim as it is stored, before its reply. */
type NewClaim = Pick<StoredReply, 'fingerprint' | 'token' | 'created_at'>

/** Stores a claim unless the key has one. Returns whether it did. */
export const insertClaim = async (
  tx: Connection,
  { workspaceId, key }: Omit<ClaimedKey, 'token'>,
  { fingerprint, token, created_at }: NewClaim,
) => (await tx.run(claimSql(tx), fingerprint, token, claimMs, created_at, workspaceId, key)) > 0

/** Replaces an expired claim. Returns whether it was still that claim. */
export const replaceClaim = async (
  tx: Connection,
  { workspaceId, key, token: oldToken }: ClaimedKey,
  { fingerprint, token, created_at }: NewClaim,
) => (await tx.run(reclaimSql(tx), fingerprint, token, claimMs, created_at, workspaceId, key, oldToken)) > 0

/** Stores the reply of a claim. Returns whether this token still had the claim. */
export const storeReply = async (
  tx: Connection,
  { workspaceId, key, token }: ClaimedKey,
  status: number,
  body: string,
) => (await tx.run(keepSql, status, body, workspaceId, key, token)) > 0

export const renewClaim = (tx: Connection, { workspaceId, key, token }: ClaimedKey) =>
  leases.extend(tx, token, claimMs, workspaceId, key)

export async function dropClaim(tx: Connection, { workspaceId, key, token }: ClaimedKey) {
  await tx.run(`DELETE FROM replies ${claimed}`, workspaceId, key, token)
}

/** Deletes the oldest replies created at or before a moment of engine time, at most `limit`; no open claims. */
export const dropReplies = (tx: Connection, before: number, limit: number): Awaitable<number> =>
  tx.run(dropOldSql(tx), before, limit)
