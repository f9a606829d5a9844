import type { Driver } from '../../driver/connection.js'
import { placeOf } from '../../engine/row-place.js'
import type { Hold } from './run-leases.js'
import { runScope } from './runs.js'

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
        (connection) => connection.run(stopSql, placeOf(number, 0), placeOf(number + 1, 0), number),
        runScope(number),
      )
    } finally {
      await lock.release()
    }
  }
}
