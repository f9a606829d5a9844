import { type Connection, type Dialect, mapResult, readNumber } from '../../storage/driver/connection.js'
import type { AnsweredChunk, ChunkReads, ChunkWork, ChunkWrites, Lease, TakenChunk } from '../ports/ports.js'
import { freeSql, freeValues } from './record-tables.js'

const oneOf = 'IN (SELECT value FROM json_each(?))'
const dueSql = `
  SELECT c.id FROM chunks AS c
  WHERE c.state IN ('queued', 'running') AND ${freeSql}
    AND EXISTS (SELECT 1 FROM chunk_runs AS r WHERE r.run = c.run AND r.source = ? AND r.lease_until > ?)
  ORDER BY c.created_at, c.id LIMIT 1`
const runsSql = `
SELECT count(CASE WHEN source = ? AND lease_until > ? THEN 1 END) AS runs,
  count(CASE WHEN (token <> '' AND lease_until < ?) OR lease_until < ? THEN 1 END)
  + (SELECT count(*) FROM chunk_workers WHERE seen_until < ?) AS "left"
FROM chunk_runs`
const claimSql = ({ forUpdateSkipLocked }: Dialect) => `
UPDATE chunks SET state = 'running', token = ?, lease_until = ?, taken = taken + 1
WHERE id = (${dueSql}${forUpdateSkipLocked})
RETURNING id, run, operation, calls, token, taken,
  (SELECT r.key_id FROM chunk_runs AS r WHERE r.run = chunks.run) AS "keyId"`
const takeSql = `
INSERT INTO chunk_runs (run, key_id, source, token, lease_until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run) DO UPDATE SET key_id = excluded.key_id, source = excluded.source, token = excluded.token,
  lease_until = excluded.lease_until`
const renewRunSql = 'UPDATE chunk_runs SET token = ?, lease_until = ? WHERE run = ? AND token = ?'
const addSql = `
INSERT INTO chunks (id, run, operation, calls, state, created_at, lease_until, taken)
VALUES (?, ?, ?, ?, 'queued', ?, 0, 0)`
const workerSql = `
INSERT INTO chunk_workers (id, source, seen_until) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET seen_until = excluded.seen_until`
const mine = "WHERE id = ? AND token = ? AND state = 'running'"

const heldSql = `SELECT 1 AS held FROM chunks ${mine}`
const heldRunSql = 'SELECT 1 AS held FROM chunk_runs WHERE run = ? AND token = ?'

const dueAt = (source: string, lease: Lease) => [...freeValues(lease), source, lease.realNow]

/** Returns the reads of the rows of distributed runs. */
export function chunkReads(connection: Connection): ChunkReads {
  return {
    chunkWork: async (source, lease, before) => {
      const moments = [lease.realNow, before.chunks, before.runs, before.workers]
      const found = await connection.get<Omit<ChunkWork, 'isDue'>>(runsSql, source, ...moments)
      const { runs = 0, left = 0 } = found ?? {}
      const isDue = runs > 0 && (await connection.get(dueSql, ...dueAt(source, lease))) !== undefined
      return { runs, left, isDue }
    },
    chunkWorkers: (source, now) => {
      const sql = 'SELECT count(*) AS workers FROM chunk_workers WHERE source = ? AND seen_until > ?'
      return readNumber(connection, sql, source, now)
    },
    answeredChunks: (run, limit) =>
      connection.all<AnsweredChunk>(
        "SELECT id, taken, replies FROM chunks WHERE run = ? AND state = 'answered' ORDER BY created_at, id LIMIT ?",
        ...[run, limit],
      ),
  }
}

