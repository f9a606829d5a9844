import { join } from 'node:path'
import { ApiError } from '../../../api/calls/errors.js'
import { operations } from '../../../api/operations/table.js'
import { parseJson } from '../../../api/values/json.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import type { StepCount } from '../../../flows/chain.js'
import { flowOperation, stepsOf } from '../../../flows/run.js'
import type { Run, StateCount } from '../../../runs/journal/runs.js'
import { forgetRun } from '../../../runs/purge.js'
import { isRunning, openRuns, type RunRecords, runsFolder } from '../../../runs/records.js'
import type { RecordedRequest } from '../../../runs/request.js'
import { isEngineName, shownTarget } from '../../../runs/target-name.js'
import { quota, sameFile, selecting, spending } from '../../batch/options.js'
import { fromRecord } from '../../batch/request.js'
import { executeBatch, exportAnswers } from '../../batch/run.js'
import type { VendorCost } from '../../batch/vendor-costs.js'
import type { Context } from '../../context/context.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { resolveIds, type StoredKind } from '../../options/command-environment.js'
import { groups } from '../../options/help.js'
import {
  contextOfRuns,
  databaseOptionOf,
  isoTime,
  optionRows,
  runsLocationOf,
  sharedOptions,
  toOptions,
} from '../../options/values.js'
import { print } from '../../output/print.js'
import type { Look } from '../../output/text.js'
import { type AnswerSource, sourceOfRun } from '../../target/local-target.js'
import { requireSetUp } from '../setup/set-up.js'

export const runsCommand: CommandFactory = ({ command, group }) =>
  group('runs', 'Batches: list, show, resume, export, forget', [
    command('list', 'List the runs of this machine, newest first')
      .withTarget()
      .withOptions(sharedOptions)
      .reads('records')
      .printResult(
        async (context, { options }) => {
          const records = await openRuns(context, runsLocationOf(context, options))
          return Promise.all((await records.runs.list()).map((run) => toRunView(context, run, records)))
        },
        {
          columns: ['id', 'operation', 'flow', 'file', 'status', 'rows', 'done', 'credits', 'started_at'],
          optional: ['rows', 'operation', 'started_at'],
          ids: ['id', 'flow'],
          empty: 'There are no runs yet.',
        },
      ),
    showCommand,
    command('resume', 'Resume a run: it remembers its file, columns, options and output')
      .addStoredId(stored)
      .addOptions(toOptions({ ...sameFile, ...spending, ...quota }).map((one) => one.helpGroup(groups.batch)))
      .option('--dry-run', 'show what the rest can cost, and send nothing')
      .withOptions(sharedOptions)
      .addLayout()
      .run(async (outer, invocation) => {
        const location = runsLocationOf(outer, invocation.options)
        const records = await openRuns(outer, location)
        const run = await findRun(records, invocation)
        const { context, command } = await fromRecord(outer, run, invocation)
        return executeBatch(await requireSetUp(context, location.database), {
          ...command,
          ...location,
          records,
        })
      }),
    command('export', 'Write the output of a run again, as far as it has come')
      .addStoredId(stored)
      .withOptions(sameFile)
      .withOptions(selecting)
      .withOptions(sharedOptions)
      .addLayout()
      .run(async (outer, invocation) => {
        const { context: shared, location } = contextOfRuns(outer, invocation.options)
        const records = await openRuns(shared, location)
        const run = await findRun(records, invocation)
        const { context, command } = await fromRecord(shared, { ...run, output: null }, invocation)
        const option = databaseOptionOf(outer, location)
        return exportAnswers(context, { ...command, ...location, run, records, databaseOption: option })
      }),
    command('forget', 'Forget runs: they can no longer be resumed; their paid answers are kept')
      .withTarget()
      .addStoredId(stored, true)
      .withOptions(sharedOptions)
      .run(async (outer, invocation) => {
        const { context, location } = contextOfRuns(outer, invocation.options)
        const records = await openRuns(context, location)
        const discardReplies = (run: Run) => discardLocalReplies(context, run)
        const held = new Set<string>()
        for (const run of await findRuns(records, invocation)) {
          await forgetRun(context, run, { records, held, discardReplies })
          context.notify(`Run ${run.id} is forgotten.`)
        }
      }),
  ])

async function discardLocalReplies(context: Context, { id, target }: Run): Promise<void> {
  if (!isEngineName(target)) return
  const local = context.withGlobals({ local: true, direct: undefined })
  const caller = await local.caller()
  try {
    await caller.discardReplies?.(id, Number.MAX_SAFE_INTEGER, { apiKey: await local.apiKey() })
  } catch (error) {
    // Without a key for that workspace a few replies stay there unused.
    if (!(error instanceof ApiError)) throw error
  }
}

export const stored: StoredKind = { noun: 'run', list: 'runs list' }

/** `steps` are those of a flow, where they have been read. */
export async function toRunView(
  context: Context,
  run: Run,
  records: RunRecords,
  steps?: readonly StepCount[],
) {
  const isStopped = run.status === 'running' && !(await isRunning(context, run, records.locks))
  const isPiped = run.file.startsWith(join(runsFolder(context), '/'))
  const { choices } = parseJson(run.request) as Partial<RecordedRequest>
  return {
    id: run.id,
    operation: run.operation,
    // That of a step has the flow whose credits have its own.
    ...withoutUndefined({ flow: choices?.flow }),
    file: isPiped ? '-' : run.file,
    output: run.output,
    target: shownTarget(run.target),
    status: isStopped ? 'stopped' : run.status,
    // The rows of a step of a flow are not counted before they come.
    rows: run.total || run.done,
    done: run.done,
    invalid: invalidRowsOf(run),
    credits:
      run.operation === flowOperation ? creditsOf(steps ?? (await stepsOf(run, records))) : run.credits,
    started_at: isoTime(run.startedAt),
    finished_at: run.status === 'finished' ? isoTime(run.endedAt) : null,
  }
}

