import type { Run, Runs } from '../../../storage/state/runs/runs.js'
import { exits, Stop, UsageError } from '../../context/errors.js'

/** The run with an id, or with one that begins so; ends the command with exit 9 when there is none. */
export async function knownRun(runs: Runs, id: string): Promise<Run> {
  const found = id === '' ? [] : await runs.find(id)
  const [run, other] = found
  if (!run)
    throw new Stop(
      `There is no run ${id}.`,
      exits.notFound,
      'See what there is: prospect runs list',
      'not_found',
    )
  if (other) throw new UsageError(`${found.length} runs begin with ${id}.`, 'Give more of the id.')
  return run
}
