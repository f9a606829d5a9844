import type { Connection, Driver } from '../../driver/connection.js'
import { placesOf, toPlace, toRunNumber } from '../../engine/row-replies.js'
import type { Hold } from './run-leases.js'
import { forgetBulks, runScope } from './runs.js'
import { startOfDay } from './spending.js'

/** A run that may be too old. */
export interface OldRun {
  readonly number: number
  readonly id: string
  readonly knownBy: string
}

/** Runs and answers that were too old and are gone. */
export interface PurgedRuns {
  /** Ids of the runs that are off the record. */
  readonly runs: readonly string[]
  readonly answers: number
}

/** How old runs are purged. */
export interface PurgeOptions {
  /** Runs that ended, or began and never ended, before this moment of real time go. */
  readonly before: number
  /** Real time. */
  readonly now: number
  /** Keeps everybody else from a run meanwhile; nothing where it is under way. */
  readonly hold: Hold<OldRun>
}

/**
 * Takes old runs off the record, with their answers; one that is under way stays. An answer that a younger run has taken
 * stays as long as that run. What was spent is remembered by day, and so is what a run that never ended may have spent.
 */
export async function purgeRuns(driver: Driver, { before, now, hold }: PurgeOptions): Promise<PurgedRuns> {
  const old = await driver.read((connection) => connection.all<OldRun>(oldSql, before))
  const taken = await driver.read((connection) => takenByOthers(connection, old))
  const purged: PurgedRun[] = []
  for (const run of old) {
    const lock = await hold(run)
    if (!lock) continue
    try {
      // Somebody may have gone on with it until a moment ago.
      const isStill = await driver.read((connection) => connection.get(stillSql, run.number, before))
      if (isStill) purged.push(await purgeRun(driver, run, taken, now))
    } finally {
      await lock.release()
    }
  }
  return {
    runs: purged.map(({ id }) => id),
    answers: purged.reduce((count, { answers }) => count + answers, 0),
  }
}

interface PurgedRun {
  readonly id: string
  readonly answers: number
}

async function purgeRun(
  driver: Driver,
  { id, number }: OldRun,
  taken: ReadonlySet<number>,
  now: number,
): Promise<PurgedRun> {
  const answers = await purgeAnswers(driver, number, taken)
  await driver.transaction((connection) => dropRun(connection, number, now))
  return { id, answers }
}

const isOld = 'coalesce(ended_at, started_at) < ?'
const oldSql = `SELECT number, id, known_by AS "knownBy" FROM runs WHERE ${isOld} ORDER BY number`
const stillSql = `SELECT number FROM runs WHERE number = ? AND ${isOld}`
const answersSql = 'SELECT place, hash FROM answers WHERE place > ? AND place < ? ORDER BY place LIMIT ?'
const takenSql = 'SELECT place, origin FROM answers WHERE origin IS NOT NULL'
const answersAtOnce = 2_000

/** Places of answers of old runs that younger ones have taken. */
async function takenByOthers(connection: Connection, old: readonly OldRun[]): Promise<ReadonlySet<number>> {
  const gone = new Set(old.map(({ number }) => number))
  const takers = await connection.all<{ place: number; origin: number }>(takenSql)
  return new Set(takers.filter(({ place }) => !gone.has(toRunNumber(place))).map(({ origin }) => origin))
}

interface OldAnswer {
  readonly place: number
  readonly hash: number | null
}

/** Drops the answers of a run, in portions; answers how many. */
async function purgeAnswers(driver: Driver, run: number, taken: ReadonlySet<number>): Promise<number> {
  let dropped = 0
  for (let after: number | undefined = toPlace(run, 0) - 1; after !== undefined; ) {
    const from: number = after
    const portion = await driver.transaction(async (connection) => {
      const rows = await connection.all<OldAnswer>(answersSql, from, toPlace(run + 1, 0), answersAtOnce)
      const old = rows.filter(({ place }) => !taken.has(place))
      for (const answer of old) await dropAnswer(connection, answer)
      return { count: old.length, last: rows.at(-1)?.place }
    }, runScope(run))
    dropped += portion.count
    after = portion.last
  }
  return dropped
}

async function dropAnswer(connection: Connection, { place, hash }: OldAnswer): Promise<void> {
  if (hash !== null) await connection.run('DELETE FROM places WHERE hash = ? AND place = ?', hash, place)
  await connection.run('DELETE FROM answers WHERE place = ?', place)
}

/**
 * Takes a run off the record. One of whose answers some are still needed, and one that may have spent today what it has
 * set aside, is only hidden until the next time.
 */
async function dropRun(connection: Connection, run: number, now: number): Promise<void> {
  await forgetBulks(connection, run)
  const range = placesOf(run)
  const rest = await connection.get('SELECT 1 FROM answers WHERE place >= ? AND place < ? LIMIT 1', ...range)
  const open = await connection.get(openTodaySql, run, startOfDay(now))
  if (rest || open) await connection.run(hideSql, open ? 1 : 0, now, run)
  else await connection.run('DELETE FROM runs WHERE number = ?', run)
}

const openTodaySql = `SELECT 1 FROM runs WHERE number = ? AND reserved > 0 AND (status = 'running' OR ended_at >= ?)`
const hideSql = `UPDATE runs SET forgotten = 1, request = '{}', reserved = CASE WHEN ? = 1 THEN reserved ELSE 0 END,
  ended_at = CASE WHEN status = 'running' THEN ? ELSE ended_at END, status = 'stopped' WHERE number = ?`
