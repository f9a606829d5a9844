import type { Command } from 'commander'
import { openRuns } from '../../../batch/run/records.js'
import { toRunHome } from '../../batch/ports.js'
import { type CommandEnvironment, guide } from '../../options/command-environment.js'
import { placeOf, sharedOptions } from '../../options/databases.js'
import { knownRun, toRunView } from './known-run.js'

/** `prospect runs show ID`: a run, with what is set aside for it and how it was mapped. */
export function showRun(environment: CommandEnvironment): Command {
  const command = environment
    .command('show', 'Show a run: its file, its state and what it cost')
    .argument('<id>', 'id of the run, or its beginning, as runs list shows it')
  sharedOptions(command)
  guide(command, ['runs show 7f6f2d0e', 'runs show 7f6f2d0e --json'])
  return environment.action(command, async ({ args: [id = ''], options, globals }) => {
    const { context } = environment
    const { runs, locks } = await openRuns(toRunHome(context), placeOf(context, options))
    const run = await knownRun(runs, id)
    const { reserved, profile, fileHash } = run
    const shown = {
      ...(await toRunView(context, run, locks)),
      profile,
      credits_reserved: reserved,
      file_sha256: fileHash,
    }
    await environment.print(shown, globals)
    return 0
  })
}
