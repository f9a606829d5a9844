import { rm } from 'node:fs/promises'
import { mayStillSend } from './journal/lost-runs.js'
import { type PurgedRuns, purgeRuns } from './journal/purge-answers.js'
import { type Run, runsOver } from './journal/runs.js'
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
): Promise<PurgedRuns> {
  const purged: PurgedRuns[] = []
  for (const records of databases) {
    const { database, locks, address } = records
    await stopKilledRuns(records, undefined)
    const now = home.clock.now() + (database.aheadMs?.() ?? 0)
    const hold = ({ knownBy }: { readonly knownBy: string }) => locks.take(knownBy)
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

/** What forgetting a run depends on. */
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
  if (!held.has(run.knownBy)) await holdRun(home, locks, run.knownBy, `Run ${run.id}`)
  held.add(run.knownBy)
  const { lostAt } = (await runs.find(run.id))[0] ?? run
  await runs.forget(run, now())
  // Otherwise a later batch discards them, when no process can send a row again any more.
  if (!mayStillSend({ lostAt }, now())) await discardReplies(run)
  await rm(runFolder(home, run.id), { recursive: true, force: true })
}
