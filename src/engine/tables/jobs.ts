import {
  type Connection,
  type Dialect,
  joinGiven,
  readNumber,
  type StoredRow,
  send,
  type Value,
} from '../../storage/driver/connection.js'
import type { Dropped, JobFilter, JobReads, JobRecord, JobState, Transaction } from '../ports/ports.js'
import { enrichmentTable, freeSql, freeValues, jobTable } from './record-tables.js'

const unended = "state IN ('queued', 'running')"
const dueSql = `SELECT id FROM jobs WHERE ${unended} AND ${freeSql} LIMIT 1`
const claimSql = (where: string, { forUpdateSkipLocked }: Dialect) => `
  UPDATE jobs SET state = 'running', token = ?, lease_until = ?, attempts = attempts + 1
  WHERE id = (SELECT id FROM jobs WHERE ${unended} AND ${where} LIMIT 1${forUpdateSkipLocked})
  RETURNING ${jobTable.list()}`
/** The oldest job of the next workspace by id. */
const nextJob = `${freeSql} AND workspace_id > ? ORDER BY workspace_id, created_at, id`
const givenJob = `(${freeSql} OR token LIKE ?) AND id = ?`
const unfinishedSql = `
  SELECT state, count(*) AS jobs FROM jobs
  WHERE workspace_id = ? AND state IN ('queued', 'running') GROUP BY state`
const endedSql = `
  SELECT id FROM jobs
  WHERE state IN ('finished', 'failed') AND finished_at < ? AND kind <> 'list_import'
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE job_id = jobs.id AND state = 'pending')
  ORDER BY finished_at, id LIMIT ?`
const holdSql = "SELECT amount FROM movements WHERE workspace_id = ? AND reference = ? AND kind = 'hold'"
const heldSql = 'SELECT coalesce(sum(held), 0) AS held FROM jobs WHERE member_id = ? AND held > 0'
const renewSql = "UPDATE jobs SET lease_until = ? WHERE id = ? AND token = ? AND state = 'running'"
const addRecordSql = 'INSERT INTO records (job_id, ordinal, status, record) VALUES (?, ?, ?, ?)'
const ofStatus = '(CAST(? AS TEXT) IS NULL OR status = ?)'

/** Returns the reads of jobs, their records and their enrichments. */
export function jobReads(connection: Connection) {
  return {
    job: (workspaceId, id) => jobTable.get(connection, 'WHERE workspace_id = ? AND id = ?', workspaceId, id),
    jobs: (workspaceId, filter, slice) => {
      const { where, values } = jobConditions(filter)
      return jobTable.slice(connection, slice, `workspace_id = ?${where}`, workspaceId, ...values)
    },
    countJobs: (workspaceId, filter) => {
      const { where, values } = jobConditions(filter)
      const sql = `SELECT count(*) AS total FROM jobs WHERE workspace_id = ?${where}`
      return readNumber(connection, sql, workspaceId, ...values)
    },
    countUnfinished: async (workspaceId) => {
      const rows = await connection.all<{ state: JobState; jobs: number }>(unfinishedSql, workspaceId)
      const inState = (state: JobState) => Number(rows.find((row) => row.state === state)?.jobs ?? 0)
      return { queued: inState('queued'), running: inState('running') }
    },
    isJobDue: async (lease) => (await connection.get(dueSql, ...freeValues(lease))) !== undefined,
    heldFor: async (workspaceId, jobId) =>
      (await connection.get<{ amount: number }>(holdSql, workspaceId, jobId))?.amount,
    heldBy: (memberId) => readNumber(connection, heldSql, memberId),
    records: (jobId, { after, last = Number.MAX_SAFE_INTEGER, status, skip = 0 }, limit) =>
      connection.all<JobRecord>(
        `SELECT ordinal, status, record FROM records
        WHERE job_id = ? AND ordinal > ? AND ordinal <= ? AND ${ofStatus} ORDER BY ordinal LIMIT ? OFFSET ?`,
        ...[jobId, after, last, status ?? null, status ?? null, limit, skip],
      ),
    countRecords: (jobId, status) => {
      const sql = `SELECT count(*) AS total FROM records WHERE job_id = ? AND ${ofStatus}`
      return readNumber(connection, sql, jobId, status ?? null, status ?? null)
    },
    enrichment: (id) => enrichmentTable.get(connection, 'WHERE id = ?', id),
    enrichments: (jobId) => enrichmentTable.all(connection, 'WHERE job_id = ? ORDER BY ordinal', jobId),
  } satisfies Partial<JobReads>
}

