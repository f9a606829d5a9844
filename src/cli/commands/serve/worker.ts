import { existsSync } from 'node:fs'
import { compose } from '../../../api/calls/caller.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { aborted, interruptible } from '../../context/interrupts.js'
import { notifyUnlessWritable, openWhenWritable } from '../../context/open-databases.js'
import { withTimeout } from '../../operation/call.js'
import { doubtLayer } from '../../operation/record-spending.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { positiveWhole } from '../../options/values.js'
import { deliveringOptions, targetsOf } from '../../options/webhooks.js'
import { baseUrlOf, namesOf, targetIn } from '../../target/resolve-target.js'

/** `prospect worker`: completes accepted jobs and delivers their results, until a signal. */
export const workerCommand: CommandFactory = ({ command }) =>
  command('worker', 'Run queued jobs and send webhooks').withOptions(workerOptions).run(runWorker)

const workerOptions = optionRows({
  ...deliveringOptions,
  upstream: ['<url>', 'make the calls of distributed runs to this server (an address that ends in /api/v2)'],
  calls: ['<n>', 'calls to that server at once (default: 8)', positiveWhole],
})

async function runWorker(
  outer: Context,
  { options }: Invocation<OptionsOf<typeof workerOptions>>,
): Promise<number> {
  const { allowTarget, database, upstream, calls, deliveryShape } = options
  // In a database that machines share, a loopback address may be meant for another machine.
  const isShared = isPostgres(database ?? outer.home.engine)
  const names = namesOf(outer.globals, {})
  const context = outer.withDatabase(database ?? outer.home.engine, {
    targets: targetsOf('worker', allowTarget, !isShared),
    ...{ names, deliveryShape },
  })
  if (database !== undefined && !isShared && !existsSync(context.home.engine))
    throw new UsageError(
      `There is no database ${context.home.engine}.`,
      'Give the database of prospect serve, or leave --database out to use that of this machine.',
    )
  if (upstream !== undefined) return workFor(context, { upstream, calls, isShared })
  if (calls !== undefined) throw new UsageError('--calls needs a server.', 'Add --upstream URL.')
  const worker = await openWhenWritable(context, context.worker)
  if (!worker) return 0
  await notifyUnlessWritable(context)
  await interruptible(outer.streams, async (signal) => {
    worker.start()
    context.notify('Working. Ctrl-C ends it.')
    await aborted(signal)
    await worker.stop()
  })
  return 0
}

/** Calls a server for distributed runs only. */
async function workFor(
  outer: Context,
  { upstream, calls, isShared }: { upstream: string; calls: number | undefined; isShared: boolean },
): Promise<number> {
  if (!isShared)
    throw new UsageError(
      '--upstream needs the PostgreSQL database that the workers of distributed runs share.',
      'Add --database postgres://…, or set PROSPECT_DATABASE_URL.',
    )
  const baseUrl = baseUrlOf(upstream, '--upstream', outer.globals.insecureHttp === true).href
  const { openRowWorker } = await import('../../target/local-target.js')
  const context = outer.withGlobals({ local: undefined, baseUrl })
  const timeout = context.globals.timeout ?? targetIn(context).timeout
  const caller = compose([withTimeout(timeout), doubtLayer(context)], await context.caller())
  const runChunkWorker = await openWhenWritable(context, () => openRowWorker(context, caller, calls))
  if (!runChunkWorker) return 0
  await notifyUnlessWritable(context)
  await interruptible(context.streams, async (signal) => {
    context.notify('Working. Ctrl-C ends it.')
    await runChunkWorker(signal)
  })
  return 0
}
