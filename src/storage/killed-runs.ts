import { placeOf } from './answers.js'
import type { Driver } from './driver.js'
import type { Lock } from './lock.js'

/** A run that was under way when it was last heard of. */
export interface HeardOf {
  readonly number: number
  readonly knownBy: string
}

const runningSql = `SELECT number, known_by AS knownBy FROM runs WHERE status = 'running' ORDER BY number`
// Which rows may be sent, what is set aside for them, and what the index has, is as it was.
const stopSql = `UPDATE runs SET status = 'stopped', ended_at = max(coalesce(ended_at, started_at), coalesce(
  (SELECT max(answered_at) FROM answers WHERE place >= ? AND place < ?), 0)) WHERE number = ? AND status = 'running'`

/**
 * Puts runs on record as stopped whose process was killed, at the moment at which they were last heard of: what is set
 * aside for their rows counts for that day. `hold` keeps everybody else from a run meanwhile; nothing where it is under way.
 */
export async function stopKilled(driver: Driver, hold: (run: HeardOf) => Lock | undefined): Promise<void> {
  const running = await driver.read((connection) => connection.all<HeardOf>(runningSql))
  for (const run of running) {
    const lock = hold(run)
    if (!lock) continue
    const { number } = run
    try {
      await driver.transaction((connection) =>
        connection.run(stopSql, placeOf(number, 0), placeOf(number + 1, 0), number),
      )
    } finally {
      lock.release()
    }
  }
}
