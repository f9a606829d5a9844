import type { Shape } from '../../api/areas/shapes.js'
import { type Input, isOk } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { Operation } from '../../api/operations/table.js'
import { eventOf } from '../../api/webhooks/events.js'
import type { AsyncJob } from '../../engine/ports/ports.js'
import type { GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { exitOfSignal, interruptible, within } from '../context/interrupts.js'
import { recordSpent } from '../operation/record-spending.js'
import { answered, asked, judge, refuse, runOnce, sayNothingFound } from '../operation/run-sync.js'
import type { CommandEnvironment, Invocation } from '../options/command-environment.js'
import { checkFields } from '../options/schema-options.js'
import { fieldsOf } from '../output/output.js'
import { startProgress } from '../output/progress.js'
import { wantsWebhook } from '../target/own-webhook.js'
import { checkOutput, jobIdOf } from './accepted.js'
import { confirmAll } from './confirm.js'
import {
  awaitDeliveries,
  type Followed,
  follow,
  isOver,
  reportDeliveries,
  reportEnd,
  resultCommand,
  stepText,
  successText,
} from './job-outcome.js'
import { printNothing, printResult } from './job-result.js'
import { type Wait, waitOf } from './options.js'
import { unresolved } from './unresolved.js'

/**
 * Sends a request that starts work, sees the work through where it is done on this machine, and answers the exit
 * code. With `--wait` what the work found is printed in place of the reply. `lineOf` gives the line of the file that a
 * company of a list came from.
 */
export async function runStarting(
  environment: CommandEnvironment,
  operation: Operation,
  shape: Shape,
  input: Input,
  invocation: Invocation,
  lineOf?: (ordinal: number) => number | undefined,
): Promise<number> {
  const { context } = environment
  const { globals, options } = invocation
  const wait = waitOf(options)
  if (options.publicUrl !== undefined && !wait.shows)
    throw new UsageError('--public-url is where the result comes to: it goes with --wait.')
  if (!context.isLocal(globals)) return elsewhere(environment, operation, shape, input, invocation)
  if (options.dryRun === true) return runOnce(environment, operation, shape, input, invocation)
  if (wait.shows) await checkOutput(context, operation, globals)
  else checkFields(shape.output, fieldsOf(globals))
  if (!(await confirmAll(context, operation, input, globals))) return exitCodes.ok
  const ask = wait.shows ? asked : answered
  const reply = await ask(context, operation, input, invocation)
  if (!isOk(reply)) return refuse(environment, operation, reply, invocation)
  const id = jobIdOf(reply.body)
  if (id === undefined) return wait.shows ? printNothing(environment, globals) : exitCodes.ok
  if (!wait.shows) await judge(context, operation, reply, invocation)
  if (wait.stays) return see({ environment, operation, globals, wait, lineOf }, id)
  context.notify('The work waits for prospect serve, prospect worker or prospect engine jobs run.', globals)
  return exitCodes.ok
}

/** Sends the request to a server, where this process can at most wait for the work. */
async function elsewhere(
  environment: CommandEnvironment,
  operation: Operation,
  shape: Shape,
  input: Input,
  invocation: Invocation,
): Promise<number> {
  const { options, globals } = invocation
  if (!waitOf(options).shows) {
    const { checkAddress } = await import('./strategy.js')
    checkAddress(operation, wantsWebhook(shape), input)
    const isAsked = options.dryRun !== true
    if (isAsked && !(await confirmAll(environment.context, operation, input, globals))) return exitCodes.ok
    return runOnce(environment, operation, shape, input, invocation)
  }
  if (options.dryRun === true) {
    const { withReceiver } = await import('./preview-request.js')
    const shown = await withReceiver(environment.context, operation, input, invocation)
    return runOnce(environment, operation, shape, shown, invocation)
  }
  const { runAwaiting } = await import('./await-remote.js')
  return runAwaiting(environment, operation, shape, input, invocation)
}

/** Work that was accepted, and what the person who asked for it wants of it. */
interface Started {
  readonly environment: CommandEnvironment
  readonly operation: Operation
  readonly globals: GlobalOptions
  readonly wait: Wait
  readonly lineOf: ((ordinal: number) => number | undefined) | undefined
}

/** Stays with a job until its end, until a signal, or until the time is up. */
async function see(started: Started, id: string): Promise<number> {
  const { operation, globals } = started
  const { context } = started.environment
  return interruptible(context.streams, async (interrupted) => {
    const watch = (over: AbortSignal) => watched(started, id, over)
    const followed = await within(context, interrupted, started.wait.seconds, watch)
    if (isOver(followed.job)) await recordSpent(context, operation, followed.job.spent, globals)
    const code = await settled(started, followed.job, exitOfSignal(interrupted))
    if (isOver(followed.job)) await delivered(started, followed)
    return exitOfSignal(interrupted) ?? code
  })
}

/** Follows a job with its progress on stderr. */
async function watched({ environment, operation, globals }: Started, id: string, over: AbortSignal) {
  const { context } = environment
  const kind = eventOf(operation.id) ?? 'lead_search'
  const progress = await startProgress(context, globals, stepText({ kind, operation: operation.id }))
  try {
    return await follow(context, id, over, ({ done, spent, expected }) =>
      progress.update({ rows: done, found: done, credits: spent, total: expected }),
    )
  } finally {
    progress.stop()
  }
}

/** Prints what was found where that is wanted, and tells how it ended. */
async function settled(
  { environment, globals, wait, lineOf }: Started,
  job: AsyncJob,
  interruption: number | undefined,
): Promise<number> {
  const { context } = environment
  const found = job.state === 'finished' && wait.shows ? await printResult(environment, job, globals) : true
  const code = await reportEnd(context, job, globals, interruption)
  if (code !== exitCodes.ok) return code
  if (job.kind === 'list_import') await unresolved(context, job, globals, lineOf)
  if (!found) return sayNothingFound(context, globals)
  const see = wait.shows ? '' : ` See: ${resultCommand(job)}`
  context.notify(`${successText(job)}${see}`, globals)
  return exitCodes.ok
}

/** Waits for the first attempts of what is to be delivered, and tells how they went. */
async function delivered({ environment, globals }: Started, { job, delivered }: Followed): Promise<void> {
  await awaitDeliveries(environment.context, job, delivered, globals)
  await reportDeliveries(environment.context, await environment.context.admin(globals), job, globals)
}
