import type { Batch } from '../../batch/run/batch.js'
import { isPostgres } from '../../storage/database/location.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { placeWords } from '../runs/shared-runs.js'
import type { Job } from './job.js'
import type { Begun } from './journal.js'

/** Rows under way at once: enough for many workers with several chunks each. */
const atOnce = 4_096
/** How long a worker is waited for before somebody is told that there is none. */
const silentMs = 10_000

/** A batch in the world of its database: where its engine is, and what is remembered of its run. */
export function placed(job: Job): Job {
  const { shell, choices, globals } = job
  const { context } = shell
  const database = job.database ?? (choices.distribute ? context.home.engine : undefined)
  if (choices.distribute) checkPlace(context, database, globals)
  const kept = withRecords(job, database)
  if (database === undefined || database === context.home.engine) return kept
  return { ...kept, shell: { ...shell, context: context.withDatabase(database) } }
}

/** What is remembered of a run is where all who may go on with it find it. */
const withRecords = (job: Job, database: string | undefined): Job =>
  database !== undefined && isPostgres(database)
    ? { ...job, database, place: placeWords(job.shell.context, { database }) }
    : job

function checkPlace(context: Context, database: string | undefined, globals: GlobalOptions): void {
  if (database !== undefined && isPostgres(database)) return
  if (context.isLocal(globals))
    throw new UsageError(
      '--distribute needs a PostgreSQL database that the workers share.',
      'Add --database postgres://… or set PROSPECT_DATABASE_URL; start workers with: prospect worker --database postgres://…',
    )
  throw new UsageError(
    '--distribute is about workers that share a PostgreSQL database, and the target is a server.',
    'Give the database of workers that have the same --upstream, with --database postgres://…, or choose the local engine with --local.',
  )
}

/** How a run is sent: by this process, or by all workers that share the database. */
export interface Sending {
  readonly target: Begun['target'] & Pick<Batch, 'concurrency'>
  /** Workers that take part; nothing where the run is not spread. */
  workers(): number | undefined
}

/** Has the rows of a run called by the workers of its database, where that is asked for. */
export async function sendingOf(
  { shell, operation, globals, choices }: Job,
  { run, target }: Pick<Begun, 'run' | 'target'>,
  signal: AbortSignal,
): Promise<Sending> {
  if (!choices.distribute || run.status === 'finished') return { target, workers: () => undefined }
  const { context } = shell
  const crew = watched(context, globals)
  const caller = await context.distributedCaller(
    {
      ...{ run: run.id, operation: operation.id, rows: run.total, atOnce, signal },
      apiKey: target.callOptions?.apiKey,
      watches: operation.batch?.together !== undefined,
      onWorkers: crew.count,
    },
    globals,
  )
  return { target: { ...target, caller, concurrency: atOnce }, workers: crew.workers }
}

/** Counts workers, and says so where none takes part for a while, and when there are some again. */
function watched(context: Context, globals: GlobalOptions) {
  let workers = 0
  let noneSince = context.clock.now()
  let isTold = false
  const count = (found: number): void => {
    const now = context.clock.now()
    if (found > 0) {
      if (isTold) context.notify(workersText(found), globals)
      isTold = false
      noneSince = now
    } else if (!isTold && now - noneSince >= silentMs) {
      isTold = true
      context.notify(
        'No worker takes part: the run waits for one. Start some, on any machine: prospect worker --database postgres://…',
        globals,
      )
    }
    workers = found
  }
  return { count, workers: () => workers }
}

/** How many workers take part, as a sentence. */
export const workersText = (workers: number): string =>
  workers === 1 ? '1 worker takes part.' : `${workers} workers take part.`
