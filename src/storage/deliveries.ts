import type { Delivery, JobReads, JobWrites, SigningSecret } from '../engine/ports.js'
import type { Connection, Value } from './driver.js'
import { changeOf, deliveryColumns, fromRow, insertOf, type Row, selectList } from './rows.js'

const columns = selectList(deliveryColumns)
const insert = insertOf('deliveries', deliveryColumns)
const deliveryOf = (row: Row): Delivery => fromRow<Delivery>(deliveryColumns, row)

const dueSql = `
  SELECT id FROM deliveries
  WHERE state = 'pending' AND due_at <= ? AND lease_until <= ? AND (? IS NULL OR job_id = ?)
    AND url NOT IN (SELECT value FROM json_each(?))
  ORDER BY due_at LIMIT 1`
const claimSql = `
  UPDATE deliveries SET token = ?, lease_until = ? WHERE id = (${dueSql}) RETURNING ${columns}`
const nextSql = `
  SELECT id FROM deliveries WHERE job_id = ? AND state = 'pending' AND due_at IS NULL ORDER BY seq LIMIT 1`

/** Questions about deliveries, and what signs them. */
export function deliveryReads(connection: Connection) {
  return {
    delivery: async (workspaceId, id) => {
      const sql = `SELECT ${columns} FROM deliveries WHERE workspace_id = ? AND id = ?`
      const row = await connection.get<Row>(sql, workspaceId, id)
      return row && deliveryOf(row)
    },
    deliveries: async (workspaceId, { jobId, state }, limit) => {
      const where = `${jobId === undefined ? '' : ' AND job_id = ?'}${state ? ' AND state = ?' : ''}`
      const values: Value[] = [...(jobId === undefined ? [] : [jobId]), ...(state ? [state] : [])]
      const sql = `SELECT ${columns} FROM deliveries WHERE workspace_id = ?${where}
        ORDER BY created_at DESC, job_id, seq DESC LIMIT ?`
      return (await connection.all<Row>(sql, workspaceId, ...values, limit)).map(deliveryOf)
    },
    deliveryQueue: async (jobId) => {
      const sql = `SELECT (SELECT coalesce(max(seq), 0) FROM deliveries WHERE job_id = ?) AS last,
        EXISTS (SELECT 1 FROM deliveries WHERE job_id = ? AND state = 'pending' AND attempts = 0) AS open`
      const row = await connection.get<{ last: number; open: number }>(sql, jobId, jobId)
      return { last: Number(row?.last ?? 0), open: Number(row?.open ?? 0) === 1 }
    },
    countDeliveries: async (workspaceId) => {
      const sql = 'SELECT state, count(*) AS total FROM deliveries WHERE workspace_id = ? GROUP BY state'
      const rows = await connection.all<{ state: Delivery['state']; total: number }>(sql, workspaceId)
      const counted = { pending: 0, delivered: 0, failed: 0 }
      for (const { state, total } of rows) counted[state] = Number(total)
      return counted
    },
    nextDue: async () => {
      const sql = "SELECT min(due_at) AS due FROM deliveries WHERE state = 'pending'"
      return (await connection.get<{ due: number | null }>(sql))?.due ?? undefined
    },
    signingSecrets: (workspaceId) =>
      connection.all<SigningSecret>(
        'SELECT secret, until FROM signing_secrets WHERE workspace_id = ? ORDER BY until IS NOT NULL, until DESC',
        workspaceId,
      ),
  } satisfies Partial<JobReads>
}

/** Changes to deliveries, and what signs them. */
export function deliveryWrites(connection: Connection) {
  return {
    addDeliveries: async (deliveries) => {
      for (const delivery of deliveries) await connection.run(insert.sql, ...insert.values(delivery))
    },
    claimDelivery: async ({ token, now, realNow, leaseUntil, busy, jobId = null }) => {
      const values = [token, leaseUntil, now, realNow, jobId, jobId, JSON.stringify(busy)]
      const row = await connection.get<Row>(claimSql, ...values)
      return row && deliveryOf(row)
    },
    releaseNext: async (jobId, dueAt) => {
      await connection.run(`UPDATE deliveries SET due_at = ? WHERE id = (${nextSql})`, dueAt, jobId)
    },
    changeDelivery: async (id, token, change) => {
      const changed = changeOf<Delivery>(deliveryColumns, { ...change, leaseUntil: 0 })
      if (!changed) return false
      const sql = `UPDATE deliveries SET ${changed.set} WHERE id = ? AND token = ? AND state = 'pending'`
      return (await connection.run(sql, ...changed.values, id, token)) > 0
    },
    replayDeliveries: async (workspaceId, ids, dueAt) => {
      const sql = `UPDATE deliveries
        SET state = 'pending', attempts = 0, due_at = ?, status = NULL, error = NULL, finished_at = NULL
        WHERE workspace_id = ? AND id = ? AND state <> 'pending'`
      let replayed = 0
      for (const id of ids) replayed += await connection.run(sql, dueAt, workspaceId, id)
      return replayed
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
