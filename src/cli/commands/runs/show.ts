import { join } from 'node:path'
import { operations } from '../../../api/operations/table.js'
import { parseJson } from '../../../api/values/json.js'
import type { Run } from '../../../runs/journal/runs.js'
import { isRunning, openRuns, type RunRecords, runsFolder } from '../../../runs/records.js'
import type { RecordedRequest } from '../../../runs/request.js'
import { toRunHome } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { runPlaceOf, sharedOptions } from '../../options/databases.js'
import { addStoredId, resolveIds, type StoredKind } from '../../options/stored-ids.js'
import { isoTime } from '../../options/values.js'
import type { Look } from '../../output/text.js'
import { type AnswerSource, sourceOfRun } from '../../target/data-source.js'

/** Runs, as their commands name them. */
export const stored: StoredKind = { noun: 'run', list: 'runs list' }

/** Returns a run in the form in which commands print it. */
export async function toRunView(context: Context, run: Run, { locks }: RunRecords) {
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
export async function findRuns({ runs }: RunRecords, invocation: Invocation): Promise<readonly Run[]> {
  const found = new Map<string, Run>()
  const note = (all: readonly Run[]) => all.map((run) => found.set(run.id, run) && run.id)
  const ids = await resolveIds(invocation, stored, {
    startingWith: async (prefix) => note(await runs.find(prefix)),
    newest: async () => note((await runs.list()).slice(0, 1))[0],
  })
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** Returns the run that an argument or `--last` names. */
export const findRun = async (records: RunRecords, invocation: Invocation): Promise<Run> =>
  (await findRuns(records, invocation))[0] as Run

/** `prospect runs show`: a run, and what became of its rows. */
export const showCommand: CommandFactory = ({ command }) =>
  addStoredId(command('show', 'Show a run: its file, its state and what it cost'), stored)
    .withOptions(sharedOptions)
    .reads('records')
    .printResult(
      async (context, invocation) => {
        const records = await openRuns(toRunHome(context), runPlaceOf(context, invocation.options))
        const run = await findRun(records, invocation)
        const { reserved, profile, fileHash } = run
        const view = await toRunView(context, run, records)
        const lookups = await countLookups(run, records)
        const source = sourceOfRun(run) ?? null
        return { ...view, profile, credits_reserved: reserved, file_sha256: fileHash, source, lookups }
      },
      { layout: formatRun },
    )

/** Returns what the lookups of a run found, as far as it is recorded; null for what is not. */
async function countLookups(run: Run, { runs }: RunRecords) {
  const answers = await runs.countAnswers(run)
  const of = (wanted?: string) =>
    answers.reduce(
      (sum, { status, lookups }) => sum + (status === (wanted ?? status) ? Number(lookups) : 0),
      0,
    )
  const { identity } = operations().find(({ id }) => id === run.operation)?.batch ?? {}
  const findsEmails = identity !== undefined && ['person', 'contact', 'email'].includes(identity)
  return {
    ...{ total: of(), found: of('found'), not_found: of('not_found'), failed: of('failed') },
    invalid: invalidRowsOf(run),
    // null where the operation finds no email addresses.
    valid_emails: findsEmails ? await runs.countValidEmails(run) : null,
  }
}

/** Returns how many rows of a run are invalid, as of the end of its last part; null where that is not recorded. */
export const invalidRowsOf = ({ request }: Run): number | null =>
  (parseJson(request) as Pick<RecordedRequest, 'invalid'>).invalid ?? null

/** Formats a run for a terminal: what it is, and what became of its rows. */
async function formatRun(body: unknown, look: Look): Promise<string> {
  const { bars } = await import('../../output/charts.js')
  const { record } = await import('../../output/table.js')
  const { lookups, source, ...run } = body as {
    source: AnswerSource | null
    lookups: Awaited<ReturnType<typeof countLookups>>
    rows: number
    done: number
  }
  const steps = [
    ['Rows', run.rows],
    ['Answered', run.done],
    ...(lookups.invalid ? [['Invalid', lookups.invalid] as const] : []),
    ['Looked up', lookups.total],
    ['Found', lookups.found],
    ...(lookups.valid_emails === null ? [] : [['Email valid', lookups.valid_emails] as const]),
  ] as const
  const share = (count: number) => (run.rows === 0 ? '' : `${Math.round((count / run.rows) * 100)} %`)
  const funnel = steps.map(([label, value]) => ({ label, value, note: share(value) }))
  const from = source === null ? {} : { 'Answers from': source.text }
  return `${record({ ...run, ...from }, look)}\n${bars(funnel, look)}`
}
