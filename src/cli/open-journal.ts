import { isPriced } from '../api/operation.js'
import type { Batch } from '../batch/batch.js'
import type { Journal } from '../batch/journal.js'
import type { NewRun, Run, RunIdentity } from '../storage/runs.js'
import type { Job } from './batch-job.js'
import type { RunRecords } from './open-runs.js'
import { requestOf } from './run-request.js'
import { profileName } from './target-name.js'

/** What is known of a run before it begins. */
export interface Beginning {
  readonly records: RunRecords
  readonly identity: RunIdentity
  readonly known: Run | undefined
  readonly id: string
  /** Keeps what was read from a pipe for the next part. */
  readonly keepInput: () => void
}

/** A run with its journal, and who answers its rows. */
export interface Begun {
  readonly run: Run
  readonly journal: Journal
  readonly target: Pick<Batch, 'caller' | 'callOptions' | 'onSafe'>
}

/** Puts a run on record, or goes on with one; one that is finished is only read. */
export async function openJournal(
  job: Job,
  beginning: Beginning,
  rows: number,
  output: string | null,
): Promise<Begun> {
  const { records, known } = beginning
  const { journalOf } = await import('../storage/journal.js')
  const { answeredUpTo } = await import('../storage/answers.js')
  const { choices, shell } = job
  const now = () => shell.context.clock.now()
  const run = await begin(job, beginning, rows, output)
  const answered = known ? await records.database.read((reads) => answeredUpTo(reads, run.number)) : 0
  if (run.indexed === 0 && answered > 0) await records.runs.index(run)
  const usual = { now, budget: {}, answeredUpTo: answered, mayRepeat: true, retryUnknown: false }
  if (run.status === 'finished') {
    const missing = { status: 'failed', error: 'Its answer is no longer kept' } as const
    return {
      run,
      journal: journalOf(records.database, run, { ...usual, missing }),
      target: { caller: nobody },
    }
  }
  const target = await targetOf(job, run)
  const { maxAgeMs, maxCredits: perRun, maxCreditsPerDay: perDay, retryUnknown } = choices
  const store = maxAgeMs === undefined ? undefined : { runs: await records.runs.indexOthers(run), maxAgeMs }
  const mayRepeat = await isRepeatable(job, target.caller, known)
  const options = { ...usual, budget: { perRun, perDay }, mayRepeat, retryUnknown, store }
  return { run, journal: journalOf(records.database, run, options), target }
}

async function begin(
  job: Job,
  { records, identity, known, id, keepInput }: Beginning,
  total: number,
  output: string | null,
): Promise<Run> {
  const { context } = job.shell
  const request = requestOf(job, identity.file)
  if (known) {
    if (known.status !== 'finished') await records.runs.begin(known, { output, request })
    return known
  }
  const run: NewRun = {
    ...identity,
    ...{ id, request, output, total },
    profile: profileName(context, job.globals),
    startedAt: context.clock.now(),
  }
  const made = await records.runs.add(run)
  // From its id follow the keys of its rows: it must be there whatever happens.
  await records.database.flush()
  keepInput()
  return made
}

/** Whether rows of an earlier part may be sent again under their keys; asked only where there may be such rows. */
async function isRepeatable(
  { operation }: Job,
  caller: Batch['caller'],
  known: Run | undefined,
): Promise<boolean> {
  if (!isPriced(operation) || !known || !caller.honoursKeys) return true
  return caller.honoursKeys()
}

async function targetOf({ shell, operation, globals }: Job, run: Run): Promise<Begun['target']> {
  const { context } = shell
  const caller = await context.caller(globals)
  const callOptions = { apiKey: await context.apiKey(globals) }
  const { settled } = caller
  if (!settled || !isPriced(operation)) return { caller, callOptions }
  return { caller, callOptions, onSafe: (before) => settled(run.id, before, callOptions) }
}

/** Who is never asked. */
const nobody: Batch['caller'] = {
  call: async () => {
    throw new Error('a finished run asks nobody')
  },
  close: async () => {},
}
