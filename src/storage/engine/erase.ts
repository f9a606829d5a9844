import type {
  AsyncJob,
  Enrichment,
  ErasureReads,
  ErasureWrites,
  KeptReply,
} from '../../engine/ports/ports.js'
import type { Connection } from '../driver/connection.js'
import { changeOf, enrichmentColumns, fromRow, jobColumns, type Row, selectList } from './row-mapping.js'
import { placeOf } from './row-place.js'

const jobsSql = `SELECT ${selectList(jobColumns)} FROM jobs WHERE id > ? ORDER BY id LIMIT ?`
const repliesSql = `
SELECT workspace_id AS "workspaceId", key, body FROM replies
WHERE (workspace_id, key) > (?, ?) AND status IS NOT NULL ORDER BY workspace_id, key LIMIT ?`
const runRepliesSql = 'SELECT place AS id, body FROM run_replies WHERE place > ? ORDER BY place LIMIT ?'
const fencedSql = `token = NULL, lease_until = 0`

/** Questions about all that is on record. */
export function forgetReads(connection: Connection): ErasureReads {
  return {
    jobsBehind: async (id, limit) =>
      (await connection.all<Row>(jobsSql, id, limit)).map((row) => fromRow<AsyncJob>(jobColumns, row)),
    repliesBehind: ({ workspaceId, key }, limit) =>
      connection.all<KeptReply>(repliesSql, workspaceId, key, limit),
    runRepliesBehind: (after, limit) => connection.all(runRepliesSql, after, limit),
  }
}

/** Changes for whoever must not be on record any more. */
export function forgetWrites(connection: Connection): ErasureWrites {
  const run = async (sql: string, ...values: (string | number)[]) => {
    await connection.run(sql, ...values)
  }
  return {
    rewriteJob: async (id, texts) => {
      const change = changeOf<AsyncJob>(jobColumns, texts)
      if (change)
        await connection.run(`UPDATE jobs SET ${change.set}, ${fencedSql} WHERE id = ?`, ...change.values, id)
    },
    takeBackJobs: async () => {
      // Rows that are spread are called again when their run goes on; until then nothing is left of them.
      for (const table of ['chunks', 'chunk_runs']) await connection.run(`DELETE FROM ${table}`)
      return connection.run(`UPDATE jobs SET ${fencedSql} WHERE state = 'running'`)
    },
    rewriteRecord: (jobId, ordinal, record) =>
      record === undefined
        ? run('DELETE FROM records WHERE job_id = ? AND ordinal = ?', jobId, ordinal)
        : run('UPDATE records SET record = ? WHERE job_id = ? AND ordinal = ?', record, jobId, ordinal),
    rewriteEnrichment: async (id, given) => {
      const change = changeOf<Enrichment>(enrichmentColumns, given)
      if (change)
        await connection.run(`UPDATE enrichments SET ${change.set} WHERE id = ?`, ...change.values, id)
    },
    rewriteReply: ({ workspaceId, key }, body) =>
      body === undefined
        ? run('DELETE FROM replies WHERE workspace_id = ? AND key = ?', workspaceId, key)
        : run('UPDATE replies SET body = ? WHERE workspace_id = ? AND key = ?', body, workspaceId, key),
    rewriteRunReply: async (id, body, status) => {
      const sql = 'UPDATE run_replies SET body = ?, status = coalesce(?, status) WHERE place = ?'
      await connection.run(sql, body, status ?? null, id)
    },
    dropJobs: (before, limit) => dropJobs(connection, before, limit),
    dropRepliesOfRun: (id) => dropRepliesOfRun(connection, id),
  }
}

const endedSql = `
SELECT id FROM jobs
WHERE state IN ('finished', 'failed') AND finished_at < ? AND kind <> 'list_import'
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE job_id = jobs.id AND state = 'pending')
ORDER BY finished_at, id LIMIT ?`

async function dropJobs(connection: Connection, before: number, limit: number) {
  const ended = await connection.all<{ id: string }>(endedSql, before, limit)
  const ids = JSON.stringify(ended.map(({ id }) => id))
  const drop = (table: string, column: string) =>
    connection.run(`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`, ids)
  return {
    records: await drop('records', 'job_id'),
    contacts: await drop('enrichments', 'job_id'),
    deliveries: await drop('deliveries', 'job_id'),
    jobs: await drop('jobs', 'id'),
  }
}

async function dropRepliesOfRun(connection: Connection, run: string): Promise<number> {
  const known = await connection.all<{ number: number }>('SELECT number FROM reply_runs WHERE run = ?', run)
  let dropped = 0
  for (const { number } of known)
    dropped += await connection.run(
      'DELETE FROM run_replies WHERE place >= ? AND place < ?',
      ...[placeOf(number, 0), placeOf(number + 1, 0)],
    )
  await connection.run('DELETE FROM reply_runs WHERE run = ?', run)
  return dropped
}
