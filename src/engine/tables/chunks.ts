import type { Awaitable } from '../../api/values/objects.js'
import { type Connection, mapResult, perDialect, readNumber } from '../../storage/driver/connection.js'
import { freeSql, freeValues, type Lease } from './record-table.js'

/** A distributed run, as its command stores it: `leaseUntil` is the real time until which that counts as alive. */
interface ChunkRun extends Record<'run' | 'keyId' | 'source' | 'token', string> {
  readonly leaseUntil: number
}

/** Rows of a run that one worker calls. */
export interface NewChunk {
  readonly id: string
  readonly run: string
  readonly operation: string
  readonly calls: string
  /** Real time; the oldest chunk is taken first. */
  readonly createdAt: number
}

/** A chunk in the hands of a worker. */
export interface TakenChunk extends Omit<NewChunk, 'createdAt'> {
  readonly keyId: string
  readonly token: string
  /** How many times it was taken, this time included. */
  readonly taken: number
}

export interface AnsweredChunk {
  readonly id: string
  /** How many times it was taken. After more than once, any of its calls may have been made before. */
  readonly taken: number
  /** The results of its calls, as JSON. */
  readonly replies: string
}

/** Moments of real time; what was last heard of before them is deleted. */
export interface StaleBefore {
  /** For a run and its chunks, whose command may come back before. */
  readonly runs: number
  readonly workers: number
}

const oneOf = 'IN (SELECT value FROM json_each(?))'
const dueSql = `
  SELECT c.id FROM chunks AS c
  WHERE c.state IN ('queued', 'running') AND ${freeSql}
    AND EXISTS (SELECT 1 FROM chunk_runs AS r WHERE r.run = c.run AND r.source = ? AND r.lease_until > ?)
  ORDER BY c.created_at, c.id LIMIT 1`
const runsSql = `
SELECT count(CASE WHEN source = ? AND lease_until > ? THEN 1 END) AS runs,
  count(CASE WHEN lease_until < ? THEN 1 END)
  + (SELECT count(*) FROM chunk_workers WHERE seen_until < ?) AS "left"
FROM chunk_runs`
const claimSql = perDialect(
  ({ forUpdateSkipLocked }) => `
UPDATE chunks SET state = 'running', token = ?, lease_until = ?, taken = taken + 1
WHERE id = (${dueSql}${forUpdateSkipLocked})
RETURNING id, run, operation, calls, token, taken,
  (SELECT r.key_id FROM chunk_runs AS r WHERE r.run = chunks.run) AS "keyId"`,
)
const takeSql = `
INSERT INTO chunk_runs (run, key_id, source, token, lease_until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run) DO UPDATE SET key_id = excluded.key_id, source = excluded.source, token = excluded.token,
  lease_until = excluded.lease_until`
const renewRunSql = 'UPDATE chunk_runs SET lease_until = ? WHERE run = ? AND token = ?'
const addSql = `
INSERT INTO chunks (id, run, operation, calls, state, created_at, lease_until, taken)
VALUES (?, ?, ?, ?, 'queued', ?, 0, 0)`
const workerSql = `
INSERT INTO chunk_workers (id, source, seen_until) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET seen_until = excluded.seen_until`
const mine = "WHERE id = ? AND token = ? AND state = 'running'"
const answerSql = `UPDATE chunks SET state = 'answered', replies = ?, calls = '' ${mine}`

const heldSql = perDialect(({ forUpdate }) => `SELECT 1 AS held FROM chunks ${mine}${forUpdate}`)
const heldRunSql = perDialect(
  ({ forUpdate }) => `SELECT 1 AS held FROM chunk_runs WHERE run = ? AND token = ?${forUpdate}`,
)

const dueAt = (source: string, lease: Lease) => [...freeValues(lease), source, lease.realNow]

/** Counts the runs with a live command, and what dead commands and workers left; `isDue` says whether a chunk is. */
export async function readChunkWork(tx: Connection, source: string, lease: Lease, before: StaleBefore) {
  const moments = [lease.realNow, before.runs, before.workers]
  const found = await tx.get<{ runs: number; left: number }>(runsSql, source, ...moments)
  const { runs = 0, left = 0 } = found ?? {}
  const isDue = runs > 0 && (await tx.get(dueSql, ...dueAt(source, lease))) !== undefined
  return { runs, left, isDue }
}

/** Returns the number of active workers of a source at a moment of real time. */
export const countChunkWorkers = (tx: Connection, source: string, now: number): Promise<number> => {
  const sql = 'SELECT count(*) AS workers FROM chunk_workers WHERE source = ? AND seen_until > ?'
  return readNumber(tx, sql, source, now)
}

