import type { EventName } from '../../api/webhooks/events.js'
import {
  type Connection,
  joinGiven,
  perDialect,
  type StoredRow,
  type Value,
} from '../../storage/driver/connection.js'
import { freeIn, lanesOf, leasesOf } from '../../storage/queue.js'
import { column, type RecordOf, RecordTable } from './record-table.js'

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

export interface DueDeliveries {
  readonly leaseMs: number
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

export const deliveriesQueue = {
  table: 'deliveries',
  key: ['id'],
  open: "state = 'pending'",
  lane: ['job_id'],
  place: 'seq',
  due: 'due_at',
} as const
const leases = leasesOf(deliveriesQueue)
const lanes = lanesOf(deliveriesQueue)
const { allowed, waiting, openSql } = lanes
const attemptable = `{free} AND url NOT IN (SELECT value FROM json_each(?))
  AND workspace_id NOT IN (SELECT value FROM json_each(?))`
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
const replaySql = `
  UPDATE deliveries
  SET state = 'pending', attempts = 0, due_at = NULL, status = NULL, error = NULL, finished_at = NULL
  WHERE workspace_id = ? AND id = ? AND state <> 'pending' RETURNING job_id AS job`

// Faster than GROUP BY, which sorts.
const countSql = `SELECT ${deliveryStates
  .map((state) => `count(*) FILTER (WHERE state = '${state}') AS ${state}`)
  .join(', ')} FROM deliveries WHERE workspace_id = ?`

/** The statements that find a due delivery of any job, or of one, and those that take it; a lock follows each SELECT of one. */
const due = [dueSql, firstOfJobSql] as const
const findSqls = due.map((sql) =>
  perDialect((dialect) => `SELECT ${sql('').replaceAll('{free}', freeIn(dialect))} AS id`),
)
const takeSqls = due.map((sql) =>
  leases.takeSql(deliveryTable.list(), (free, lock) => sql(lock).replaceAll('{free}', free)),
)

function valuesOf({ now, farthest, busy, busyWorkspaces = [], jobId, leaseMs }: DueDeliveries): Value[] {
  const attempt = [leaseMs, JSON.stringify(busy), JSON.stringify(busyWorkspaces)]
  return jobId === undefined ? [...attempt, now, ...attempt, farthest, ...attempt] : [jobId, ...attempt]
}

const sqlOf = (
  sqls: readonly ((tx: Connection) => string)[],
  tx: Connection,
  { jobId }: Pick<DueDeliveries, 'jobId'>,
): string => sqls[jobId === undefined ? 0 : 1]?.(tx) ?? ''

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
  return (await tx.get<{ id: string | null }>(sqlOf(findSqls, tx, due), ...valuesOf(due)))?.id != null
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
  const row = await tx.get<StoredRow>(sqlOf(takeSqls, tx, due), token, due.leaseMs, ...valuesOf(due))
  return row && deliveryTable.toRecord(row)
}

/** Returns whether a token has a delivery: a standby that does not know of that may lack its records. */
export const hasDelivery = (tx: Connection, id: string, token: string) => leases.has(tx, token, id)

/** Makes the next delivery of a job due, unless another first attempt is due or in progress. */
export async function releaseNextDelivery(tx: Connection, jobId: string, dueAt: number): Promise<void> {
  await lanes.next(tx, dueAt, jobId)
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
