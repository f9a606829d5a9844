import { join } from 'node:path'
import type { Driver } from '../storage/driver.js'
import type { Run, Runs } from '../storage/runs.js'
import type { Context } from './context.js'
import { prepareHome } from './home.js'
import { runsFolder } from './run-folder.js'
import { isHeld, runLock } from './run-lock.js'

/** What this machine remembers of runs, and the database it is in. */
export interface RunRecords {
  readonly runs: Runs
  readonly database: Driver
}

/** Opens the runs of this machine; closed with the command. */
export async function openRuns(context: Context): Promise<RunRecords> {
  prepareHome(context.home)
  const { openState } = await import('../storage/state.js')
  const { runsOver } = await import('../storage/runs.js')
  // Whoever needs to know that something survives a power cut flushes it.
  const database = await openState(context.home.state, { durable: false })
  context.onClose(() => database.close())
  return { runs: runsOver(database), database }
}

/** Whether a run is under way: on record as such, by a process that lives. */
export const isRunning = (context: Context, run: Run): boolean =>
  run.status === 'running' && isHeld(runLock(context, run.knownBy))

/** A run as commands show it. */
export function shownRun(context: Context, run: Run) {
  const stopped = run.status === 'running' && !isRunning(context, run)
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