/** Returns answered chunks of a run, at most `limit`. */
export const listAnsweredChunks = async (tx: Connection, run: string, limit: number) =>
  tx.all<AnsweredChunk>(
    "SELECT id, taken, replies FROM chunks WHERE run = ? AND state = 'answered' ORDER BY created_at, id LIMIT ?",
    run,
    limit,
  )

/** Deletes what dead commands and workers left behind. */
export async function dropDeadChunks(tx: Connection, before: StaleBefore): Promise<void> {
  // Locked, so that none of them is renewed meanwhile.
  const deadSql = `SELECT run FROM chunk_runs WHERE lease_until < ?${tx.dialect.forUpdate}`
  const dead = await tx.all<{ run: string }>(deadSql, before.runs)
  const runs = JSON.stringify(dead.map((one) => one.run))
  for (const table of ['chunks', 'chunk_runs']) await tx.run(`DELETE FROM ${table} WHERE run ${oneOf}`, runs)
  await tx.run('DELETE FROM chunk_workers WHERE seen_until < ?', before.workers)
}

/** Gives a run to a command and deletes its chunks, so that no worker writes results for them. */
export async function takeChunkRun(tx: Connection, { run, keyId, source, token, leaseUntil }: ChunkRun) {
  await tx.run(takeSql, run, keyId, source, token, leaseUntil)
  await tx.run('DELETE FROM chunks WHERE run = ?', run)
}

/** Renews a run. Returns false when another token has it, or when it was deleted. */
export const renewChunkRun = async (tx: Connection, run: string, token: string, leaseUntil: number) =>
  (await tx.run(renewRunSql, leaseUntil, run, token)) > 0

export async function dropChunkRun(tx: Connection, run: string, token: string): Promise<void> {
  if (!(await holdsChunkRun(tx, run, token))) return
  await tx.run('DELETE FROM chunks WHERE run = ?', run)
  await tx.run('DELETE FROM chunk_runs WHERE run = ?', run)
}

/** Returns whether this token has the run, and keeps it so until the transaction ends. */
export const holdsChunkRun = (tx: Connection, run: string, token: string): Awaitable<boolean> =>
  holds(tx, `chunk run ${run} ${token}`, heldRunSql(tx), run, token)

export async function insertChunks(tx: Connection, chunks: readonly NewChunk[]): Promise<void> {
  for (const { id, run, operation, calls, createdAt } of chunks)
    await tx.run(addSql, id, run, operation, calls, createdAt)
}

export async function dropChunks(tx: Connection, ids: readonly string[]): Promise<void> {
  await tx.run(`DELETE FROM chunks WHERE id ${oneOf}`, JSON.stringify(ids))
}

/** Deletes the chunks of a run that no worker took, or all unanswered ones. Returns their ids. */
export async function withdrawChunks(tx: Connection, run: string, all: boolean): Promise<readonly string[]> {
  const which = all ? "state <> 'answered'" : "state = 'queued'"
  const sql = `DELETE FROM chunks WHERE run = ? AND ${which} RETURNING id`
  return (await tx.all<{ id: string }>(sql, run)).map(({ id }) => id)
}

/** Takes the oldest free chunk of a source, of a run with a live command. */
export const claimChunk = (
  tx: Connection,
  { token, source, ...lease }: Lease & { readonly token: string; readonly source: string },
) => tx.get<TakenChunk>(claimSql(tx), token, lease.leaseUntil, ...dueAt(source, lease))

/** Returns whether this token has the chunk, and keeps it so until the transaction ends. */
export const holdsChunk = (tx: Connection, id: string, token: string): Awaitable<boolean> =>
  holds(tx, `chunk ${id} ${token}`, heldSql(tx), id, token)

export const renewChunk = async (tx: Connection, id: string, token: string, leaseUntil: number) =>
  (await tx.run(`UPDATE chunks SET lease_until = ? ${mine}`, leaseUntil, id, token)) > 0

/** Stores the results of a chunk. Returns whether this token still had it. */
export const answerChunk = async (tx: Connection, id: string, token: string, replies: string) =>
  (await tx.run(answerSql, replies, id, token)) > 0

/** Announces a worker until a moment of real time; null withdraws it. */
export async function keepChunkWorker(tx: Connection, id: string, source: string, seenUntil: number | null) {
  if (seenUntil === null) await tx.run('DELETE FROM chunk_workers WHERE id = ?', id)
  else await tx.run(workerSql, id, source, seenUntil)
}

/** Whether a token is still the owner's. Tasks that share a commit read it once. */
function holds(tx: Connection, name: string, sql: string, ...values: string[]): Awaitable<boolean> {
  if (tx.known.get(name)) return true
  return mapResult(tx.get(sql, ...values), (found) => {
    if (found) tx.known.set(name, true)
    return found !== undefined
  })
}
