import type { Journal } from '../../batch/journal/journal.js'
import type { Run, RunIdentity } from '../../storage/state/runs/runs.js'
import type { RunRecords } from '../runs/run-store.js'
import { profileName } from '../target/target-name.js'
import type { Known } from './find-run.js'
import type { Job } from './job.js'
import { isRepeatable, openOver, othersOf, readingJournal } from './journal.js'

/** A run that is asked about before it begins, or goes on. */
export interface Asked {
  readonly job: Job
  readonly records: RunRecords
  readonly identity: RunIdentity
  readonly known: Known | undefined
}

/** What a run that does not exist yet looks like: no answers, nothing spent. */
const unmade = ({ job, identity }: Asked): Run => ({
  ...identity,
  ...{ id: '', number: 0, status: 'stopped', request: '{}', output: null, total: 0, done: 0 },
  profile: profileName(job.shell.context, job.globals),
  ...{ credits: 0, reserved: 0, sentFrom: 0, sentTo: 0, loweredRow: null, loweredLimit: null },
  ...{ indexed: 2, lostAt: null, spread: 0, startedAt: 0, endedAt: null },
})

/** Where the run will find answers; it is only asked, so that nothing is put on record. */
export async function askedJournal(asked: Asked): Promise<Pick<Journal, 'resume' | 'recall'>> {
  const { job, records, known } = asked
  const { context } = job.shell
  if (known?.status === 'finished') return readingJournal(records, known, { status: 'failed', error: null })
  const run = known ?? unmade(asked)
  const { maxAgeMs, retryUnknown } = job.choices
  const store = maxAgeMs === undefined ? undefined : { runs: await records.runs.indexOthers(run), maxAgeMs }
  const isOpen = run.sentTo > run.sentFrom
  const mayRepeat = !isOpen || (await isRepeatable(job, await context.caller(job.globals)))
  const others = othersOf(known)
  return openOver(records, run, { budget: {}, mayRepeat, retryUnknown, store, others })
}

/** What the budgets leave for the run; undefined where it has none. */
export async function budgetOf(asked: Asked): Promise<number | undefined> {
  const { job, records, known } = asked
  const { maxCredits: perRun, maxCreditsPerDay: perDay } = job.choices
  if (perRun === undefined && perDay === undefined) return undefined
  const { budgetLeft } = await import('../../storage/state/runs/budget.js')
  const run = known ?? unmade(asked)
  const left = await records.database.read((connection) =>
    budgetLeft(connection, run, { perRun, perDay }, records.now()),
  )
  // What is set aside for rows under way is still theirs to spend.
  return Math.max(0, left.credits + left.reserved)
}
