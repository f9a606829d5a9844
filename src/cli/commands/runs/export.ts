import type { Command } from 'commander'
import { openRuns } from '../../../batch/run/records.js'
import { exportAnswers } from '../../batch/export-answers.js'
import { sameFile } from '../../batch/flags.js'
import { toRunHome } from '../../batch/ports.js'
import { fromRecord } from '../../batch/request.js'
import { type CommandEnvironment, guide } from '../../options/command-environment.js'
import { contextOfRuns, placeWords, sharedOptions } from '../../options/databases.js'
import { knownRun } from './known-run.js'

/** `prospect runs export ID`: the output of a run again, also while it is not finished. */
export function exportRun(environment: CommandEnvironment): Command {
  const command = environment
    .command('export', 'Write the output of a run again, as far as it has come')
    .argument('<id>', 'id of the run, or its beginning, as runs list shows it')
  command.addOption(sameFile())
  sharedOptions(command)
  guide(
    command,
    ['runs export 7f6f2d0e -o again.csv', 'runs export 7f6f2d0e --format ndjson'],
    'Rows that were not looked up yet have the status skipped.',
  )
  return environment.action(command, async (invocation) => {
    const { context, place } = contextOfRuns(environment.context, invocation.options)
    const records = await openRuns(toRunHome(context), place)
    const run = await knownRun(records.runs, invocation.args[0] ?? '')
    const command = await fromRecord({ ...run, output: null }, invocation, context.streams)
    return exportAnswers(context, {
      ...command,
      ...place,
      run,
      place: placeWords(environment.context, place),
      records,
    })
  })
}
