import type { Distribution } from '../../batch/run/ports.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { Run } from '../../storage/state/runs/runs.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import type { BatchCommand } from './request.js'

/** Rows under way at once: enough for many workers with several chunks each. */
const atOnce = 4_096
/** How long no worker may take part before that is reported. */
const silentMs = 10_000

/** Throws UsageError where no database is given that workers can share. */
export function checkDatabase(context: Context, database: string | undefined, globals: GlobalOptions): void {
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

/** Has the rows of a run answered by the workers of its database. */
export async function distribute(
  context: Context,
  { operation, globals }: BatchCommand,
  run: Run,
  apiKey: string | undefined,
  signal: AbortSignal,
): Promise<Distribution> {
  const pool = watchWorkers(context, globals)
  const caller = await context.distributedCaller(
    {
      ...{ run: run.id, operation: operation.id, rows: run.total, atOnce, apiKey, signal },
      watches: operation.batch?.together !== undefined,
      onWorkers: pool.count,
    },
    globals,
  )
  return { caller, concurrency: atOnce, workers: pool.workers }
}

/** Counts workers. Reports when none takes part for a while, and when some do again. */
function watchWorkers(context: Context, globals: GlobalOptions) {
  let workers = 0
  let noneSince = context.clock.now()
  let isReported = false
  const count = (found: number): void => {
    const now = context.clock.now()
    if (found > 0) {
      if (isReported) context.notify(workersText(found), globals)
      isReported = false
      noneSince = now
    } else if (!isReported && now - noneSince >= silentMs) {
      isReported = true
      context.notify(
        'No worker takes part: the run waits for one. Start some, on any machine: prospect worker --database postgres://…',
        globals,
      )
    }
    workers = found
  }
  return { count, workers: () => workers }
}

/** Returns how many workers take part, as a sentence. */
export const workersText = (workers: number): string =>
  workers === 1 ? '1 worker takes part.' : `${workers} workers take part.`
