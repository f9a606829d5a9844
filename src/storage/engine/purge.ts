import type { Dropped } from '../../engine/ports/ports.js'
import type { Connection } from '../driver/connection.js'
import { placeOf } from './row-place.js'

/** Changes that take old work, and work of erased people, off the record. */
export const purgeWrites = (connection: Connection) => ({
  releaseJobs: () => releaseJobs(connection),
  dropJobs: (before: number, limit: number) => dropJobs(connection, before, limit),
  dropRepliesOfRun: (run: string) => dropRepliesOfRun(connection, run),
})

/** Takes all jobs from the workers that run them; returns how many. Distributed rows are called again when their run resumes. */
export async function releaseJobs(connection: Connection): Promise<number> {
  for (const table of ['chunks', 'chunk_runs']) await connection.run(`DELETE FROM ${table}`)
  return await connection.run("UPDATE jobs SET token = NULL, lease_until = 0 WHERE state = 'running'")
}

const endedSql = `
SELECT id FROM jobs
WHERE state IN ('finished', 'failed') AND finished_at < ? AND kind <> 'list_import'
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE job_id = jobs.id AND state = 'pending')
ORDER BY finished_at, id LIMIT ?`

async function dropJobs(connection: Connection, before: number, limit: number): Promise<Dropped> {
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
