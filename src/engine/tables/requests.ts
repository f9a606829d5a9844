import { type Connection, type Dialect, send } from '../../storage/driver/connection.js'
import type { Counter, Reads, StoredReply, Transaction } from '../ports/ports.js'

const counterSql = 'SELECT started_at AS "startedAt", count FROM counters WHERE owner = ? AND name = ?'
const setCounterSql = `
INSERT INTO counters (owner, name, started_at, count) VALUES (?, ?, ?, ?)
ON CONFLICT (owner, name) DO UPDATE SET started_at = excluded.started_at, count = excluded.count`
// What members spend at servers is counted in real time.
const later = "started_at > ? AND owner NOT LIKE 'server:%'"
const replySql = `
SELECT fingerprint, status, body, token, lease_until AS "leaseUntil", created_at AS "createdAt"
FROM replies WHERE workspace_id = ? AND key = ?`
const claimSql = `
INSERT INTO replies (fingerprint, token, lease_until, created_at, workspace_id, key) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (workspace_id, key) DO NOTHING`
const reclaimSql = `
UPDATE replies SET fingerprint = ?, token = ?, lease_until = ?, created_at = ?, status = NULL, body = NULL
WHERE workspace_id = ? AND key = ? AND token = ?`
const claimed = 'WHERE workspace_id = ? AND key = ? AND token = ? AND status IS NULL'
const dropOldSql = ({ forUpdateSkipLocked }: Dialect) => `
DELETE FROM replies WHERE (workspace_id, key) IN (
  SELECT workspace_id, key FROM replies WHERE created_at <= ? AND status IS NOT NULL ORDER BY created_at LIMIT ?${forUpdateSkipLocked}
)`

/** Returns the reads of rate windows, quotas and idempotency keys. */
export function requestReads(connection: Connection) {
  return {
    counter: (owner, name) => connection.get<Counter>(counterSql, owner, name),
    hasCounterAfter: async (now) =>
      (await connection.get(`SELECT 1 AS one FROM counters WHERE ${later} LIMIT 1`, now)) !== undefined,
    reply: (workspaceId, key) => connection.get<StoredReply>(replySql, workspaceId, key),
  } satisfies Partial<Reads>
}

/** Returns the changes of rate windows, quotas and idempotency keys. Changes by an old token of a claim have no effect. */
export function requestWrites(connection: Connection) {
  const changes = async (sql: string, ...values: (string | number)[]) =>
    (await connection.run(sql, ...values)) > 0
  const dropOld = dropOldSql(connection.dialect)
  return {
    lockCounter: (owner, name) => connection.get<Counter>(counterSql, owner, name),
    setCounter: async (owner, name, { startedAt, count }) => {
      await send(connection, setCounterSql, owner, name, startedAt, count)
    },
    dropCounter: async (owner, name) => {
      await connection.run('DELETE FROM counters WHERE owner = ? AND name = ?', owner, name)
    },
    restartCounters: async (now) => {
      await connection.run(`UPDATE counters SET started_at = ? WHERE ${later}`, now, now)
    },
    claim: (workspaceId, key, { fingerprint, token, leaseUntil, createdAt }) =>
      changes(claimSql, fingerprint, token, leaseUntil, createdAt, workspaceId, key),
    reclaim: (workspaceId, key, oldToken, { fingerprint, token, leaseUntil, createdAt }) =>
      changes(reclaimSql, fingerprint, token, leaseUntil, createdAt, workspaceId, key, oldToken),
    keepReply: (workspaceId, key, token, status, body) =>
      changes(`UPDATE replies SET status = ?, body = ? ${claimed}`, status, body, workspaceId, key, token),
    renewClaim: (workspaceId, key, token, leaseUntil) =>
      changes(`UPDATE replies SET lease_until = ? ${claimed}`, leaseUntil, workspaceId, key, token),
    dropClaim: async (workspaceId, key, token) => {
      await connection.run(`DELETE FROM replies ${claimed}`, workspaceId, key, token)
    },
    dropReplies: (before, limit) => connection.run(dropOld, before, limit),
  } satisfies Partial<Transaction>
}
