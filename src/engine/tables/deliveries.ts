import type { EventName } from '../../api/webhooks/events.js'
import {
  type Connection,
  joinGiven,
  perDialect,
  type StoredRow,
  type Value,
} from '../../storage/driver/connection.js'
import { column, freeSql, freeValues, type Lease, type RecordOf, RecordTable } from './record-table.js'

/** Longest pause that a receiver may ask for; engine time. */
export const maxPauseMs = 24 * 3_600_000

export const deliveryStates = ['pending', 'delivered', 'failed'] as const

/** One body for a webhook: records `first` to `last` of a job. */
const deliveryTable = new RecordTable('deliveries', {
  /** Sent as `webhook-id` with every attempt. */
  id: column.text,
  workspaceId: column.text,
  jobId: column.text,
  /** Sequence number among the deliveries of its job: first attempts are made in this order. */
  seq: column.number,
  event: column.word<EventName>(),
  url: column.text,
  first: column.number,
  last: column.number,
  part: column.maybeNumber,
  parts: column.maybeNumber,
  state: column.word<(typeof deliveryStates)[number]>(),
  attempts: column.number,
  /** Due time (engine time); null until the first attempt of its predecessor has been made. */
  dueAt: column.maybeNumber,
  status: column.maybeNumber,
  error: column.maybeText,
  /** Engine time. */
  createdAt: column.number,
  finishedAt: column.maybeNumber,
  token: column.maybeText,
  /** Real time. */
  leaseUntil: column.number,
})
export type Delivery = RecordOf<typeof deliveryTable>

export interface DeliveryFilter {
  readonly jobId?: string
  readonly state?: Delivery['state']
  /** The beginning of its id. */
  readonly prefix?: string
}

export interface DueDeliveries extends Lease {
  /** Engine time. First attempts that are allowed are due regardless of it. */
  readonly now: number
  /** Latest possible due time (engine time). A later one was stored before the clock went back, and is due now. */
  readonly farthest: number
  /** URLs that take no more attempts for now. */
  readonly busy: readonly string[]
  /** Workspaces that take no more attempts for now. */
  readonly busyWorkspaces?: readonly string[]
  /** Only first attempts of this job. */
  readonly jobId?: string
}

/** Secrets that sign a workspace's deliveries, newest first: after a rotation the old one stays valid for a day. */
export interface SigningSecret {
  readonly secret: string
  /** Engine time until which it signs; null for the current secret. */
  readonly until: number | null
}

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
const countSql = `SELECT ${deliveryStates
  .map((state) => `count(*) FILTER (WHERE state = '${state}') AS ${state}`)
  .join(', ')} FROM deliveries WHERE workspace_id = ?`

/** Returns the SQL that finds a due delivery; `lock` follows each SELECT of one. */
const dueSqls = (lock: string) => ({ any: dueSql(lock), ofJob: firstOfJobSql(lock) })
const unlockedSql = dueSqls('')
const lockedSql = perDialect(({ forUpdateSkipLocked }) => dueSqls(forUpdateSkipLocked))

function dueOf(
  sql: ReturnType<typeof dueSqls>,
  { now, farthest, busy, busyWorkspaces = [], jobId, ...lease }: DueDeliveries,
): { sql: string; values: Value[] } {
  const attempt = [...freeValues(lease), JSON.stringify(busy), JSON.stringify(busyWorkspaces)]
  if (jobId !== undefined) return { sql: sql.ofJob, values: [jobId, ...attempt] }
  return { sql: sql.any, values: [...attempt, now, ...attempt, farthest, ...attempt] }
}

export const findDelivery = (tx: Connection, workspaceId: string, id: string) =>
  deliveryTable.get(tx, 'WHERE workspace_id = ? AND id = ?', workspaceId, id)

export function listDeliveries(
  tx: Connection,
  workspaceId: string,
  { jobId, state, prefix }: DeliveryFilter,
  limit: number,
): Promise<readonly Delivery[]> {
  const { where, values } = joinGiven([
    ['job_id = ?', jobId],
    ['state = ?', state],
    [`substr(id, 1, ${prefix?.length}) = ?`, prefix],
  ])
  // Deliveries of one job are numbered in the order of their creation.
  const order = jobId === undefined ? 'created_at DESC, job_id, seq DESC' : 'seq DESC'
  const rest = `WHERE workspace_id = ?${where} ORDER BY ${order} LIMIT ?`
  return deliveryTable.all(tx, rest, workspaceId, ...values, limit)
}

