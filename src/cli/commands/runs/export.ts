import type { Command } from 'commander'
import { sameFile } from '../../batch-options.js'
import { exportAnswers } from '../../export-answers.js'
import { openRuns } from '../../open-runs.js'
import { jobOf } from '../../run-request.js'
import { placeWords, sharedOptions, worldOf } from '../../shared-runs.js'
import type { Shell } from '../../shell.js'
import { guide } from '../guide.js'
import { knownRun } from './known-run.js'

/** `prospect runs export ID`: the output of a run again, also while it is not finished. */
export function exportRun(shell: Shell): Command {
  const command = shell
    .command('export', 'Write the output of a run again, as far as it has come')
    .argument('<id>', 'id of the run, or its beginning, as runs list shows it')
  command.addOption(sameFile())
  sharedOptions(command)
  guide(
    command,
    ['runs export 7f6f2d0e -o again.csv', 'runs export 7f6f2d0e --format ndjson'],
    'Rows that were not looked up yet have the status skipped.',
  )
  return shell.action(command, async (invocation) => {
    const { context, place } = worldOf(shell.context, invocation.options)
    const records = await openRuns(context, place)
    const run = await knownRun(records.runs, invocation.args[0] ?? '')
    const job = await jobOf({ ...shell, context }, { ...run, output: null }, invocation)
    return exportAnswers({ ...job, run, place: placeWords(shell.context, place) }, records)
  })
}
