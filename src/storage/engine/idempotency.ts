import type { Reads, StoredReply, Transaction } from '../../engine/ports/ports.js'
import type { Connection, Dialect } from '../driver/connection.js'

const replySql = `
SELECT fingerprint, status, body, token, lease_until AS "leaseUntil", created_at AS "createdAt"
FROM replies WHERE workspace_id = ? AND key = ?`
const claimSql = `
INSERT INTO replies (fingerprint, token, lease_until, created_at, workspace_id, key) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (workspace_id, key) DO NOTHING`
const reclaimSql = `
UPDATE replies SET fingerprint = ?, token = ?, lease_until = ?, created_at = ?, status = NULL, body = NULL
WHERE workspace_id = ? AND key = ? AND token = ?`
const keepSql = `
UPDATE replies SET status = ?, body = ? WHERE workspace_id = ? AND key = ? AND token = ? AND status IS NULL`
const renewSql = `
UPDATE replies SET lease_until = ? WHERE workspace_id = ? AND key = ? AND token = ? AND status IS NULL`
const dropOldSql = ({ forUpdateSkipLocked }: Dialect) => `
DELETE FROM replies WHERE (workspace_id, key) IN (
  SELECT workspace_id, key FROM replies WHERE created_at <= ? AND status IS NOT NULL ORDER BY created_at LIMIT ?${forUpdateSkipLocked}
)`
const dropSql = 'DELETE FROM replies WHERE workspace_id = ? AND key = ? AND token = ? AND status IS NULL'

/** Questions about idempotency keys. */
export function replyReads(connection: Connection) {
  return {
    reply: (workspaceId, key) => connection.get<StoredReply>(replySql, workspaceId, key),
  } satisfies Partial<Reads>
}

/** Changes to idempotency keys. The token of a claim fences off whoever lost it. */
export function replyWrites(connection: Connection) {
  const changed = async (sql: string, ...values: (string | number)[]) =>
    (await connection.run(sql, ...values)) > 0
  const dropOld = dropOldSql(connection.dialect)
  return {
    claim: (workspaceId, key, claim) =>
      changed(claimSql, claim.fingerprint, claim.token, claim.leaseUntil, claim.createdAt, workspaceId, key),
    reclaim: (workspaceId, key, oldToken, claim) =>
      changed(
        reclaimSql,
        ...[claim.fingerprint, claim.token, claim.leaseUntil, claim.createdAt],
        ...[workspaceId, key, oldToken],
      ),
    keepReply: (workspaceId, key, token, status, body) =>
      changed(keepSql, status, body, workspaceId, key, token),
    renewClaim: (workspaceId, key, token, leaseUntil) =>
      changed(renewSql, leaseUntil, workspaceId, key, token),
    dropClaim: async (workspaceId, key, token) => {
      await connection.run(dropSql, workspaceId, key, token)
    },
    dropReplies: (before, limit) => connection.run(dropOld, before, limit),
  } satisfies Partial<Transaction>
}