/** Returns the last sequence number of a job's deliveries, and whether a first attempt is due or in progress. */
export async function readDeliveryQueue(tx: Connection, jobId: string) {
  const sql = `SELECT (SELECT coalesce(max(seq), 0) FROM deliveries WHERE job_id = ?) AS last,
    EXISTS (${openSql}) AS open`
  const row = await tx.get<{ last: number; open: number }>(sql, jobId, jobId)
  return { last: Number(row?.last ?? 0), open: Number(row?.open ?? 0) === 1 }
}

export const countDeliveries = async (tx: Connection, workspaceId: string) =>
  (await tx.get<Record<Delivery['state'], number>>(countSql, workspaceId)) ?? {
    pending: 0,
    delivered: 0,
    failed: 0,
  }

export async function isDeliveryDue(tx: Connection, due: DueDeliveries): Promise<boolean> {
  const { sql, values } = dueOf(unlockedSql, due)
  return (await tx.get<{ id: string | null }>(`SELECT ${sql} AS id`, ...values))?.id != null
}

/** Returns the first deliveries of a job that wait for the first attempt of their predecessor, in order. */
export const listWaitingDeliveries = (tx: Connection, jobId: string, limit: number) =>
  deliveryTable.all(tx, `WHERE job_id = ? AND ${waiting} ORDER BY seq LIMIT ?`, jobId, limit)

export async function insertDeliveries(tx: Connection, deliveries: readonly Delivery[]): Promise<void> {
  for (const delivery of deliveries) await deliveryTable.insert(tx, delivery)
}

/** Takes the delivery that has been due for longest. */
export async function claimDelivery(
  tx: Connection,
  { token, ...due }: DueDeliveries & { readonly token: string },
): Promise<Delivery | undefined> {
  const { sql, values } = dueOf(lockedSql(tx), due)
  const row = await tx.get<StoredRow>(claimSql(sql), token, due.leaseUntil, ...values)
  return row && deliveryTable.toRecord(row)
}

/** Makes the next delivery of a job due, unless another first attempt is due or in progress. */
export async function releaseNextDelivery(tx: Connection, jobId: string, dueAt: number): Promise<void> {
  await tx.run(releaseSql, dueAt, jobId, jobId)
}

/** Ends the claim on a pending delivery. Returns whether this token had it, or none. */
export async function updateDelivery(
  tx: Connection,
  id: string,
  token: string | null,
  change: Partial<Delivery>,
): Promise<boolean> {
  const where = "id = ? AND token IS NOT DISTINCT FROM ? AND state = 'pending'"
  return (await deliveryTable.update(tx, { ...change, leaseUntil: 0 }, where, id, token)) > 0
}

/** Makes ended deliveries due again from their first attempt, those of a job one after the other. Returns how many. */
export async function replayDeliveries(
  tx: Connection,
  workspaceId: string,
  ids: readonly string[],
  dueAt: number,
): Promise<number> {
  const jobs: string[] = []
  for (const id of ids) {
    const row = await tx.get<{ job: string }>(replaySql, workspaceId, id)
    if (row) jobs.push(row.job)
  }
  for (const jobId of new Set(jobs)) await releaseNextDelivery(tx, jobId, dueAt)
  return jobs.length
}

export const listSigningSecrets = async (tx: Connection, workspaceId: string) =>
  tx.all<SigningSecret>(
    'SELECT secret, until FROM signing_secrets WHERE workspace_id = ? ORDER BY until IS NOT NULL, until DESC',
    workspaceId,
  )

export async function setSigningSecrets(
  tx: Connection,
  workspaceId: string,
  secrets: readonly SigningSecret[],
) {
  await tx.run('DELETE FROM signing_secrets WHERE workspace_id = ?', workspaceId)
  const sql = 'INSERT INTO signing_secrets (workspace_id, secret, until) VALUES (?, ?, ?)'
  for (const { secret, until } of secrets) await tx.run(sql, workspaceId, secret, until)
}
