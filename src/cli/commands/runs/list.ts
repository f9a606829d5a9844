import type { Command } from 'commander'
import { openRuns, shownRun } from '../../open-runs.js'
import type { Shell } from '../../shell.js'
import { guide } from '../guide.js'

/** `prospect runs list`: the runs of this machine, newest first. */
export function listRuns(shell: Shell): Command {
  const command = shell.command('list', 'List the runs of this machine, newest first')
  guide(
    command,
    ['runs list', 'runs list --json'],
    'Go on with one that was stopped: prospect runs resume ID',
  )
  return shell.action(command, async ({ globals }) => {
    const { context } = shell
    const { runs } = await openRuns(context)
    const shown = (await runs.list()).map((run) => shownRun(context, run))
    const columns = ['id', 'operation', 'file', 'status', 'rows', 'done', 'credits', 'started_at']
    await shell.print(shown, globals, { columns })
    return 0
  })
}
