import { type Connection, joinGiven, type StoredRow, type Value } from '../../storage/driver/connection.js'
import type { Delivery, DueDeliveries, JobReads, JobWrites, SigningSecret } from '../ports/ports.js'
import { deliveryTable, freeSql, freeValues } from './record-tables.js'

const attemptable = `${freeSql} AND url NOT IN (SELECT value FROM json_each(?))
  AND workspace_id NOT IN (SELECT value FROM json_each(?))`
const allowed = "state = 'pending' AND attempts = 0 AND due_at IS NOT NULL"
const waiting = "state = 'pending' AND attempts = 0 AND due_at IS NULL"
const again = "state = 'pending' AND attempts > 0"
const oldest = (lock: string, which: string, order = 'due_at') => `SELECT * FROM (
    SELECT id, due_at FROM deliveries WHERE ${which} AND ${attemptable} ORDER BY ${order} LIMIT 1${lock}) AS found`
/** Finds the delivery that is due for longest: a first attempt, a later one, or one due too late since the clock went back. */
const dueSql = (lock: string) => `(SELECT id FROM (
  ${oldest(lock, allowed)}
  UNION ALL ${oldest(lock, `${again} AND due_at <= ?`)}
  UNION ALL ${oldest(lock, `${again} AND due_at > ?`, 'due_at DESC')}
) AS due ORDER BY due_at LIMIT 1)`
const firstOfJobSql = (lock: string) =>
  `(SELECT id FROM deliveries WHERE job_id = ? AND ${allowed} AND ${attemptable} LIMIT 1${lock})`
const claimSql = (id: string) =>
  `UPDATE deliveries SET token = ?, lease_until = ? WHERE id = ${id} RETURNING ${deliveryTable.list()}`
const openSql = `SELECT 1 FROM deliveries WHERE job_id = ? AND ${allowed}`
const releaseSql = `
  UPDATE deliveries SET due_at = ?
  WHERE id = (SELECT id FROM deliveries WHERE job_id = ? AND ${waiting} ORDER BY seq LIMIT 1)
    AND NOT EXISTS (${openSql})`
const replaySql = `
  UPDATE deliveries
  SET state = 'pending', attempts = 0, due_at = NULL, status = NULL, error = NULL, finished_at = NULL
  WHERE workspace_id = ? AND id = ? AND state <> 'pending' RETURNING job_id AS job`

// Faster than GROUP BY, which sorts.
const countSql = `SELECT ${['pending', 'delivered', 'failed']
  .map((state) => `count(*) FILTER (WHERE state = '${state}') AS ${state}`)
  .join(', ')} FROM deliveries WHERE workspace_id = ?`

/** Returns the SQL that finds a due delivery; `lock` follows each SELECT of one. */
const dueSqls = (lock: string) => ({ any: dueSql(lock), ofJob: firstOfJobSql(lock) })
const unlockedSql = dueSqls('')

/** Returns the SQL that finds a due delivery, and its values. */
function dueOf(
  sql: ReturnType<typeof dueSqls>,
  { now, farthest, busy, busyWorkspaces = [], jobId, ...lease }: DueDeliveries,
): { sql: string; values: Value[] } {
  const attempt = [...freeValues(lease), JSON.stringify(busy), JSON.stringify(busyWorkspaces)]
  if (jobId !== undefined) return { sql: sql.ofJob, values: [jobId, ...attempt] }
  return { sql: sql.any, values: [...attempt, now, ...attempt, farthest, ...attempt] }
}

/** Returns the reads of deliveries and signing secrets. */
export function deliveryReads(connection: Connection) {
  return {
    delivery: (workspaceId, id) =>
      deliveryTable.get(connection, 'WHERE workspace_id = ? AND id = ?', workspaceId, id),
    deliveries: (workspaceId, { jobId, state, prefix }, limit) => {
      const { where, values } = joinGiven([
        ['job_id = ?', jobId],
        ['state = ?', state],
        [`substr(id, 1, ${prefix?.length}) = ?`, prefix],
      ])
      // Deliveries of one job are numbered in the order of their creation.
      const order = jobId === undefined ? 'created_at DESC, job_id, seq DESC' : 'seq DESC'
      const rest = `WHERE workspace_id = ?${where} ORDER BY ${order} LIMIT ?`
      return deliveryTable.all(connection, rest, workspaceId, ...values, limit)
    },
    deliveryQueue: async (jobId) => {
      const sql = `SELECT (SELECT coalesce(max(seq), 0) FROM deliveries WHERE job_id = ?) AS last,
        EXISTS (${openSql}) AS open`
      const row = await connection.get<{ last: number; open: number }>(sql, jobId, jobId)
      return { last: Number(row?.last ?? 0), open: Number(row?.open ?? 0) === 1 }
    },
    countDeliveries: async (workspaceId) => {
      const row = await connection.get<Record<Delivery['state'], number>>(countSql, workspaceId)
      const { pending = 0, delivered = 0, failed = 0 } = row ?? {}
      return { pending: Number(pending), delivered: Number(delivered), failed: Number(failed) }
    },
    isDeliveryDue: async (due) => {
      const { sql, values } = dueOf(unlockedSql, due)
      return (await connection.get<{ id: string | null }>(`SELECT ${sql} AS id`, ...values))?.id != null
    },
    waitingDeliveries: (jobId, limit) =>
      deliveryTable.all(connection, `WHERE job_id = ? AND ${waiting} ORDER BY seq LIMIT ?`, jobId, limit),
    signingSecrets: (workspaceId) =>
      connection.all<SigningSecret>(
        'SELECT secret, until FROM signing_secrets WHERE workspace_id = ? ORDER BY until IS NOT NULL, until DESC',
        workspaceId,
      ),
  } satisfies Partial<JobReads>
}

/** Returns the changes of deliveries and signing secrets. */
export function deliveryWrites(connection: Connection) {
  const lockedSql = dueSqls(connection.dialect.forUpdateSkipLocked)
  return {
    addDeliveries: async (deliveries) => {
      for (const delivery of deliveries) await deliveryTable.add(connection, delivery)
    },
    claimDelivery: async ({ token, ...due }) => {
      const { sql, values } = dueOf(lockedSql, due)
      const row = await connection.get<StoredRow>(claimSql(sql), token, due.leaseUntil, ...values)
      return row && deliveryTable.toRecord(row)
    },
    releaseNext: async (jobId, dueAt) => {
      await connection.run(releaseSql, dueAt, jobId, jobId)
    },
    changeDelivery: async (id, token, change) => {
      const where = "id = ? AND token IS NOT DISTINCT FROM ? AND state = 'pending'"
      const update = deliveryTable.update({ ...change, leaseUntil: 0 }, where, id, token)
      return update !== undefined && (await connection.run(...update)) > 0
    },
    replayDeliveries: async (workspaceId, ids, dueAt) => {
      const jobs: string[] = []
      for (const id of ids) {
        const row = await connection.get<{ job: string }>(replaySql, workspaceId, id)
        if (row) jobs.push(row.job)
      }
      for (const jobId of new Set(jobs)) await connection.run(releaseSql, dueAt, jobId, jobId)
      return jobs.length
    },
    setSigningSecrets: async (workspaceId, secrets) => {
      await connection.run('DELETE FROM signing_secrets WHERE workspace_id = ?', workspaceId)
      for (const { secret, until } of secrets)
        await connection.run(
          'INSERT INTO signing_secrets (workspace_id, secret, until) VALUES (?, ?, ?)',
          ...[workspaceId, secret, until],
        )
    },
  } satisfies Partial<JobWrites>
}