/** Returns the changes of the rows of distributed runs. */
export const chunkWrites = (connection: Connection): ChunkWrites => ({
  ...commandWrites(connection),
  ...workerWrites(connection),
  dropDeadChunks: async (before) => {
    // Locked, so that none of them is renewed meanwhile.
    const deadSql = `SELECT run FROM chunk_runs WHERE lease_until < ?${connection.dialect.forUpdate}`
    const dead = await connection.all<{ run: string }>(deadSql, before.chunks)
    const runs = JSON.stringify(dead.map((one) => one.run))
    await connection.run(`DELETE FROM chunks WHERE run ${oneOf}`, runs)
    // By the empty token, a command that comes back learns that no other command took over the run.
    await connection.run(`UPDATE chunk_runs SET token = '' WHERE run ${oneOf}`, runs)
    await connection.run('DELETE FROM chunk_runs WHERE lease_until < ?', before.runs)
    await connection.run('DELETE FROM chunk_workers WHERE seen_until < ?', before.workers)
  },
})

/** Returns the changes by the command of a run. */
function commandWrites(connection: Connection) {
  const drop = async (run: string) => {
    await connection.run('DELETE FROM chunks WHERE run = ?', run)
  }
  const holdsChunkRun = (run: string, token: string) =>
    holds(connection, `chunk run ${run} ${token}`, heldRunSql, run, token)
  return {
    takeChunkRun: async ({ run, keyId, source, token, leaseUntil }) => {
      await connection.run(takeSql, run, keyId, source, token, leaseUntil)
      await drop(run)
    },
    renewChunkRun: async (run, token, leaseUntil) => {
      const renew = (from: string) => connection.run(renewRunSql, token, leaseUntil, run, from)
      if ((await renew(token)) > 0) return 'kept'
      return (await renew('')) > 0 ? 'anew' : 'lost'
    },
    dropChunkRun: async (run, token) => {
      if (!(await holdsChunkRun(run, token))) return
      await drop(run)
      await connection.run('DELETE FROM chunk_runs WHERE run = ?', run)
    },
    holdsChunkRun,
    addChunks: async (chunks) => {
      for (const { id, run, operation, calls, createdAt } of chunks)
        await connection.run(addSql, id, run, operation, calls, createdAt)
    },
    dropChunks: async (ids) => {
      await connection.run(`DELETE FROM chunks WHERE id ${oneOf}`, JSON.stringify(ids))
    },
    withdrawChunks: async (run, all) => {
      const which = all ? "state <> 'answered'" : "state = 'queued'"
      const sql = `DELETE FROM chunks WHERE run = ? AND ${which} RETURNING id`
      return (await connection.all<{ id: string }>(sql, run)).map(({ id }) => id)
    },
  } satisfies Partial<ChunkWrites>
}

/** Returns the changes by workers. */
function workerWrites(connection: Connection) {
  const claim = claimSql(connection.dialect)
  return {
    claimChunk: ({ token, source, ...lease }) =>
      connection.get<TakenChunk>(claim, token, lease.leaseUntil, ...dueAt(source, lease)),
    holdsChunk: (id, token) => holds(connection, `chunk ${id} ${token}`, heldSql, id, token),
    renewChunk: async (id, token, leaseUntil) =>
      (await connection.run(`UPDATE chunks SET lease_until = ? ${mine}`, leaseUntil, id, token)) > 0,
    answerChunk: async (id, token, replies) =>
      (await connection.run(
        `UPDATE chunks SET state = 'answered', replies = ?, calls = '' ${mine}`,
        ...[replies, id, token],
      )) > 0,
    keepChunkWorker: async (id, source, seenUntil) => {
      if (seenUntil === null) await connection.run('DELETE FROM chunk_workers WHERE id = ?', id)
      else await connection.run(workerSql, id, source, seenUntil)
    },
  } satisfies Partial<ChunkWrites>
}

/** Whether a token is still the owner's. Tasks that share a commit read it once. */
function holds(connection: Connection, name: string, sql: string, ...values: string[]) {
  if (connection.known.get(name)) return true
  return mapResult(connection.get(sql + connection.dialect.forUpdate, ...values), (found) => {
    if (found) connection.known.set(name, true)
    return found !== undefined
  })
}
