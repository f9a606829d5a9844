import type {
  AsyncJob,
  Enrichment,
  JobFilter,
  JobReads,
  JobRecord,
  JobState,
  JobWrites,
} from '../../engine/ports/ports.js'
import { type Connection, type Dialect, send, type Value } from '../driver/connection.js'
import { freeAt, freeSql } from './lease.js'
import {
  changeOf,
  enrichmentColumns,
  fromRow,
  insertOf,
  jobColumns,
  newestFirst,
  type Row,
  selectList,
} from './row-mapping.js'

const jobList = selectList(jobColumns)
const jobInsert = insertOf('jobs', jobColumns)
const jobOf = (row: Row): AsyncJob => fromRow<AsyncJob>(jobColumns, row)
const enrichmentList = selectList(enrichmentColumns)
const enrichmentInsert = insertOf('enrichments', enrichmentColumns)
const enrichmentOf = (row: Row): Enrichment => fromRow<Enrichment>(enrichmentColumns, row)

const due = (isFree: string): string => `
  SELECT id FROM jobs
  WHERE state IN ('queued', 'running') AND ${isFree} AND (CAST(? AS TEXT) IS NULL OR id = ?)
  ORDER BY created_at, id LIMIT 1`
const dueSql = due(freeSql)
const claimSql = ({ forUpdateSkipLocked }: Dialect) => `
  UPDATE jobs SET state = 'running', token = ?, lease_until = ?, attempts = attempts + 1
  WHERE id = (${due(`(${freeSql} OR token LIKE ?)`)}${forUpdateSkipLocked}) RETURNING ${jobList}`
const unfinishedSql = `
  SELECT state, count(*) AS jobs FROM jobs
  WHERE workspace_id = ? AND state IN ('queued', 'running') GROUP BY state`
const holdSql = "SELECT amount FROM movements WHERE workspace_id = ? AND reference = ? AND kind = 'hold'"
const heldSql = 'SELECT coalesce(sum(held), 0) AS held FROM jobs WHERE member_id = ? AND held > 0'

/** Questions about jobs, their records and the enrichments among them. */
export function jobReads(connection: Connection) {
  const count = async (sql: string, ...values: Value[]) =>
    Number((await connection.get<{ total: number }>(sql, ...values))?.total ?? 0)
  return {
    job: async (workspaceId, id) => {
      const sql = `SELECT ${jobList} FROM jobs WHERE workspace_id = ? AND id = ?`
      const row = await connection.get<Row>(sql, workspaceId, id)
      return row && jobOf(row)
    },
    jobs: async (workspaceId, filter, slice) => {
      const { where, values } = jobConditions(filter)
      const page = newestFirst(`SELECT ${jobList} FROM jobs WHERE workspace_id = ?${where}`, slice)
      const rows = await connection.all<Row>(page.sql, workspaceId, ...values, ...page.values)
      return rows.map(jobOf)
    },
    countJobs: (workspaceId, filter) => {
      const { where, values } = jobConditions(filter)
      return count(
        `SELECT count(*) AS total FROM jobs WHERE workspace_id = ?${where}`,
        workspaceId,
        ...values,
      )
    },
    countUnfinished: async (workspaceId) => {
      const rows = await connection.all<{ state: JobState; jobs: number }>(unfinishedSql, workspaceId)
      const inState = (state: JobState) => Number(rows.find((row) => row.state === state)?.jobs ?? 0)
      return { queued: inState('queued'), running: inState('running') }
    },
    isJobDue: async (lease) => (await connection.get(dueSql, ...freeAt(lease), null, null)) !== undefined,
    heldFor: async (workspaceId, jobId) =>
      (await connection.get<{ amount: number }>(holdSql, workspaceId, jobId))?.amount,
    heldBy: async (memberId) =>
      Number((await connection.get<{ held: number }>(heldSql, memberId))?.held ?? 0),
    records: (jobId, { after, last = Number.MAX_SAFE_INTEGER, status, skip = 0 }, limit) =>
      connection.all<JobRecord>(
        `SELECT ordinal, status, record FROM records
        WHERE job_id = ? AND ordinal > ? AND ordinal <= ? AND (CAST(? AS TEXT) IS NULL OR status = ?)
        ORDER BY ordinal LIMIT ? OFFSET ?`,
        ...[jobId, after, last, status ?? null, status ?? null, limit, skip],
      ),
    countRecords: (jobId, status) =>
      count(
        'SELECT count(*) AS total FROM records WHERE job_id = ? AND (CAST(? AS TEXT) IS NULL OR status = ?)',
        ...[jobId, status ?? null, status ?? null],
      ),
    enrichment: async (id) => {
      const row = await connection.get<Row>(`SELECT ${enrichmentList} FROM enrichments WHERE id = ?`, id)
      return row && enrichmentOf(row)
    },
    enrichments: async (jobId) => {
      const sql = `SELECT ${enrichmentList} FROM enrichments WHERE job_id = ? ORDER BY ordinal`
      return (await connection.all<Row>(sql, jobId)).map(enrichmentOf)
    },
  } satisfies Partial<JobReads>
}

function jobConditions({ kind, state, enriched }: JobFilter): { where: string; values: Value[] } {
  return {
    where: `${kind ? ' AND kind = ?' : ''}${state ? ' AND state = ?' : ''}${enriched === undefined ? '' : ' AND enriched = ?'}`,
    values: [
      ...(kind ? [kind] : []),
      ...(state ? [state] : []),
      ...(enriched === undefined ? [] : [Number(enriched)]),
    ],
  }
}

/** Changes to jobs, their records and the enrichments among them. */
export function jobWrites(connection: Connection) {
  const claim = claimSql(connection.dialect)
  const lockSql = `SELECT ${jobList} FROM jobs WHERE id = ? AND token = ? AND state = 'running'${connection.dialect.forUpdate}`
  return {
    addJob: async (job) => {
      await connection.run(jobInsert.sql, ...jobInsert.values(job))
    },
    claimJob: async ({ token, id = null, owner, ...lease }) => {
      const theirs = owner === undefined ? '' : `${owner} %`
      const values = [token, lease.leaseUntil, ...freeAt(lease), theirs, id, id]
      const row = await connection.get<Row>(claim, ...values)
      return row && jobOf(row)
    },
    lockJob: async (id, token) => {
      const row = await connection.get<Row>(lockSql, id, token)
      return row && jobOf(row)
    },
    renewJob: async (id, token, leaseUntil) =>
      (await connection.run(
        "UPDATE jobs SET lease_until = ? WHERE id = ? AND token = ? AND state = 'running'",
        ...[leaseUntil, id, token],
      )) > 0,
    changeJob: async (id, change) => {
      const changed = changeOf<AsyncJob>(jobColumns, change)
      if (changed)
        await send(connection, `UPDATE jobs SET ${changed.set} WHERE id = ?`, ...changed.values, id)
    },
    addRecords: async (jobId, records) => {
      const sql = 'INSERT INTO records (job_id, ordinal, status, record) VALUES (?, ?, ?, ?)'
      for (const { ordinal, status, record } of records)
        await send(connection, sql, jobId, ordinal, status, record)
    },
    addEnrichments: async (enrichments) => {
      for (const enrichment of enrichments)
        await connection.run(enrichmentInsert.sql, ...enrichmentInsert.values(enrichment))
    },
  } satisfies Partial<JobWrites>
}
