import { exitCodes } from '../../api/calls/exit-codes.js'
import { isCompanyImport } from '../../api/webhooks/events.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { exitOfSignal, within } from '../context/interrupts.js'
import { recordSpent } from '../operation/record-spending.js'
import { reportNothingFound } from '../operation/refusal.js'
import { startProgress } from '../output/progress.js'
import { reportError } from '../output/report-error.js'
import { type NextSteps, reportOfWork, resultCommand, stepText, successText } from './outcome.js'
import type { Receiver } from './receiver.js'
import { printFound } from './result.js'
import type { WaitStrategy } from './strategy.js'
import { type AcceptedWork, followWatches, type WorkProgress } from './watch.js'
import { watchDeliveries } from './watch-deliveries.js'
import { watchPolled } from './watch-polling.js'

/** Work that a server accepted, and how its result is awaited. */
export interface RemoteWork {
  readonly accepted: AcceptedWork
  readonly strategy: WaitStrategy
  readonly receiver: Receiver | undefined
  /** How long to wait, in seconds; until the end when absent. */
  readonly seconds: number | undefined
  /** Whether the server replayed its reply to an earlier request. */
  readonly isReplayed: boolean
}

/** Waits until work ends, a signal comes or the time is up, and reports the outcome. Returns the exit code. */
export async function watchRemote(
  context: Context,
  work: RemoteWork,
  interrupted: AbortSignal,
): Promise<number> {
  const { accepted, strategy, receiver, isReplayed } = work
  const { kind } = accepted
  const { id } = accepted.operation
  const polled = watchPolled(context, accepted)
  const received = receiver && watchDeliveries(accepted, receiver, strategy.names)
  const display = await startProgress(context, stepText({ kind, operation: id }))
  const onProgress = ({ done, spent, expected }: WorkProgress) =>
    display.update({ rows: done, found: done, credits: spent, total: expected })
  const before =
    isReplayed && received ? (await received.follow(AbortSignal.abort(), onProgress)).state : 'going'
  const { progress, watch } = await within(context, interrupted, work.seconds, (over) =>
    followWatches(context, received, polled, over, onProgress),
  ).finally(() => display.stop())
  // The command that first waited for a result has recorded its cost.
  if (progress.state !== 'going' && before === 'going') await recordSpent(context, id, progress.spent)
  const interruption = exitOfSignal(interrupted)
  const state = { kind, operation: id, ...progress }
  const isFound =
    progress.state === 'finished' ? await printFound(context, accepted, () => watch.records()) : true
  const report = reportOfWork(state, await nextSteps(context, work, progress), interruption)
  if (report) return reportError(context, report)
  if (!isFound) return reportNothingFound(context)
  context.notify(successText(state))
  return interruption ?? exitCodes.ok
}

/** Returns what a person can do about the work after this command. Not every server lets companies be read later. */
async function nextSteps(
  context: Context,
  { accepted, receiver }: RemoteWork,
  { state, done }: WorkProgress,
): Promise<NextSteps> {
  const { kind, id } = accepted
  const isReceived = receiver !== undefined && isCompanyImport(kind)
  const see = isReceived ? `prospect events list --search ${id}` : seeText(accepted, context.globals)
  const afterFailure = done > 0 ? `What was found before is kept: ${see}` : 'See prospect credits.'
  if (!isReceived)
    return { afterFailure, toContinue: `The server continues the job. Get its results with: ${see}` }
  const isKeySupported =
    state === 'going' && ((await (await context.caller()).supportsIdempotency?.()) ?? true)
  const { key, port, token } = receiver
  const again = isKeySupported
    ? `wait again with the same command and --idempotency-key ${key}.`
    : `receive the rest with: prospect listen --port ${port} --path ${token}`
  const kept = done > 0 ? ` What has come is kept: ${see}. Or` : ''
  return { afterFailure, toContinue: `The server continues the job;${kept} ${again}` }
}

/** Returns the command that shows the result so far. */
function seeText({ kind, id }: AcceptedWork, { baseUrl, profile }: GlobalOptions): string {
  const target =
    baseUrl === undefined ? (profile === undefined ? '' : ` --profile ${profile}`) : ` --base-url ${baseUrl}`
  return resultCommand(kind, id) + target
}
