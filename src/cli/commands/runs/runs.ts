import { join } from 'node:path'
import { ApiError } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { type OperationId, operation } from '../../../api/operations/table.js'
import { forgetRun } from '../../../batch/run/purge.js'
import { isRunning, openRuns, type RunRecords, runsFolder } from '../../../batch/run/records.js'
import type { Run } from '../../../storage/state/runs/runs.js'
import { sameFile, spending } from '../../batch/options.js'
import { fromRecord } from '../../batch/request.js'
import { executeBatch, exportAnswers } from '../../batch/run.js'
import { toRunHome } from '../../batch/run-home.js'
import type { ClockContext, Context, HomeContext } from '../../context/context.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { contextOfRuns, runPlaceOf, runPlaceOption, sharedOptions } from '../../options/databases.js'
import { groups, layoutOption } from '../../options/global-options.js'
import { addStoredId, resolveIds, type StoredKind } from '../../options/stored-ids.js'
import { isoTime } from '../../options/values.js'
import type { Look } from '../../output/text.js'

/** `prospect runs`: the batches of this machine, with their answers. */
export const runsCommand: CommandFactory = ({ group }) =>
  group('runs', 'Batches: list, show, resume, export, forget', [
    listCommand,
    showCommand,
    resumeCommand,
    exportCommand,
    forgetCommand,
  ])
    .addExamples('runs list', 'runs resume ID')
    .addNote('Start one: prospect accounts enrich --csv FILE')

const listCommand: CommandFactory = ({ command }) =>
  command('list', 'List the runs of this machine, newest first')
    .addOptions(sharedOptions())
    .addExamples('runs list', 'runs list --json')
    .addNote('Resume one that was stopped: prospect runs resume ID')
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

const showCommand: CommandFactory = ({ command }) =>
  addStoredId(command('show', 'Show a run: its file, its state and what it cost'), stored)
    .addOptions(sharedOptions())
    .addExamples('runs show 7f6f2d0e', 'runs show 7f6f2d0e --json')
    .reads('records')
    .printResult(
      async (context, invocation) => {
        const records = await openRuns(toRunHome(context), runPlaceOf(context, invocation.options))
        const run = await findRun(records, invocation)
        const { reserved, profile, fileHash } = run
        const view = await toRunView(context, run, records)
        const lookups = await countLookups(run, records)
        return { ...view, profile, credits_reserved: reserved, file_sha256: fileHash, lookups }
      },
      { layout: formatRun },
    )

/** What the lookups of a run found, as far as it is recorded. */
interface LookupCounts {
  readonly total: number
  readonly found: number
  readonly not_found: number
  readonly failed: number
  /** null where the operation finds no e-mail addresses. */
  readonly valid_emails: number | null
}

async function countLookups(run: Run, { runs }: RunRecords): Promise<LookupCounts> {
  const answers = await runs.countAnswers(run)
  const of = (wanted?: string) =>
    answers.reduce(
      (sum, { status, lookups }) => sum + (status === (wanted ?? status) ? Number(lookups) : 0),
      0,
    )
  const { identity } = operation(run.operation as OperationId).batch ?? {}
  const findsEmails = identity !== undefined && ['person', 'contact', 'email'].includes(identity)
  return {
    ...{ total: of(), found: of('found'), not_found: of('not_found'), failed: of('failed') },
    valid_emails: findsEmails ? await runs.countValidEmails(run) : null,
  }
}

/** Formats a run for a terminal: what it is, and what became of its rows. */
async function formatRun(body: unknown, look: Look): Promise<string> {
  const { bars } = await import('../../output/charts.js')
  const { record } = await import('../../output/table.js')
  const { lookups, ...run } = body as { lookups: LookupCounts; rows: number; done: number }
  const steps = [
    ['Rows', run.rows],
    ['Answered', run.done],
    ['Looked up', lookups.total],
    ['Found', lookups.found],
    ...(lookups.valid_emails === null ? [] : [['E-mail valid', lookups.valid_emails] as const]),
  ] as const
  const share = (count: number) => (run.rows === 0 ? '' : `${Math.round((count / run.rows) * 100)} %`)
  const funnel = steps.map(([label, value]) => ({ label, value, note: share(value) }))
  return `${record(run, look)}\n${bars(funnel, look)}`
}

