import type { Driver } from '../../driver/connection.js'
import { placesOf } from '../../engine/row-replies.js'
import type { Hold } from './run-leases.js'
import { type Run, runScope } from './runs.js'

/** A run that was under way when it was last heard of. */
export interface RunningRun {
  readonly number: number
  readonly knownBy: string
}

const runningSql = `SELECT number, known_by AS "knownBy" FROM runs WHERE status = 'running' ORDER BY number`
// Which rows may be sent, what is set aside for them, and what the index has, is as it was.
const stopSql = `UPDATE runs SET status = 'stopped', ended_at = (SELECT max(at) FROM (
  SELECT coalesce(ended_at, started_at) AS at UNION ALL
  SELECT max(answered_at) FROM answers WHERE place >= ? AND place < ?) AS heard) WHERE number = ? AND status = 'running'`

/**
 * Puts runs on record as stopped whose process was killed, at the moment at which they were last heard of: what is set
 * aside for their rows counts for that day. `hold` keeps everybody else from a run meanwhile; nothing where it is under way.
 */
export async function stopKilled(driver: Driver, hold: Hold<RunningRun>): Promise<void> {
  const running = await driver.read((connection) => connection.all<RunningRun>(runningSql))
  for (const run of running) {
    const lock = await hold(run)
    if (!lock) continue
    const { number } = run
    try {
      await driver.transaction(
        (connection) => connection.run(stopSql, ...placesOf(number), number),
        runScope(number),
      )
    } finally {
      await lock.release()
    }
  }
}

/** A machine that slept wakes up and sends what it had begun; after a day none does. */
const mayWakeForMs = 86_400_000

/** Whether a part that lost a run may still send rows of it: they are paid once for as long as their replies are there. */
export const mayStillSend = ({ lostAt }: Pick<Run, 'lostAt'>, now: number): boolean =>
  lostAt !== null && now - lostAt < mayWakeForMs

interface LostRun extends RunningRun {
  readonly id: string
  readonly lostAt: number
}

const overSql = `SELECT number, id, known_by AS "knownBy", lost_at AS "lostAt" FROM runs
  WHERE target = ? AND profile = ? AND lost_at <= ? AND (status = 'finished' OR forgotten = 1) ORDER BY number`
const stillSql = 'SELECT 1 AS one FROM runs WHERE number = ? AND lost_at = ?'
const doneSql = 'UPDATE runs SET lost_at = NULL WHERE number = ? AND lost_at = ?'

/** What is done with lost runs that are over. */
export interface Settling {
  /** Real time. */
  readonly now: number
  /** Keeps everybody else from a run meanwhile; nothing where it is under way. */
  readonly hold: Hold<RunningRun>
  /** Has what is kept for a run dropped, by its id. */
  readonly settle: (id: string) => Promise<void>
}

/** Settles the runs of a target and a profile that are over, and of which a part was lost that sends nothing any more. */
export async function settleLost(
  driver: Driver,
  { target, profile }: Pick<Run, 'target' | 'profile'>,
  { now, hold, settle }: Settling,
): Promise<void> {
  const over = await driver.read((reads) => reads.all<LostRun>(overSql, target, profile, now - mayWakeForMs))
  for (const run of over) {
    const lock = await hold(run)
    if (!lock) continue
    const { id, number, lostAt } = run
    try {
      // Taking it may have found out that it was lost once more.
      if (!(await driver.read((reads) => reads.get(stillSql, number, lostAt)))) continue
      await settle(id)
      await driver.transaction((c) => c.run(doneSql, number, lostAt), runScope(number))
    } finally {
      await lock.release()
    }
  }
}
