import { join } from 'node:path'
import type { Command } from 'commander'
import { ApiError } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { forgetRun } from '../../../batch/run/purge.js'
import { isRunning, openRuns, type RunRecords, runsFolder } from '../../../batch/run/records.js'
import type { Run } from '../../../storage/state/runs/runs.js'
import { sameFile, spending } from '../../batch/options.js'
import { toRunHome } from '../../batch/ports.js'
import { fromRecord } from '../../batch/request.js'
import { executeBatch, exportAnswers } from '../../batch/run.js'
import type { ClockContext, Context, HomeContext } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { type CommandEnvironment, createGroup, guide } from '../../options/command-environment.js'
import { contextOfRuns, runPlaceOf, runPlaceOption, sharedOptions } from '../../options/databases.js'
import { groups } from '../../options/global-options.js'

/** `prospect runs`: the batches of this machine, with their answers. */
export function runsCommand(environment: CommandEnvironment): Command {
  const runs = createGroup(
    environment,
    ['runs', 'Batches: list, show, resume, export, forget'],
    [listCommand, showCommand, resumeCommand, exportCommand, forgetCommand],
  )
  return guide(runs, ['runs list', 'runs resume ID'], 'Start one: prospect accounts enrich --csv FILE')
}

function listCommand(environment: CommandEnvironment): Command {
  const command = sharedOptions(environment.command('list', 'List the runs of this machine, newest first'))
  guide(
    command,
    ['runs list', 'runs list --json'],
    'Go on with one that was stopped: prospect runs resume ID',
  )
  return environment.action(command, async ({ options, globals }) => {
    const { context } = environment
    const records = await openRuns(toRunHome(context), runPlaceOf(context, options))
    const runs = await Promise.all((await records.runs.list()).map((run) => toRunView(context, run, records)))
    const columns = ['id', 'operation', 'file', 'status', 'rows', 'done', 'credits', 'started_at']
    await environment.print(runs, globals, { columns })
    return 0
  })
}

function showCommand(environment: CommandEnvironment): Command {
  const command = environment
    .command('show', 'Show a run: its file, its state and what it cost')
    .argument('<id>', 'id of the run, or its beginning, as runs list shows it')
  sharedOptions(command)
  guide(command, ['runs show 7f6f2d0e', 'runs show 7f6f2d0e --json'])
  return environment.action(command, async ({ args: [id = ''], options, globals }) => {
    const { context } = environment
    const records = await openRuns(toRunHome(context), runPlaceOf(context, options))
    const run = await findRun(records, id)
    const { reserved, profile, fileHash } = run
    const view = await toRunView(context, run, records)
    await environment.print({ ...view, profile, credits_reserved: reserved, file_sha256: fileHash }, globals)
    return 0
  })
}

/** Returns a run in the form in which commands print it. */
async function toRunView(context: HomeContext & ClockContext, run: Run, { locks }: RunRecords) {
  const isStopped = run.status === 'running' && !(await isRunning(context, run, locks))
  const toIso = (at: number) => new Date(at).toISOString()
  const isPiped = run.file.startsWith(join(runsFolder(context), '/'))
  return {
    id: run.id,
    operation: run.operation,
    file: isPiped ? '-' : run.file,
    output: run.output,
    target: run.target,
    status: isStopped ? 'stopped' : run.status,
    rows: run.total,
    done: run.done,
    credits: run.credits,
    started_at: toIso(run.startedAt),
    finished_at: run.status === 'finished' && run.endedAt !== null ? toIso(run.endedAt) : null,
  }
}

/** Returns the run with an id, or with one that begins so. Throws a `Stop` (exit 9) when there is none. */
async function findRun({ runs }: RunRecords, id: string): Promise<Run> {
  const found = id === '' ? [] : await runs.find(id)
  const [run, other] = found
  if (!run)
    throw new Stop(`There is no run ${id}.`, exitCodes.notFound, 'List them: prospect runs list', 'not_found')
  if (other) throw new UsageError(`${found.length} runs begin with ${id}.`, 'Give more of the id.')
  return run
}

function resumeCommand(environment: CommandEnvironment): Command {
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
    const { context } = environment
    const place = runPlaceOf(context, invocation.options)
    const records = await openRuns(toRunHome(context), place)
    const run = await findRun(records, invocation.args[0] ?? '')
    return executeBatch(context, {
      ...(await fromRecord(run, invocation, context.streams)),
      ...place,
      records,
    })
  })
}

function exportCommand(environment: CommandEnvironment): Command {
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
    const run = await findRun(records, invocation.args[0] ?? '')
    const request = await fromRecord({ ...run, output: null }, invocation, context.streams)
    const words = runPlaceOption(environment.context, place)
    return exportAnswers(context, { ...request, ...place, run, place: words, records })
  })
}

function forgetCommand(environment: CommandEnvironment): Command {
  const command = environment
    .command('forget', 'Forget runs: they can no longer be resumed; what they paid for stays in the store')
    .argument('<id...>', 'ids of the runs, or their beginnings, as runs list shows them')
  sharedOptions(command)
  guide(command, ['runs forget 7f6f2d0e'], 'Their answers are still taken by a batch with --max-age.')
  return environment.action(command, async ({ args, options, globals }) => {
    const { context, place } = contextOfRuns(environment.context, options)
    const records = await openRuns(toRunHome(context), place)
    const discardReplies = (run: Run) => discardLocalReplies(context, run)
    const held = new Set<string>()
    for (const id of args) {
      const run = await findRun(records, id)
      await forgetRun(context, run, { records, held, discardReplies })
      context.notify(`Run ${run.id} is forgotten.`, globals)
    }
    return 0
  })
}

/** Discards what the engine of this machine keeps for a run. */
async function discardLocalReplies(context: Context, { id, target }: Run): Promise<void> {
  if (!/^local(?: |$)/.test(target)) return
  const options = { local: true }
  const caller = await context.caller(options)
  try {
    await caller.discardReplies?.(id, Number.MAX_SAFE_INTEGER, { apiKey: await context.apiKey(options) })
  } catch (error) {
    // Without a key for that workspace a few replies stay there unused.
    if (!(error instanceof ApiError)) throw error
  }
}