const searchSql = ` AND kind NOT IN ('contact_enrichment', 'list_import')`

function jobConditions({ kind, state, enriched, isSearch, prefix }: JobFilter) {
  const { where, values } = joinGiven([
    [`substr(id, 1, ${prefix?.length}) = ?`, prefix],
    ['kind = ?', kind],
    ['state = ?', state],
    ['enriched = ?', enriched === undefined ? undefined : Number(enriched)],
  ])
  return { where: where + (isSearch ? searchSql : ''), values }
}

/** Returns the changes of jobs, their records and their enrichments. */
export function jobWrites(connection: Connection) {
  const claimNext = claimSql(nextJob, connection.dialect)
  const claimGiven = claimSql(givenJob, connection.dialect)
  const lockSql = (where: string) =>
    `SELECT ${jobTable.list()} FROM jobs WHERE id = ? AND ${where}${connection.dialect.forUpdate}`
  const lockClaimedSql = lockSql("token = ? AND state = 'running'")
  const lockOwnSql = lockSql('workspace_id = ?')
  const getJob = async (sql: string, ...values: Value[]) => {
    const row = await connection.get<StoredRow>(sql, ...values)
    return row && jobTable.toRecord(row)
  }
  return {
    addJob: (job) => jobTable.add(connection, job),
    claimJob: async ({ token, id, owner, after = '', ...lease }) => {
      const values = [token, lease.leaseUntil, ...freeValues(lease)]
      if (id !== undefined)
        return await getJob(claimGiven, ...values, owner === undefined ? '' : `${owner} %`, id)
      const next = await getJob(claimNext, ...values, after)
      return next ?? (after === '' ? undefined : await getJob(claimNext, ...values, ''))
    },
    lockJob: (id, token) => getJob(lockClaimedSql, id, token),
    lockJobOf: (workspaceId, id) => getJob(lockOwnSql, id, workspaceId),
    renewJob: async (id, token, leaseUntil) => (await connection.run(renewSql, leaseUntil, id, token)) > 0,
    changeJob: async (id, change) => {
      const update = jobTable.update(change, 'id = ?', id)
      if (update) await send(connection, ...update)
    },
    addRecords: async (jobId, records) => {
      for (const { ordinal, status, record } of records)
        await send(connection, addRecordSql, jobId, ordinal, status, record)
    },
    addEnrichments: async (enrichments) => {
      for (const enrichment of enrichments) await enrichmentTable.add(connection, enrichment)
    },
    releaseJobs: () => releaseJobs(connection),
    dropJobs: async (before, limit): Promise<Dropped> => {
      const ended = await connection.all<{ id: string }>(endedSql, before, limit)
      return await dropWork(
        connection,
        ended.map(({ id }) => id),
      )
    },
    dropJob: async (id) => {
      await dropWork(connection, [id])
    },
  } satisfies Partial<Transaction>
}

/** Drops jobs with all that refers to them. Returns how many rows. */
async function dropWork(connection: Connection, jobIds: readonly string[]): Promise<Dropped> {
  const ids = JSON.stringify(jobIds)
  const drop = (table: string, column: string) =>
    connection.run(`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`, ids)
  return {
    records: await drop('records', 'job_id'),
    contacts: await drop('enrichments', 'job_id'),
    deliveries: await drop('deliveries', 'job_id'),
    jobs: await drop('jobs', 'id'),
  }
}

/**
 * Takes all jobs from the workers that run them and returns how many. Chunks of distributed runs are deleted: their rows
 * are called again when the run resumes.
 */
export async function releaseJobs(connection: Connection): Promise<number> {
  for (const table of ['chunks', 'chunk_runs']) await connection.run(`DELETE FROM ${table}`)
  return await connection.run("UPDATE jobs SET token = NULL, lease_until = 0 WHERE state = 'running'")
}