const stored: StoredKind = { noun: 'run', list: 'runs list' }

/** Returns a run in the form in which commands print it. */
export async function toRunView(context: HomeContext & ClockContext, run: Run, { locks }: RunRecords) {
  const isStopped = run.status === 'running' && !(await isRunning(context, run, locks))
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
    started_at: isoTime(run.startedAt),
    finished_at: run.status === 'finished' ? isoTime(run.endedAt) : null,
  }
}

/** Returns the runs that arguments and `--last` name. */
async function findRuns({ runs }: RunRecords, invocation: Invocation): Promise<readonly Run[]> {
  const found = new Map<string, Run>()
  const note = (all: readonly Run[]) => all.map((run) => found.set(run.id, run) && run.id)
  const ids = await resolveIds(invocation, stored, {
    startingWith: async (prefix) => note(await runs.find(prefix)),
    newest: async () => note((await runs.list()).slice(0, 1))[0],
  })
  return ids.flatMap((id) => found.get(id) ?? [])
}

const findRun = async (records: RunRecords, invocation: Invocation): Promise<Run> =>
  (await findRuns(records, invocation))[0] as Run

const resumeCommand: CommandFactory = ({ command }) =>
  addStoredId(command('resume', 'Resume a run: it remembers its file, columns, options and output'), stored)
    .addOptions([sameFile(), ...spending()].map((option) => option.helpGroup(groups.batch)))
    .option('--dry-run', 'show what the rest can cost, send nothing')
    .addOptions([...sharedOptions(), layoutOption()])
    .addExamples('runs resume 7f6f2d0e', 'runs resume 7f6f2d0e --max-credits 1000 -o rest.csv')
    .addNote('A run that is finished writes its output again, and spends nothing.')
    .run(async (context, invocation) => {
      const place = runPlaceOf(context, invocation.options)
      const records = await openRuns(toRunHome(context), place)
      const run = await findRun(records, invocation)
      const command = await fromRecord(run, invocation, context.streams)
      return executeBatch(context, { ...command, ...place, records })
    })

const exportCommand: CommandFactory = ({ command }) =>
  addStoredId(command('export', 'Write the output of a run again, as far as it has come'), stored)
    .addOptions([sameFile(), ...sharedOptions(), layoutOption()])
    .addExamples('runs export 7f6f2d0e -o again.csv', 'runs export 7f6f2d0e --format ndjson')
    .addNote('Rows that were not looked up yet have the status skipped.')
    .run(async (outer, invocation) => {
      const { context, place } = contextOfRuns(outer, invocation.options)
      const records = await openRuns(toRunHome(context), place)
      const run = await findRun(records, invocation)
      const request = await fromRecord({ ...run, output: null }, invocation, context.streams)
      return exportAnswers(context, {
        ...{ ...request, ...place, run, records },
        place: runPlaceOption(outer, place),
      })
    })

const forgetCommand: CommandFactory = ({ command }) =>
  addStoredId(
    command('forget', 'Forget runs: they can no longer be resumed; what they paid for stays in the store'),
    stored,
    true,
  )
    .addOptions(sharedOptions())
    .addExamples('runs forget 7f6f2d0e')
    .addNote('Their answers are still taken by a batch with --max-age.')
    .run(async (outer, invocation) => {
      const { context, place } = contextOfRuns(outer, invocation.options)
      const records = await openRuns(toRunHome(context), place)
      const discardReplies = (run: Run) => discardLocalReplies(context, run)
      const held = new Set<string>()
      for (const run of await findRuns(records, invocation)) {
        await forgetRun(context, run, { records, held, discardReplies })
        context.notify(`Run ${run.id} is forgotten.`, invocation.globals)
      }
      return exitCodes.ok
    })

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
