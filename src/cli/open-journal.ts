import { isPriced } from '../api/operation.js'
import type { Batch } from '../batch/batch.js'
import type { Journal } from '../batch/journal.js'
import type { JournalOptions } from '../storage/journal.js'
import type { NewRun, Run, RunIdentity } from '../storage/runs.js'
import type { InputFile } from './batch-files.js'
import type { Job } from './batch-job.js'
import type { Context } from './context.js'
import type { Known } from './find-run.js'
import type { RunRecords } from './open-runs.js'
import { markShared } from './run-folder.js'
import { requestOf } from './run-request.js'
import { profileName } from './target-name.js'

/** What is known of a run before it begins. */
export interface Beginning {
  readonly records: RunRecords
  readonly identity: RunIdentity
  readonly known: Known | undefined
  readonly input: InputFile
}

/** A run with its journal, and who answers its rows. */
export interface Begun {
  readonly run: Run
  readonly journal: Journal
  readonly target: Pick<Batch, 'caller' | 'callOptions' | 'onSafe'>
}

const goneAnswer = { status: 'failed', error: 'Its answer is no longer kept' } as const

/** What rows of a run get that must not be sent, and have no answer; undefined where all may be sent. */
export const othersOf = (known: Known | undefined) => (known?.onlyUnknown ? goneAnswer : undefined)

/** Puts a run on record, or goes on with one; one that is finished is only read. */
export async function openJournal(
  job: Job,
  beginning: Beginning,
  rows: number,
  output: string | null,
): Promise<Begun> {
  const { records } = beginning
  const { choices, shell } = job
  const run = await begin(job, beginning, rows, output)
  if (run.status === 'finished') {
    const journal = await readingJournal(shell.context, records, run, goneAnswer)
    return { run, journal, target: { caller: nobody } }
  }
  const target = await targetOf(job, run)
  const { maxAgeMs, maxCredits: perRun, maxCreditsPerDay: perDay, retryUnknown } = choices
  const store = maxAgeMs === undefined ? undefined : { runs: await records.runs.indexOthers(run), maxAgeMs }
  const mayRepeat = await isRepeatable(job, target.caller)
  const options = {
    budget: { perRun, perDay },
    mayRepeat,
    retryUnknown,
    store,
    others: othersOf(beginning.known),
  }
  return { run, journal: await openOver(shell.context, records, run, options), target }
}

/** The journal of a run of which nothing is asked; `missing` is what rows without an answer get. */
export const readingJournal = (
  context: Context,
  records: RunRecords,
  run: Run,
  missing: NonNullable<JournalOptions['missing']>,
): Promise<Journal> =>
  openOver(context, records, run, { budget: {}, mayRepeat: true, retryUnknown: false, missing })

/** The journal of a run over the database it is in. */
export async function openOver(
  { clock }: Context,
  { database, runs, locks }: RunRecords,
  run: Run,
  options: Omit<JournalOptions, 'now' | 'answeredUpTo' | 'fence'>,
): Promise<Journal> {
  const { journalOf } = await import('../storage/journal.js')
  const { answeredUpTo } = await import('../storage/answers.js')
  const answered = await database.read((reads) => answeredUpTo(reads, run.number))
  if (run.indexed === 0 && answered > 0) await runs.index(run)
  // Those who share a database go by its clock.
  const now = () => clock.now() + (database.aheadMs?.() ?? 0)
  const fence = locks.fenceOf(run.knownBy)
  return journalOf(database, run, { ...options, now, fence, answeredUpTo: answered })
}

async function begin(
  job: Job,
  { records, identity, known, input }: Beginning,
  total: number,
  output: string | null,
): Promise<Run> {
  const { context } = job.shell
  // What was read from a pipe this time is gone with this command: the run has it, or another file of that content.
  const file = known && input.isPiped ? known.file : identity.file
  const request = requestOf(job, file)
  if (known) {
    if (known.status !== 'finished')
      await records.runs.begin(known, { file, output, request }, context.clock.now())
    return known
  }
  const run: NewRun = {
    ...identity,
    ...{ id: input.id, request, output, total },
    profile: profileName(context, job.globals),
    startedAt: context.clock.now(),
  }
  const made = await records.runs.add(run)
  // From its id follow the keys of its rows: it must be there whatever happens.
  await records.database.flush()
  input.keep()
  if (records.isShared && input.isPiped) await markShared(context, made.id)
  return made
}

/** Whether rows may be sent again under their keys. */
export const isRepeatable = async ({ operation }: Job, { honoursKeys }: Batch['caller']): Promise<boolean> =>
  !isPriced(operation) || !honoursKeys || honoursKeys()

async function targetOf({ shell, operation, globals }: Job, run: Run): Promise<Begun['target']> {
  const { context } = shell
  const caller = await context.caller(globals)
  const callOptions = { apiKey: await context.apiKey(globals) }
  const { settled } = caller
  // A part that lost the run may still send what it had begun: it is paid once for as long as its reply is there.
  if (!settled || !isPriced(operation) || run.lostAt !== null) return { caller, callOptions }
  // At the end that includes what is kept for several rows together.
  const upTo = (before: number) => (before < run.total ? before : Number.MAX_SAFE_INTEGER)
  return { caller, callOptions, onSafe: (before) => settled(run.id, upTo(before), callOptions) }
}

/** Who is never asked. */
export const nobody: Batch['caller'] = {
  call: async () => {
    throw new Error('a finished run asks nobody')
  },
  close: async () => {},
}
