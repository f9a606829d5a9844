import { ApiError } from '../../api/calls/errors.js'
import { isPriced } from '../../api/operations/facts.js'
import type { Journal } from '../../batch/journal/journal.js'
import type { Batch } from '../../batch/run/batch.js'
import type { JournalOptions } from '../../storage/state/runs/journal.js'
import type { NewRun, Run, RunIdentity } from '../../storage/state/runs/runs.js'
import { lockOfDead } from '../runs/locks.js'
import { markShared } from '../runs/run-folder.js'
import type { RunRecords } from '../runs/run-store.js'
import { profileName } from '../target/target-name.js'
import type { InputFile } from './files.js'
import type { Known } from './find-run.js'
import type { Job } from './job.js'
import { requestOf } from './run-request.js'

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
  const { choices } = job
  const run = await begin(job, beginning, rows, output)
  if (run.status === 'finished') {
    const journal = await readingJournal(records, run, goneAnswer)
    return { run, journal, target: { caller: nobody } }
  }
  const target = await targetOf(job, records, run)
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
  return { run, journal: await openOver(records, run, options), target }
}

/** The journal of a run of which nothing is asked; `missing` is what rows without an answer get. */
export const readingJournal = (
  records: RunRecords,
  run: Run,
  missing: NonNullable<JournalOptions['missing']>,
): Promise<Journal> => openOver(records, run, { budget: {}, mayRepeat: true, retryUnknown: false, missing })

/** The journal of a run over the database it is in. */
export async function openOver(
  { database, runs, locks, now }: RunRecords,
  run: Run,
  options: Omit<JournalOptions, 'now' | 'answeredUpTo' | 'fence'>,
): Promise<Journal> {
  const { journalOf } = await import('../../storage/state/runs/journal.js')
  const { answeredUpTo } = await import('../../storage/state/runs/answers.js')
  const answered = await database.read((reads) => answeredUpTo(reads, run.number))
  if (run.indexed === 0 && answered > 0) await runs.index(run)
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
  const going = {
    file,
    output,
    request: requestOf(job, file),
    spread: job.choices.distribute ? 1 : 0,
  } as const
  if (known) {
    if (known.status === 'finished') return known
    const { lostAt } = await records.runs.begin(known, going, records.now())
    return { ...known, lostAt }
  }
  const run: NewRun = {
    ...identity,
    ...going,
    ...{ id: input.id, total },
    profile: profileName(context, job.globals),
    startedAt: records.now(),
  }
  const made = await records.runs.add(run)
  // From its id follow the keys of its rows: it must be there whatever happens.
  await records.database.flush()
  input.keep()
  if (records.address !== undefined && input.isPiped) await markShared(context, made.id)
  return made
}

/** Whether rows may be sent again under their keys. */
export const isRepeatable = async (
  { operation }: Job,
  { supportsIdempotency }: Batch['caller'],
): Promise<boolean> => !isPriced(operation) || !supportsIdempotency || supportsIdempotency()

async function targetOf(
  { shell, operation, globals }: Job,
  records: RunRecords,
  run: Run,
): Promise<Begun['target']> {
  const { context } = shell
  const caller = await context.caller(globals)
  const callOptions = { apiKey: await context.apiKey(globals) }
  const { discardReplies } = caller
  if (!discardReplies || !isPriced(operation)) return { caller, callOptions }
  const drop = (id: string) => discardReplies(id, Number.MAX_SAFE_INTEGER, callOptions)
  if (records.address !== undefined) await settleOthers(records, run, drop)
  const { mayStillSend } = await import('../../storage/state/runs/lost-runs.js')
  if (mayStillSend(run, records.now())) return { caller, callOptions }
  // At the end that includes what is kept for several rows together.
  const upTo = (before: number) => (before < run.total ? before : Number.MAX_SAFE_INTEGER)
  return { caller, callOptions, onSafe: (before) => discardReplies(run.id, upTo(before), callOptions) }
}

/** Has the replies to runs dropped that were taken over long ago, and are over. */
async function settleOthers(
  { database, locks, now }: RunRecords,
  run: Run,
  settle: (id: string) => Promise<void>,
): Promise<void> {
  const { settleLost } = await import('../../storage/state/runs/lost-runs.js')
  // This command has the lock of its own run, and of those that would be the same.
  const hold = ({ knownBy }: Pick<Run, 'knownBy'>) =>
    knownBy === run.knownBy ? { release: () => {} } : lockOfDead(locks, knownBy)
  try {
    await settleLost(database, run, { now: now(), hold, settle })
  } catch (error) {
    // No run fails because of another one: the next batch tries again.
    if (!(error instanceof ApiError)) throw error
  }
}

/** Who is never asked. */
export const nobody: Batch['caller'] = {
  call: async () => {
    throw new Error('a finished run asks nobody')
  },
  close: async () => {},
}
