import { ApiError } from '../../../api/calls/errors.js'
import type { Run } from '../../../runs/journal/runs.js'
import { forgetRun } from '../../../runs/purge.js'
import { openRuns } from '../../../runs/records.js'
import { sameFile, selecting, spending } from '../../batch/options.js'
import { fromRecord } from '../../batch/request.js'
import { executeBatch, exportAnswers } from '../../batch/run.js'
import { toRunHome } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { contextOfRuns, runPlaceOf, runPlaceOption, sharedOptions } from '../../options/databases.js'
import { groups } from '../../options/global-options.js'
import { toOptions } from '../../options/option-rows.js'
import { addStoredId } from '../../options/stored-ids.js'
import { findRun, findRuns, showCommand, stored, toRunView } from './show.js'

/** `prospect runs`: the batches of this machine, with their answers. */
export const runsCommand: CommandFactory = ({ group }) =>
  group('runs', 'Batches: list, show, resume, export, forget', [
    listCommand,
    showCommand,
    resumeCommand,
    exportCommand,
    forgetCommand,
  ])

const listCommand: CommandFactory = ({ command }) =>
  command('list', 'List the runs of this machine, newest first')
    .withOptions(sharedOptions)
    .reads('records')
    .printResult(
      async (context, { options }) => {
        const records = await openRuns(toRunHome(context), runPlaceOf(context, options))
        return Promise.all((await records.runs.list()).map((run) => toRunView(context, run, records)))
      },
      {
        columns: ['id', 'operation', 'file', 'status', 'rows', 'done', 'credits', 'started_at'],
        optional: ['rows', 'operation', 'started_at'],
        ids: ['id'],
      },
    )

const resumeCommand: CommandFactory = ({ command }) =>
  addStoredId(command('resume', 'Resume a run: it remembers its file, columns, options and output'), stored)
    .addOptions(toOptions({ ...sameFile, ...spending }).map((option) => option.helpGroup(groups.batch)))
    .option('--dry-run', 'show what the rest can cost, and send nothing')
    .withOptions(sharedOptions)
    .addLayout()
    .run(async (outer, invocation) => {
      const place = runPlaceOf(outer, invocation.options)
      const records = await openRuns(toRunHome(outer), place)
      const run = await findRun(records, invocation)
      const { context, command } = await fromRecord(outer, run, invocation)
      return executeBatch(context, { ...command, ...place, records })
    })

const exportCommand: CommandFactory = ({ command }) =>
  addStoredId(command('export', 'Write the output of a run again, as far as it has come'), stored)
    .withOptions(sameFile)
    .withOptions(selecting)
    .withOptions(sharedOptions)
    .addLayout()
    .run(async (outer, invocation) => {
      const { context: shared, place } = contextOfRuns(outer, invocation.options)
      const records = await openRuns(toRunHome(shared), place)
      const run = await findRun(records, invocation)
      const { context, command } = await fromRecord(shared, { ...run, output: null }, invocation)
      return exportAnswers(context, {
        ...{ ...command, ...place, run, records },
        place: runPlaceOption(outer, place),
      })
    })

const forgetCommand: CommandFactory = ({ command }) =>
  addStoredId(
    command('forget', 'Forget runs: they can no longer be resumed; their paid answers are kept'),
    stored,
    true,
  )
    .withOptions(sharedOptions)
    .run(async (outer, invocation) => {
      const { context, place } = contextOfRuns(outer, invocation.options)
      const records = await openRuns(toRunHome(context), place)
      const discardReplies = (run: Run) => discardLocalReplies(context, run)
      const held = new Set<string>()
      for (const run of await findRuns(records, invocation)) {
        await forgetRun(context, run, { records, held, discardReplies })
        context.notify(`Run ${run.id} is forgotten.`)
      }
    })

/** Discards what the engine of this machine keeps for a run. */
async function discardLocalReplies(context: Context, { id, target }: Run): Promise<void> {
  if (!/^local(?: |$)/.test(target)) return
  const local = context.withGlobals({ local: true, direct: undefined })
  const caller = await local.caller()
  try {
    await caller.discardReplies?.(id, Number.MAX_SAFE_INTEGER, { apiKey: await local.apiKey() })
  } catch (error) {
    // Without a key for that workspace a few replies stay there unused.
    if (!(error instanceof ApiError)) throw error
  }
}
