import { join } from 'node:path'
import type { Driver } from '../storage/driver.js'
import type { RunLocks } from '../storage/run-locks.js'
import type { Run, Runs } from '../storage/runs.js'
import type { Context } from './context.js'
import { prepareHome } from './home.js'
import { runsFolder } from './run-folder.js'
import { fileLocks, leasesOver } from './run-lock.js'

/** What is remembered of runs, who keeps them from others, and the database it is in. */
export interface RunRecords {
  readonly runs: Runs
  readonly locks: RunLocks
  readonly database: Driver
  /** Whether other machines have the same records. */
  readonly isShared: boolean
}

/** Where the records of runs are: on a server by its `postgres://` address, else in the home of this machine. */
export interface RunPlace {
  readonly database?: string | undefined
}

/** Opens the records of runs; closed with the command. */
export async function openRuns(context: Context, { database: address }: RunPlace = {}): Promise<RunRecords> {
  prepareHome(context.home)
  const { openState } = await import('../storage/state.js')
  const { runsOver } = await import('../storage/runs.js')
  // Whoever needs to know that something survives a power cut flushes it.
  const options = { durable: false, now: () => context.clock.now() }
  const database = await openState(address ?? context.home.state, options)
  context.onClose(() => database.close())
  const isShared = address !== undefined
  const locks = isShared ? await leasesOver(context, database) : fileLocks(context)
  return { runs: runsOver(database, locks.fenceOf), locks, database, isShared }
}

/** Whether a run is under way: on record as such, by a process that lives. */
export const isRunning = async (
  context: Context,
  run: Run,
  locks: RunLocks = fileLocks(context),
): Promise<boolean> => run.status === 'running' && (await locks.isHeld(run.knownBy))

/** A run as commands show it. */
export async function shownRun(context: Context, run: Run, locks: RunLocks) {
  const stopped = run.status === 'running' && !(await isRunning(context, run, locks))
  const isPiped = run.file.startsWith(join(runsFolder(context), '/'))
  const time = (at: number) => new Date(at).toISOString()
  return {
    id: run.id,
    operation: run.operation,
    file: isPiped ? '-' : run.file,
    output: run.output,
    target: run.target,
    status: stopped ? 'stopped' : run.status,
    rows: run.total,
    done: run.done,
    credits: run.credits,
    started_at: time(run.startedAt),
    finished_at: run.status === 'finished' && run.endedAt !== null ? time(run.endedAt) : null,
  }
}
