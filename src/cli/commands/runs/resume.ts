import type { Command } from 'commander'
import { openRuns } from '../../../batch/run/records.js'
import { sameFile, spending } from '../../batch/flags.js'
import { toRunHome } from '../../batch/ports.js'
import { fromRecord } from '../../batch/request.js'
import { batch } from '../../batch/run.js'
import { type CommandEnvironment, guide } from '../../options/command-environment.js'
import { placeOf, sharedOptions } from '../../options/databases.js'
import { groups } from '../../options/global-options.js'
import { knownRun } from './known-run.js'

/** `prospect runs resume ID`: resumes a run, from any folder. */
export function resumeRun(environment: CommandEnvironment): Command {
  const command = environment
    .command('resume', 'Go on with a run: it remembers its file, columns, options and output')
    .argument('<id>', 'id of the run, or its beginning, as runs list shows it')
  command.addOption(sameFile().helpGroup(groups.batch))
  for (const option of spending()) command.addOption(option.helpGroup(groups.batch))
  command.option('--dry-run', 'show what the rest can cost, send nothing')
  sharedOptions(command)
  guide(
    command,
    ['runs resume 7f6f2d0e', 'runs resume 7f6f2d0e --max-credits 1000 -o rest.csv'],
    'A run that is finished writes its output again, and spends nothing.',
  )
  return environment.action(command, async (invocation) => {
    const place = placeOf(environment.context, invocation.options)
    const records = await openRuns(toRunHome(environment.context), place)
    const run = await knownRun(records.runs, invocation.args[0] ?? '')
    const command = await fromRecord(run, invocation, environment.context.streams)
    return batch(environment, { ...command, ...place, records })
  })
}