/** Returns what the steps of a flow have cost, which are runs of their own. */
const creditsOf = (steps: readonly StepCount[]): number =>
  steps.reduce((sum, { credits }) => sum + credits, 0)

async function findRuns({ runs }: RunRecords, invocation: Invocation): Promise<readonly Run[]> {
  const found = new Map<string, Run>()
  const ids = await resolveIds(invocation, stored, async (prefix) =>
    (await runs.find(prefix)).map((run) => found.set(run.id, run) && run.id),
  )
  return ids.flatMap((id) => found.get(id) ?? [])
}

export const findRun = async (records: RunRecords, invocation: Invocation): Promise<Run> =>
  (await findRuns(records, invocation))[0] as Run

const stateOptions = optionRows({
  state: ['', 'count its lookups by their state, with the credits that they hold and have cost'],
})

export const showCommand: CommandFactory = ({ command }) =>
  command('show', 'Show a run: its file, its state and what it cost')
    .withTarget()
    .addStoredId(stored)
    .withOptions({ ...sharedOptions, ...stateOptions })
    .reads('records')
    .run(async (context, invocation) => {
      const records = await openRuns(context, runsLocationOf(context, invocation.options))
      const run = await findRun(records, invocation)
      if (invocation.options.state) return printStates(context, await records.runs.countStates(run))
      const { reserved, profile, fileHash } = run
      const view = await toRunView(context, run, records)
      const lookups = await countLookups(run, records)
      const source = sourceOfRun(run) ?? null
      const { costsAtVendors } = await import('../../batch/vendor-costs.js')
      const vendors = await costsAtVendors(context, run.id, records)
      const { sample, rows } = (parseJson(run.request) as Partial<RecordedRequest>).choices ?? {}
      const shown = {
        ...view,
        ...withoutUndefined({ sample, rows_asked: rows }),
        profile,
        credits_reserved: reserved,
        file_sha256: fileHash,
        source,
        ...(vendors.length > 0 ? { vendors } : {}),
        lookups,
      }
      await print(context, shown, { layout: formatRun })
    })

const printStates = (context: Context, counts: readonly StateCount[]) => {
  const sum = (name: 'lookups' | 'held' | 'cost') => counts.reduce((total, one) => total + one[name], 0)
  const total = { state: '', lookups: sum('lookups'), held: sum('held'), cost: sum('cost') }
  return print(context, counts, { columns: ['state', 'lookups', 'held', 'cost'], total })
}

/** Returns what the lookups of a run found, as far as it is recorded; null for what is not. */
async function countLookups(run: Run, { runs }: RunRecords) {
  const answers = await runs.countAnswers(run)
  const of = (...wanted: readonly string[]) =>
    answers
      .filter(({ status }) => wanted.length === 0 || wanted.includes(status))
      .reduce((sum, { lookups }) => sum + Number(lookups), 0)
  // The rows of a file are looked up by another operation of the same command, the waterfall by the one that waits.
  const command = operations().find(({ id }) => id === run.operation)?.command
  const { identity } = operations().find((row) => row.batch && row.command === command)?.batch ?? {}
  const findsEmails = identity !== undefined && ['person', 'contact', 'email'].includes(identity)
  return {
    total: of(),
    found: of('found'),
    not_found: of('not_found'),
    failed: of('failed'),
    invalid: invalidRowsOf(run),
    // null where the operation finds no email addresses.
    valid_emails: findsEmails ? await runs.countValidEmails(run) : null,
  }
}

/** Returns how many rows of a run are invalid, as of the end of its last execution; null where that is not recorded. */
export const invalidRowsOf = ({ request }: Run): number | null =>
  (parseJson(request) as Pick<RecordedRequest, 'invalid'>).invalid ?? null

async function formatRun(body: unknown, look: Look): Promise<string> {
  const { bars } = await import('../../output/records.js')
  const { record } = await import('../../output/table.js')
  // The bars have the invalid rows.
  const {
    lookups,
    source,
    vendors = [],
    invalid: _,
    ...run
  } = body as {
    source: AnswerSource | null
    vendors?: readonly VendorCost[]
    invalid: number | null
    lookups: Awaited<ReturnType<typeof countLookups>>
    rows: number
    done: number
  }
  // Duplicates are rows and no lookups: what was found is a share of the lookups.
  const { total } = lookups
  const steps = [
    ['Rows', run.rows, run.rows],
    ['Answered', run.done, run.rows],
    ...(lookups.invalid ? [['Invalid', lookups.invalid, run.rows] as const] : []),
    ['Looked up', total, run.rows],
    ['… found', lookups.found, total],
    ...(lookups.valid_emails === null ? [] : [['… email valid', lookups.valid_emails, total] as const]),
  ] as const
  const share = (count: number, of: number) => (of === 0 ? '' : `${Math.round((count / of) * 100)} %`)
  const funnel = steps.map(([label, value, of]) => ({ label, value, note: share(value, of) }))
  const from = source === null ? {} : { 'Answers from': source.text }
  const { vendorFacts } = await import('../../batch/vendor-costs.js')
  return `${record({ ...from, ...run, ...vendorFacts(vendors) }, look)}\n${bars(funnel, look)}`
}
