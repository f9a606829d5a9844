import { placesOf } from '../../storage/database/row-places.js'
import type { Driver } from '../../storage/driver/connection.js'
import { forEachFree, type Hold } from './run-leases.js'
import { type Run, runScope } from './runs.js'

const runningSql = `SELECT number, known_by AS "knownBy" FROM runs WHERE status = 'running' ORDER BY number`
// The rows that may be sent, the credits set aside for them, and the index stay as they are.
const stopSql = `UPDATE runs SET status = 'stopped', ended_at = (SELECT max(at) FROM (
  SELECT coalesce(ended_at, started_at) AS at UNION ALL
  SELECT max(answered_at) FROM answers WHERE place >= ? AND place < ?) AS heard) WHERE number = ? AND status = 'running'`

/**
 * Records runs as stopped whose process was killed, as of their last sign of life: the credits set aside for their rows
 * count for that day. Runs under way, whose lock `hold` cannot take, stay as they are.
 */
export async function stopKilled(driver: Driver, hold: Hold): Promise<void> {
  const running = await driver.read((reads) => reads.all<Pick<Run, 'number' | 'knownBy'>>(runningSql))
  await forEachFree(running, hold, async ({ number }) => {
    await driver.transaction((c) => c.run(stopSql, ...placesOf(number), number), runScope(number))
  })
}

/** A machine that wakes from sleep sends what it had begun; after a day, none does. */
const mayWakeForMs = 86_400_000

/** Whether a part that lost a run may still send its rows. While their replies are kept, they are paid once. */
export const mayStillSend = ({ lostAt }: Pick<Run, 'lostAt'>, now: number): boolean =>
  lostAt !== null && now - lostAt < mayWakeForMs

const overSql = `SELECT number, id, known_by AS "knownBy", lost_at AS "lostAt" FROM runs
  WHERE target = ? AND profile = ? AND lost_at <= ? AND (status = 'finished' OR forgotten = 1) ORDER BY number`
const stillSql = 'SELECT 1 AS one FROM runs WHERE number = ? AND lost_at = ?'
const doneSql = 'UPDATE runs SET lost_at = NULL WHERE number = ? AND lost_at = ?'

/**
 * Calls `settle` with the ids of ended runs of a target and a profile that a part lost long ago, so that it sends nothing any
 * more. `now` is real time.
 */
export async function settleLost(
  driver: Driver,
  { target, profile }: Pick<Run, 'target' | 'profile'>,
  { now, hold, settle }: { now: number; hold: Hold; settle: (id: string) => Promise<void> },
): Promise<void> {
  const over = await driver.read((reads) =>
    reads.all<Pick<Run, 'number' | 'id' | 'knownBy' | 'lostAt'>>(
      overSql,
      target,
      profile,
      now - mayWakeForMs,
    ),
  )
  await forEachFree(over, hold, async ({ id, number, lostAt }) => {
    // Taking the lock may have shown that the run was lost once more.
    if (!(await driver.read((reads) => reads.get(stillSql, number, lostAt)))) return
    await settle(id)
    await driver.transaction((c) => c.run(doneSql, number, lostAt), runScope(number))
  })
}
