import { type PurgedRuns, purgeRuns } from '../../storage/state/runs/purge.js'
import { runsOver } from '../../storage/state/runs/runs.js'
import type { RunHome } from './ports.js'
import { type RunRecords, removeLeftovers, stopKilledRuns } from './records.js'

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
