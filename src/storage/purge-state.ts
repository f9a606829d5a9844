import { placeOf, runAt } from './answers.js'
import { forgetBulks } from './bulks.js'
import type { Connection, Driver } from './driver.js'

/** A run that may be too old. */
export interface OldRun {
  readonly number: number
  readonly id: string
  readonly knownBy: string
  readonly status: 'running' | 'stopped' | 'finished'
}

/** Runs and answers that were too old and are gone. */
export interface PurgedRuns {
  /** Ids of the runs that are off the record. */
  readonly runs: readonly string[]
  readonly answers: number
}

/**
 * Takes runs that ended, or began and never ended, before a moment of real time off the record, with their answers;
 * one that `isUnderWay` stays. An answer that a younger run has taken stays as long as that run. What was spent is
 * remembered by day.
 */
export async function purgeRuns(
  driver: Driver,
  before: number,
  isUnderWay: (run: OldRun) => boolean,
): Promise<PurgedRuns> {
  const all = await driver.read((connection) => connection.all<OldRun>(oldSql, before))
  const old = all.filter((run) => !isUnderWay(run))
  const taken = await driver.read((connection) => takenByOthers(connection, old))
  let answers = 0
  for (const { number } of old) {
    answers += await purgeAnswers(driver, number, taken)
    await driver.transaction((connection) => dropRun(connection, number))
  }
  return { runs: old.map(({ id }) => id), answers }
}

const oldSql = `SELECT number, id, known_by AS knownBy, status FROM runs
  WHERE coalesce(ended_at, started_at) < ? ORDER BY number`
const answersSql = 'SELECT place, hash FROM answers WHERE place > ? AND place < ? ORDER BY place LIMIT ?'
const takenSql = 'SELECT place, origin FROM answers WHERE origin IS NOT NULL'
const answersAtOnce = 2_000

/** Places of answers of old runs that younger ones have taken. */
async function takenByOthers(connection: Connection, old: readonly OldRun[]): Promise<ReadonlySet<number>> {
  const gone = new Set(old.map(({ number }) => number))
  const takers = await connection.all<{ place: number; origin: number }>(takenSql)
  return new Set(takers.filter(({ place }) => !gone.has(runAt(place))).map(({ origin }) => origin))
}

interface OldAnswer {
  readonly place: number
  readonly hash: number | null
}

/** Drops the answers of a run, in portions; answers how many. */
async function purgeAnswers(driver: Driver, run: number, taken: ReadonlySet<number>): Promise<number> {
  let dropped = 0
  for (let after: number | undefined = placeOf(run, 0) - 1; after !== undefined; ) {
    const from: number = after
    const portion = await driver.transaction(async (connection) => {
      const rows = await connection.all<OldAnswer>(answersSql, from, placeOf(run + 1, 0), answersAtOnce)
      const old = rows.filter(({ place }) => !taken.has(place))
      for (const answer of old) await dropAnswer(connection, answer)
      return { count: old.length, last: rows.at(-1)?.place }
    })
    dropped += portion.count
    after = portion.last
  }
  return dropped
}

async function dropAnswer(connection: Connection, { place, hash }: OldAnswer): Promise<void> {
  if (hash !== null) await connection.run('DELETE FROM places WHERE hash = ? AND place = ?', hash, place)
  await connection.run('DELETE FROM answers WHERE place = ?', place)
}

/** Takes a run off the record; one of whose answers some are still needed is only hidden until the next time. */
async function dropRun(connection: Connection, run: number): Promise<void> {
  await forgetBulks(connection, run)
  const range = [placeOf(run, 0), placeOf(run + 1, 0)]
  const rest = await connection.get('SELECT 1 FROM answers WHERE place >= ? AND place < ? LIMIT 1', ...range)
  const sql = rest
    ? `UPDATE runs SET forgotten = 1, reserved = 0, request = '{}', status = 'stopped' WHERE number = ?`
    : 'DELETE FROM runs WHERE number = ?'
  await connection.run(sql, run)
}
