import { rm } from 'node:fs/promises'
import { isoDay } from '../api/values/dates.js'
import { countDay } from '../lookups/budgets.js'
import { forEachFree, type Hold } from '../lookups/leases.js'
import { lookupsMark } from '../lookups/store.js'
import { type Connection, type Driver, portionsOf } from '../storage/driver/connection.js'
import { mayStillSend, type Run, runScope, runsOver } from './journal/runs.js'
import { stopKilledRuns } from './killed-runs.js'
import type { OpenOwnEngine, RunHome } from './ports.js'
import { holdRun, type RunRecords, removeLeftovers, runFolder } from './records.js'

/**
 * Deletes runs that ended, or began and never ended, longer ago than this, by the clock of their database. Runs that are
 * under way stay. Folders of killed commands go too.
 */
export async function purgeOldRuns(
  home: Pick<RunHome, 'home' | 'clock'>,
  databases: readonly Pick<RunRecords, 'database' | 'locks' | 'address'>[],
  olderThanMs: number,
  openEngine: OpenOwnEngine,
) {
  const purged: Awaited<ReturnType<typeof purgeRuns>>[] = []
  for (const records of databases) {
    const { database, locks, address } = records
    const now = home.clock.now() + (database.aheadMs?.() ?? 0)
    await stopKilledRuns({ database, locks, now: () => now }, undefined, openEngine)
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
 * that never ended may have spent. Single lookups have nothing to do with each other: each goes by its own age.
 */
export async function purgeRuns(
  driver: Driver,
  { before, now, hold }: { before: number; now: number; hold: Hold },
) {
  const old = await driver.read((connection) => connection.all<OldRun>(oldSql, before))
  const gone = JSON.stringify(old.map(({ number }) => number))
  const runs: string[] = []
  let answers = 0
  for (const { number } of await driver.read((reads) => reads.all<OldRun>(singlesSql)))
    answers += await purgeLookups(driver, number, gone, before)
  await forEachFree(old, hold, async ({ id, number, identityKey }) => {
    // The run may have been resumed a moment ago.
    if (!(await driver.read((connection) => connection.get(stillSql, number, before)))) return
    answers += await purgeLookups(driver, number, gone)
    await driver.transaction((connection) => dropRun(connection, number, now), runScope(number))
    if (!identityKey.startsWith(lookupsMark)) runs.push(id)
  })
  if (answers > 0) await driver.transaction((connection) => connection.run(danglingSql), 'equal lookups')
  return { runs, answers }
}

const danglingSql = `DELETE FROM equal_lookups WHERE NOT EXISTS (
  SELECT 1 FROM lookups WHERE lookups.run = equal_lookups.run AND lookups.row = equal_lookups.row)`

const isOld = 'coalesce(ended_at, started_at) < ?'
const oldSql = `SELECT number, id, known_by AS "identityKey" FROM runs WHERE ${isOld} ORDER BY number`
const stillSql = `SELECT number FROM runs WHERE number = ? AND ${isOld}`
const singlesSql = `SELECT number FROM runs WHERE substr(known_by, 1, ${lookupsMark.length}) = '${lookupsMark}' ORDER BY number`
const lookupsAtOnce = 2_000
const portionSql = 'SELECT row FROM lookups WHERE run = ? AND row >= ? ORDER BY row LIMIT ?'
// An answer that a younger run has taken stays as long as that run.
const purgeSql = `DELETE FROM lookups WHERE run = ? AND row >= ? AND row <= ?
  AND (? = 1 OR state <> 'asked' AND coalesce(answered_at, asked_at) < ?)
  AND NOT EXISTS (SELECT 1 FROM lookups AS taker WHERE taker.from_run = lookups.run AND taker.from_row = lookups.row
    AND taker.run NOT IN (SELECT atom FROM json_each(?)))`

/**
 * Deletes the lookups of a run in portions: all of them, or those that were answered, or given up, before a moment. Returns
 * how many; `gone` are the runs that go, as JSON.
 */
async function purgeLookups(driver: Driver, run: number, gone: string, before?: number): Promise<number> {
  const read = (last?: { readonly row: number }) =>
    driver.read((reads) =>
      reads.all<{ row: number }>(portionSql, run, last ? last.row + 1 : 0, lookupsAtOnce),
    )
  let dropped = 0
  for await (const portion of portionsOf(lookupsAtOnce, read)) {
    const [first, last] = [portion[0], portion.at(-1)]
    if (!first || !last) break
    dropped += await driver.transaction(
      (connection) =>
        connection.run(purgeSql, run, first.row, last.row, before === undefined ? 1 : 0, before ?? 0, gone),
      runScope(run),
    )
  }
  return dropped
}

/** Deletes a run. It is only hidden while answers of it are needed. What it spent stays in the ledger. */
async function dropRun(connection: Connection, run: number, now: number): Promise<void> {
  const rest = await connection.get('SELECT 1 AS one FROM lookups WHERE run = ? LIMIT 1', run)
  const left = await connection.get<{ profile: string; at: number; held: number }>(leftSql, run)
  // What a killed run may have spent still counts in the budget of its last day.
  if (left) await countDay(connection, left.profile, isoDay(left.at), left.held)
  await connection.run('DELETE FROM budgets WHERE scope IN (?, ?)', `run ${run}`, `profiles ${run}`)
  if (rest) await connection.run(hideSql, now, run)
  else {
    await connection.run('DELETE FROM run_files WHERE run = ?', run)
    await connection.run('DELETE FROM runs WHERE number = ?', run)
  }
}

const leftSql = `SELECT r.profile, coalesce(r.ended_at, r.started_at) AS at, b.held FROM runs r
  JOIN budgets b ON b.scope = 'run ' || r.number WHERE r.number = ? AND b.held > 0`
const hideSql = `UPDATE runs SET forgotten = 1, request = '{}',
  ended_at = CASE WHEN status = 'running' THEN ? ELSE ended_at END, status = 'stopped' WHERE number = ?`
