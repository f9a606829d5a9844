import { placesOf, toPlace, toRunNumber } from '../../storage/database/row-places.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { forEachFree, type Hold } from './run-leases.js'
import { forgetRequests, type Run, runScope } from './runs.js'
import { lookupsMark } from './single-lookups.js'
import { startOfDay } from './spending.js'

/** Runs and answers that were deleted. */
export interface PurgedRuns {
  /** Ids of the runs. */
  readonly runs: readonly string[]
  readonly answers: number
}

type OldRun = Pick<Run, 'number' | 'id' | 'knownBy'>

/**
 * Deletes the runs that ended, or began and never ended, before a moment of real time, with their answers. Runs under way
 * stay. An answer that a younger run has taken stays as long as that run. Spending is kept by day, including what a run
 * that never ended may have spent. Answers to single lookups go with all others of their day.
 */
export async function purgeRuns(
  driver: Driver,
  { before, now, hold }: { before: number; now: number; hold: Hold },
): Promise<PurgedRuns> {
  const old = await driver.read((connection) => connection.all<OldRun>(oldSql, before))
  const taken = await driver.read((connection) => takenByOthers(connection, old))
  const runs: string[] = []
  let answers = 0
  await forEachFree(old, hold, async ({ id, number, knownBy }) => {
    // The run may have been resumed a moment ago.
    if (!(await driver.read((connection) => connection.get(stillSql, number, before)))) return
    answers += await purgeAnswers(driver, number, taken)
    await driver.transaction((connection) => dropRun(connection, number, now))
    if (!knownBy.startsWith(lookupsMark)) runs.push(id)
  })
  return { runs, answers }
}

const isOld = 'coalesce(ended_at, started_at) < ?'
const oldSql = `SELECT number, id, known_by AS "knownBy" FROM runs WHERE ${isOld} ORDER BY number`
const stillSql = `SELECT number FROM runs WHERE number = ? AND ${isOld}`
const answersSql = 'SELECT place, hash FROM answers WHERE place > ? AND place < ? ORDER BY place LIMIT ?'
const takenSql = 'SELECT place, origin FROM answers WHERE origin IS NOT NULL'
const answersAtOnce = 2_000

/** Returns the places of answers of old runs that younger runs have taken. */
async function takenByOthers(connection: Connection, old: readonly OldRun[]): Promise<ReadonlySet<number>> {
  const gone = new Set(old.map(({ number }) => number))
  const takers = await connection.all<{ place: number; origin: number }>(takenSql)
  return new Set(takers.filter(({ place }) => !gone.has(toRunNumber(place))).map(({ origin }) => origin))
}

interface OldAnswer {
  readonly place: number
  readonly hash: number | null
}

/** Deletes the answers of a run, in portions. Returns how many. */
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

/** Deletes a run. It is only hidden while answers of it are needed, or while its credits set aside count for today. */
async function dropRun(connection: Connection, run: number, now: number): Promise<void> {
  await forgetRequests(connection, run)
  const range = placesOf(run)
  const rest = await connection.get('SELECT 1 FROM answers WHERE place >= ? AND place < ? LIMIT 1', ...range)
  const open = await connection.get(openTodaySql, run, startOfDay(now))
  if (rest || open) await connection.run(hideSql, open ? 1 : 0, now, run)
  else {
    await connection.run('DELETE FROM run_files WHERE run = ?', run)
    await connection.run('DELETE FROM runs WHERE number = ?', run)
  }
}

const openTodaySql = `SELECT 1 FROM runs WHERE number = ? AND reserved > 0 AND (status = 'running' OR ended_at >= ?)`
const hideSql = `UPDATE runs SET forgotten = 1, request = '{}', reserved = CASE WHEN ? = 1 THEN reserved ELSE 0 END,
  ended_at = CASE WHEN status = 'running' THEN ? ELSE ended_at END, status = 'stopped' WHERE number = ?`
