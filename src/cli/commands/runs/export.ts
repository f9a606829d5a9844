import type { Command } from 'commander'
import { exportAnswers } from '../../batch/export-answers.js'
import { sameFile } from '../../batch/flags.js'
import { jobOf } from '../../batch/run-request.js'
import { openRuns } from '../../runs/run-store.js'
import { contextOfRuns, placeWords, sharedOptions } from '../../runs/shared-runs.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
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
    const { context, place } = contextOfRuns(shell.context, invocation.options)
    const records = await openRuns(context, place)
    const run = await knownRun(records.runs, invocation.args[0] ?? '')
    const job = await jobOf({ ...shell, context }, { ...run, output: null }, invocation)
    return exportAnswers({ ...job, run, place: placeWords(shell.context, place) }, records)
  })
}
