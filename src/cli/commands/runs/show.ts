import type { Command } from 'commander'
import { openRuns, shownRun } from '../../open-runs.js'
import type { Shell } from '../../shell.js'
import { guide } from '../guide.js'
import { knownRun } from './known-run.js'

/** `prospect runs show ID`: a run, with what is set aside for it and how it was mapped. */
export function showRun(shell: Shell): Command {
  const command = shell
    .command('show', 'Show a run: its file, its state and what it cost')
    .argument('<id>', 'id of the run, or its beginning, as runs list shows it')
  guide(command, ['runs show 7f6f2d0e', 'runs show 7f6f2d0e --json'])
  return shell.action(command, async ({ args: [id = ''], globals }) => {
    const { context } = shell
    const { runs } = await openRuns(context)
    const run = await knownRun(runs, id)
    const { reserved, profile, fileHash } = run
    const shown = { ...shownRun(context, run), profile, credits_reserved: reserved, file_sha256: fileHash }
    await shell.print(shown, globals)
    return 0
  })
}
