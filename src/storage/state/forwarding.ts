import type { Outbox, Passed } from '../../http/inbox.js'
import type { Connection, Driver } from '../driver/connection.js'

/** The forwarding of a delivery to one address. */
export interface Forwarding {
  readonly target: string
  readonly state: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  /** The last answer, or why there was none; null before the first. */
  readonly answer: string | null
  /** When it changed last. */
  readonly at: number
  /** When it is tried next; null when it is not, or while an earlier untried one of the same search waits. */
  readonly nextAt: number | null
}

interface TakenRow {
  readonly seq: number
  readonly attempts: number
  readonly headers: string
  readonly body: string
}

/** Returns the deliveries that wait to be forwarded to a target. */
export function outboxOver(driver: Driver, target: string): Outbox {
  const due = `FROM forwards JOIN events USING (seq) WHERE target = ? AND state = 'waiting' AND next_at <= ?`
  const schedule = (connection: Connection, seq: number, at: number) =>
    connection.run(
      `UPDATE forwards SET next_at = ? WHERE target = ? AND seq = ? AND state = 'waiting'`,
      ...[at, target, seq],
    )
  return {
    take: async (now, limit, leaseMs) => {
      // Asked first: a transaction would keep other processes from writing, many times a minute.
      const isDue = await driver.read((reads) => reads.get(`SELECT 1 ${due} LIMIT 1`, target, now))
      if (!isDue) return []
      return driver.transaction(async (connection) => {
        const sql = `SELECT seq, attempts, headers, body ${due} ORDER BY next_at, seq LIMIT ?`
        const rows = await connection.all<TakenRow>(sql, target, now, limit)
        for (const { seq } of rows) await schedule(connection, seq, now + leaseMs)
        return rows.map(({ seq, attempts, headers, body }) => ({
          seq,
          attempts,
          delivery: { headers: JSON.parse(headers) as Record<string, string>, body },
        }))
      })
    },
    settle: ({ seq }, { ok, answer }, now, retryAt) =>
      driver.transaction(async (connection) => {
        const state = ok ? 'delivered' : retryAt === undefined ? 'failed' : 'waiting'
        const row = await connection.get<{ lane: string }>(
          `UPDATE forwards SET state = ?, attempts = attempts + 1, answer = ?, next_at = ?, changed_at = ?
           WHERE target = ? AND seq = ? AND state = 'waiting' RETURNING lane`,
          ...[state, answer, state === 'waiting' ? (retryAt ?? now) : null, now, target, seq],
        )
        if (row) await promote(connection, target, row.lane, now)
      }),
    release: async ({ seq }, now) => {
      await driver.transaction((connection) => schedule(connection, seq, now))
    },
  }
}

/** Queues a delivery for forwarding, behind the untried ones of its search. */
export async function enqueue(
  connection: Connection,
  target: string,
  seq: number,
  lane: string,
  now: number,
): Promise<void> {
  await connection.run(
    `INSERT INTO forwards (target, seq, lane, state, attempts, next_at, changed_at)
     VALUES (?, ?, ?, 'waiting', 0,
       CASE WHEN EXISTS (SELECT 1 FROM forwards
         WHERE target = ? AND lane = ? AND state = 'waiting' AND attempts = 0) THEN NULL ELSE ? END, ?)`,
    ...[target, seq, lane, target, lane, now, now],
  )
}

/** Records a delivery that was forwarded by hand. A failure does not change its state. */
export async function recordForward(
  connection: Connection,
  target: string,
  seq: number,
  lane: string,
  passed: Passed,
  now: number,
): Promise<void> {
  await connection.run(
    `INSERT INTO forwards (target, seq, lane, state, attempts, answer, changed_at) VALUES (?, ?, ?, ?, 1, ?, ?)
     ON CONFLICT (target, seq) DO UPDATE SET attempts = attempts + 1, answer = excluded.answer,
       changed_at = excluded.changed_at,
       next_at = CASE WHEN excluded.state = 'delivered' THEN NULL ELSE next_at END,
       state = CASE WHEN excluded.state = 'delivered' THEN 'delivered' ELSE state END`,
    ...[target, seq, lane, passed.ok ? 'delivered' : 'failed', passed.answer, now],
  )
  await promote(connection, target, lane, now)
}

/** Returns the targets with waiting deliveries whose names begin with `prefix`. */
export async function waitingTargets(connection: Connection, prefix: string): Promise<string[]> {
  const rows = await connection.all<{ target: string }>(
    `SELECT DISTINCT target FROM forwards WHERE state = 'waiting' AND substr(target, 1, length(?)) = ?`,
    ...[prefix, prefix],
  )
  return rows.map(({ target }) => target)
}

/** Returns the forwardings of a delivery, one for each address. */
export const forwardingsOf = (connection: Connection, seq: number) =>
  connection.all<Forwarding>(
    `SELECT target, state, attempts, answer, changed_at AS at, next_at AS nextAt FROM forwards
     WHERE seq = ? ORDER BY target`,
    seq,
  )

/** Makes the first untried delivery of each lane due, where the one before it was deleted. */
export async function promoteAll(connection: Connection, now: number): Promise<void> {
  await connection.run(
    `UPDATE forwards SET next_at = ? WHERE state = 'waiting' AND next_at IS NULL AND NOT EXISTS (
       SELECT 1 FROM forwards AS before WHERE before.target = forwards.target AND before.lane = forwards.lane
         AND before.state = 'waiting' AND before.attempts = 0 AND before.seq < forwards.seq)`,
    now,
  )
}

/**
 * Makes the first untried delivery of a lane due, unless it is: first attempts are made in order, and a failed one does not
 * delay others.
 */
const promote = (connection: Connection, target: string, lane: string, now: number) =>
  connection.run(
    `UPDATE forwards SET next_at = ? WHERE target = ? AND next_at IS NULL AND seq = (
       SELECT seq FROM forwards WHERE target = ? AND lane = ? AND state = 'waiting' AND attempts = 0
       ORDER BY seq LIMIT 1)`,
    ...[now, target, target, lane],
  )
