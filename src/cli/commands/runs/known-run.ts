import { join } from 'node:path'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { isRunning, runsFolder } from '../../../batch/run/records.js'
import type { RunLocks } from '../../../storage/state/runs/run-leases.js'
import type { Run, Runs } from '../../../storage/state/runs/runs.js'
import type { ClockContext, HomeContext } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'

/** The run with an id, or with one that begins so; ends the command with exit 9 when there is none. */
export async function knownRun(runs: Runs, id: string): Promise<Run> {
  const found = id === '' ? [] : await runs.find(id)
  const [run, other] = found
  if (!run)
    throw new Stop(
      `There is no run ${id}.`,
      exitCodes.notFound,
      'See what there is: prospect runs list',
      'not_found',
    )
  if (other) throw new UsageError(`${found.length} runs begin with ${id}.`, 'Give more of the id.')
  return run
}

/** A run as commands show it. */
export async function toRunView(context: HomeContext & ClockContext, run: Run, locks: RunLocks) {
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
