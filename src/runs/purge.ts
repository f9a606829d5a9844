import { rm } from 'node:fs/promises'
import { type Connection, type Driver, placesOf, toPlace, toRunNumber } from '../storage/driver/connection.js'
import { forEachFree, type Hold } from './journal/run-leases.js'
import { forgetRequests, mayStillSend, type Run, runScope, runsOver } from './journal/runs.js'
import { lookupsMark } from './journal/single-lookups.js'
import { startOfDay } from './journal/spending.js'
import type { RunHome } from './ports.js'
import { holdRun, type RunRecords, removeLeftovers, runFolder, stopKilledRuns } from './records.js'

/**
 * Deletes runs that ended, or began and never ended, longer ago than this, by the clock of their database. Runs that are
 * under way stay. Folders of killed commands go too.
 */
export async function purgeOldRuns(
  home: Pick<RunHome, 'home' | 'clock'>,
  databases: readonly Pick<RunRecords, 'database' | 'locks' | 'address'>[],
  olderThanMs: number,
) {
  const purged: Awaited<ReturnType<typeof purgeRuns>>[] = []
  for (const records of databases) {
    const { database, locks, address } = records
    await stopKilledRuns(records, undefined)
    const now = home.clock.now() + (database.aheadMs?.() ?? 0)
    const hold = ({ identityKey }: { readonly identityKey: string }) => locks.take(identityKey)
    purged.push(await purgeRuns(database, { before: now - olderThanMs, now, hold }))
    if (address === undefined) {
      const left = await runsOver(database).list()
      await removeLeftovers(home, new Set(left.map(({ id }) => id)))
    }
  }
  return {
    runs: purged.flatMap(({ runs }) => runs),
    answers: purged.reduce((count, { answers }) => count + answers, 0),
  }
}

interface ForgetOptions {
  readonly records: Pick<RunRecords, 'runs' | 'locks' | 'now'>
  /** Locks that this command has already. Runs of the same command have one lock. */
  readonly held: Set<string>
  /** Discards the replies that the engine keeps for a run, so that its rows are not paid for again. */
  readonly discardReplies: (run: Run) => Promise<void>
}

/** Forgets a run, so that it cannot be resumed. Throws a `Refusal` (exit 15) when another process works on it. */
export async function forgetRun(
  home: Pick<RunHome, 'home' | 'onClose'>,
  run: Run,
  { records: { runs, locks, now }, held, discardReplies }: ForgetOptions,
): Promise<void> {
  if (!held.has(run.identityKey)) await holdRun(home, locks, run.identityKey, { of: 'run', name: run.id })
  held.add(run.identityKey)
  const { lostAt } = (await runs.find(run.id))[0] ?? run
  await runs.forget(run, now())
  // Otherwise a later batch discards them, when no process can send a row again any more.
  if (!mayStillSend({ lostAt }, now())) await discardReplies(run)
  await rm(runFolder(home, run.id), { recursive: true, force: true })
}

type OldRun = Pick<Run, 'number' | 'id' | 'identityKey'>

/**
 * Deletes the runs that ended, or began and never ended, before a moment of real time, with their answers. Runs under way
 * stay. An answer that a younger run has taken stays as long as that run. Spending is kept by day, including what a run
 * that never ended may have spent. Answers to single lookups go with all others of their day.
 */
export async function purgeRuns(
  driver: Driver,
  { before, now, hold }: { before: number; now: number; hold: Hold },
) {
  const old = await driver.read((connection) => connection.all<OldRun>(oldSql, before))
  const taken = await driver.read((connection) => takenByOthers(connection, old))
  const runs: string[] = []
  let answers = 0
  await forEachFree(old, hold, async ({ id, number, identityKey }) => {
    // The run may have been resumed a moment ago.
    if (!(await driver.read((connection) => connection.get(stillSql, number, before)))) return
    answers += await purgeAnswers(driver, number, taken)
    await driver.transaction((connection) => dropRun(connection, number, now))
    if (!identityKey.startsWith(lookupsMark)) runs.push(id)
  })
  return { runs, answers }
}

const isOld = 'coalesce(ended_at, started_at) < ?'
const oldSql = `SELECT number, id, known_by AS "identityKey" FROM runs WHERE ${isOld} ORDER BY number`
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

/** Deletes the answers of a run, in portions. Returns how many. */
async function purgeAnswers(driver: Driver, run: number, taken: ReadonlySet<number>): Promise<number> {
  let dropped = 0
  for (let after: number | undefined = toPlace(run, 0) - 1; after !== undefined; ) {
    const from: number = after
    const portion = await driver.transaction(async (connection) => {
      const range = [from, toPlace(run + 1, 0), answersAtOnce]
      const rows = await connection.all<{ place: number; hash: number | null }>(answersSql, ...range)
      const old = rows.filter(({ place }) => !taken.has(place))
      for (const { place, hash } of old) {
        if (hash !== null)
          await connection.run('DELETE FROM places WHERE hash = ? AND place = ?', hash, place)
        await connection.run('DELETE FROM answers WHERE place = ?', place)
      }
      return { count: old.length, last: rows.at(-1)?.place }
    }, runScope(run))
    dropped += portion.count
    after = portion.last
  }
  return dropped
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
