import type { Command } from 'commander'
import { openRuns } from '../../../batch/run/records.js'
import { toRunHome } from '../../batch/ports.js'
import { type CommandEnvironment, guide } from '../../options/command-environment.js'
import { placeOf, sharedOptions } from '../../options/databases.js'
import { toRunView } from './known-run.js'

/** `prospect runs list`: the runs of this machine, newest first. */
export function listRuns(environment: CommandEnvironment): Command {
  const command = sharedOptions(environment.command('list', 'List the runs of this machine, newest first'))
  guide(
    command,
    ['runs list', 'runs list --json'],
    'Go on with one that was stopped: prospect runs resume ID',
  )
  return environment.action(command, async ({ options, globals }) => {
    const { context } = environment
    const { runs, locks } = await openRuns(toRunHome(context), placeOf(context, options))
    const shown = await Promise.all((await runs.list()).map((run) => toRunView(context, run, locks)))
    const columns = ['id', 'operation', 'file', 'status', 'rows', 'done', 'credits', 'started_at']
    await environment.print(shown, globals, { columns })
    return 0
  })
}
