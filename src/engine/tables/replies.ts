import type { Awaitable } from '../../api/values/objects.js'
import { type Connection, perDialect } from '../../storage/driver/connection.js'

export interface StoredReply {
  readonly fingerprint: string
  /** null while the request is still running. */
  readonly status: number | null
  readonly body: string | null
  /** Fencing token of the claim. */
  readonly token: string
  /** Real time until which an open claim counts as alive. */
  readonly lease_until: number
  /** Engine time. */
  readonly created_at: number
}

const replySql = `
SELECT fingerprint, status, body, token, lease_until, created_at
FROM replies WHERE workspace_id = ? AND key = ?`
const claimSql = `
INSERT INTO replies (fingerprint, token, lease_until, created_at, workspace_id, key) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (workspace_id, key) DO NOTHING`
const reclaimSql = `
UPDATE replies SET fingerprint = ?, token = ?, lease_until = ?, created_at = ?, status = NULL, body = NULL
WHERE workspace_id = ? AND key = ? AND token = ?`
const claimed = 'WHERE workspace_id = ? AND key = ? AND token = ? AND status IS NULL'
const keepSql = `UPDATE replies SET status = ?, body = ? ${claimed}`
const renewSql = `UPDATE replies SET lease_until = ? ${claimed}`
const dropOldSql = perDialect(
  ({ forUpdateSkipLocked }) => `
DELETE FROM replies WHERE (workspace_id, key) IN (
  SELECT workspace_id, key FROM replies WHERE created_at <= ? AND status IS NOT NULL ORDER BY created_at LIMIT ?${forUpdateSkipLocked}
)`,
)

/** Returns the stored reply to a request with an idempotency key, or the claim to answer it. */
export const findReply = (tx: Connection, workspaceId: string, key: string) =>
  tx.get<StoredReply>(replySql, workspaceId, key)

/** The claim of a token on an idempotency key of a workspace. */
type ClaimedKey = Readonly<Record<'workspaceId' | 'key' | 'token', string>>

/** A claim as it is stored, before its reply. */
type NewClaim = Pick<StoredReply, 'fingerprint' | 'token' | 'lease_until' | 'created_at'>

/** Stores a claim unless the key has one. Returns whether it did. */
export const insertClaim = async (
  tx: Connection,
  { workspaceId, key }: Omit<ClaimedKey, 'token'>,
  { fingerprint, token, lease_until, created_at }: NewClaim,
) => (await tx.run(claimSql, fingerprint, token, lease_until, created_at, workspaceId, key)) > 0

/** Replaces an expired claim. Returns whether it was still that claim. */
export const replaceClaim = async (
  tx: Connection,
  { workspaceId, key, token: oldToken }: ClaimedKey,
  { fingerprint, token, lease_until, created_at }: NewClaim,
) => (await tx.run(reclaimSql, fingerprint, token, lease_until, created_at, workspaceId, key, oldToken)) > 0

/** Stores the reply of a claim. Returns whether this token still had the claim. */
export const storeReply = async (
  tx: Connection,
  { workspaceId, key, token }: ClaimedKey,
  status: number,
  body: string,
) => (await tx.run(keepSql, status, body, workspaceId, key, token)) > 0

export const renewClaim = async (
  tx: Connection,
  { workspaceId, key, token }: ClaimedKey,
  leaseUntil: number,
) => (await tx.run(renewSql, leaseUntil, workspaceId, key, token)) > 0

export async function dropClaim(tx: Connection, { workspaceId, key, token }: ClaimedKey) {
  await tx.run(`DELETE FROM replies ${claimed}`, workspaceId, key, token)
}

/** Deletes the oldest replies created at or before a moment of engine time, at most `limit`; no open claims. */
export const dropReplies = (tx: Connection, before: number, limit: number): Awaitable<number> =>
  tx.run(dropOldSql(tx), before, limit)
