import { join } from 'node:path'
import type { Driver } from '../../storage/driver/connection.js'
import type { RunLocks } from '../../storage/state/runs/run-leases.js'
import type { Run, Runs } from '../../storage/state/runs/runs.js'
import type { Context } from '../context/context.js'
import { prepareHome } from '../context/home.js'
import { fileLocks, leasesOver } from './locks.js'
import { runsFolder } from './run-folder.js'

/** What is remembered of runs, who keeps them from others, and the database it is in. */
export interface RunRecords {
  readonly runs: Runs
  readonly locks: RunLocks
  readonly database: Driver
  /** The address that other machines have the same records at; absent where they are in the home of this one. */
  readonly address: string | undefined
  /** Real time, by the clock of all who have these records. */
  now(): number
}

/** Where the records of runs are: on a server by its `postgres://` address, else in the home of this machine. */
export interface RunPlace {
  readonly database?: string | undefined
}

/** Opens the records of runs, unless they are those that were opened before; closed with the command. */
export async function openRuns(
  context: Context,
  { database: address }: RunPlace = {},
  opened?: RunRecords,
): Promise<RunRecords> {
  if (opened && opened.address === address) return opened
  prepareHome(context.home)
  const { openState } = await import('../../storage/state/open.js')
  const { runsOver } = await import('../../storage/state/runs/runs.js')
  // Whoever needs to know that something survives a power cut flushes it.
  const clock = () => context.clock.now()
  const options = { durable: false, now: clock }
  const database = await openState(address ?? context.home.state, options)
  context.onClose(() => database.close())
  const locks = address === undefined ? fileLocks(context) : await leasesOver(context, database)
  const now = () => clock() + (database.aheadMs?.() ?? 0)
  return { runs: runsOver(database, locks.fenceOf), locks, database, address, now }
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
