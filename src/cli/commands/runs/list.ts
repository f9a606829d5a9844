import type { Command } from 'commander'
import { openRuns } from '../../../batch/run/records.js'
import { placeOf, sharedOptions, toRunHome } from '../../runs/shared-runs.js'
import type { Shell } from '../../shell/shell.js'
import { guide } from '../../shell/shell.js'
import { toRunView } from './known-run.js'

/** `prospect runs list`: the runs of this machine, newest first. */
export function listRuns(shell: Shell): Command {
  const command = sharedOptions(shell.command('list', 'List the runs of this machine, newest first'))
  guide(
    command,
    ['runs list', 'runs list --json'],
    'Go on with one that was stopped: prospect runs resume ID',
  )
  return shell.action(command, async ({ options, globals }) => {
    const { context } = shell
    const { runs, locks } = await openRuns(toRunHome(context), placeOf(context, options))
    const shown = await Promise.all((await runs.list()).map((run) => toRunView(context, run, locks)))
    const columns = ['id', 'operation', 'file', 'status', 'rows', 'done', 'credits', 'started_at']
    await shell.print(shown, globals, { columns })
    return 0
  })
}
