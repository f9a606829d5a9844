import { shapeOf } from '../../api/areas/shapes.js'
import { operations } from '../../api/operations/table.js'
import type { BatchDialog, BatchPorts, BatchTarget, RunPorts, Together } from '../../runs/ports.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { interruptible } from '../context/interrupts.js'
import { runPlaceOption } from '../options/databases.js'
import { readRemaining } from '../quote/limits.js'
import { answersFrom } from '../target/data-source.js'
import { memberEmail, profileName, targetNames, workspaceName } from '../target/resolve-target.js'
import { readerOf } from '../wait/watch-polling.js'
import type { BatchCommand } from './request.js'
import { runSentences } from './row-reasons.js'
import { filePorts, listPorts } from './run-home.js'

/** What the target of a run depends on. */
type TargetCommand = Pick<BatchCommand, 'operation'> & {
  readonly choices: Pick<BatchCommand['choices'], 'distribute'>
}

/** Returns a batch, and the context of the database that holds its engine and the records of its run. */
export function withRunDatabase<
  Command extends Pick<TargetCommand, 'choices'> & Pick<BatchCommand, 'database' | 'place'>,
>(context: Context, command: Command): { readonly context: Context; readonly command: Command } {
  const { choices } = command
  const database = command.database ?? (choices.distribute ? context.home.engine : undefined)
  if (choices.distribute) checkDatabase(context, database)
  const isShared = database !== undefined && isPostgres(database)
  return {
    context: context.withDatabase(database ?? context.home.engine),
    command: isShared ? { ...command, database, place: runPlaceOption(context, { database }) } : command,
  }
}

/** Returns what a batch needs of the context of its command. */
export function createPorts(context: Context, command: BatchCommand, dialog: BatchDialog): BatchPorts {
  return {
    ...createRunPorts(context, command),
    sleep: (ms, signal) => context.sleep(ms, signal),
    interruptible: (work) => interruptible(context.streams, work),
    remaining: (operation, constants) => readRemaining(context, operation, constants),
    dialog,
  }
}

/** Returns what a run needs of the context of its command. */
export function createRunPorts(context: Context, command: TargetCommand): RunPorts {
  return {
    ...listPorts(context),
    ...filePorts(context),
    notify: (text) => context.notify(text),
    sentences: runSentences,
    target: {
      profile: profileName(context),
      names: () => targetNames(context),
      workspace: () => workspaceName(context),
      answersFrom: () => answersFrom(context),
      caller: () => context.caller(),
      apiKey: () => context.apiKey(),
      member: () => memberOf(context),
      memberEmail: () => memberEmail(context),
      source: () => context.source(),
      bulk: (run) => bulkOptions(context, command, run),
      distribute: distributor(context, command),
    },
  }
}

/** Returns the member whose key a command has. The members of other servers are not known here. */
async function memberOf(context: Context): Promise<string | undefined> {
  if (context.isLocal()) return memberEmail(context)
  const key = (await context.apiKey()) ?? ''
  const { hashKey } = await import('../../engine/request/access.js')
  return `key ${hashKey(key).slice(0, 8)}`
}

/** Returns how to send several rows of a run in one request, or `undefined` where each row is a request. */
export async function bulkOptions(
  context: Context,
  { operation, choices }: TargetCommand,
  run: string,
): Promise<Together | undefined> {
  const { together } = operation.batch ?? {}
  const row = operations().find(
    ({ command, flag }) => command === operation.command && flag === together?.flag,
  )
  if (!together || !row) return undefined
  const { into, least, most } = together
  const fields = Object.keys((await shapeOf(row.id)).input.shape)
  const shared = fields.filter((name) => name !== into)
  // The workers of a distributed run do all of the work that is accepted.
  const finish = choices.distribute ? async () => {} : finishHere(context, run)
  const work = context.isLocal() ? { work: finish } : {}
  return { operation: row.id, reader: readerOf('contact_enrichment'), into, shared, least, most, ...work }
}

/** Finishes work that this machine's engine accepts, unless a server or worker is already doing it. */
function finishHere(context: Context, run: string): (id: string, signal: AbortSignal) => Promise<void> {
  return async (id, signal) => {
    const worker = await context.worker()
    const stop = () => void worker.stop()
    signal.addEventListener('abort', stop)
    try {
      if (!signal.aborted) await worker.finish(id, undefined, run)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

/** Rows in flight at once: enough for many workers with several chunks each. */
const atOnce = 4_096
/** How long a run may have no worker before that is reported. */
const silentMs = 10_000

/** Throws UsageError where no database is given that workers can share. */
export function checkDatabase(context: Context, database: string | undefined): void {
  if (database !== undefined && isPostgres(database)) return
  if (context.isLocal())
    throw new UsageError(
      '--distribute needs a PostgreSQL database that the workers share.',
      'Add --database postgres://… or set PROSPECT_DATABASE_URL; start workers with: prospect worker --database postgres://…',
    )
  throw new UsageError(
    '--distribute needs workers that share a PostgreSQL database, but the target is a server.',
    'Give the database of workers that have the same --upstream, with --database postgres://…, or choose the local engine with --local.',
  )
}

/** Returns what has the workers of the database answer the rows of a run. */
function distributor(context: Context, { operation }: TargetCommand): BatchTarget['distribute'] {
  return async (run, apiKey, signal) => {
    const pool = watchWorkers(context)
    const caller = await context.distributedCaller({
      ...{ run: run.id, operation: operation.id, rows: run.total, atOnce, apiKey, signal },
      watches: operation.batch?.together !== undefined,
      onWorkers: pool.count,
    })
    return { caller, concurrency: atOnce, workers: pool.workers }
  }
}

/** Counts workers, and reports when there have been none for a while and when they return. */
function watchWorkers(context: Context) {
  let workers = 0
  let noneSince = context.clock.now()
  let isReported = false
  const count = (found: number): void => {
    const now = context.clock.now()
    if (found > 0) {
      if (isReported) context.notify(workersText(found))
      isReported = false
      noneSince = now
    } else if (!isReported && now - noneSince >= silentMs) {
      isReported = true
      context.notify(
        'No worker is running, so the run waits for one. Start some, on any machine: prospect worker --database postgres://…',
      )
    }
    workers = found
  }
  return { count, workers: () => workers }
}

/** Returns the number of workers as a sentence. */
export const workersText = (workers: number): string =>
  workers === 1 ? '1 worker shares the calls.' : `${workers} workers share the calls.`
