import { ConnectionLost, isOk, lostCall, type Reply } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { ownWebhook, wantsWebhook } from '../../api/validation/own-webhook.js'
import { aborted } from '../../api/values/objects.js'
import { eventOf } from '../../api/webhooks/events.js'
import type { AsyncJob } from '../../engine/tables/jobs.js'
import type { ClaimedWork } from '../../runs/stored-lookups.js'
import type { Context } from '../context/context.js'
import { Stop, withoutStop } from '../context/errors.js'
import { anySignal, exitOfSignal, interruptible, timeLimit } from '../context/io.js'
import { reportOf } from '../messages.js'
import { waitOf } from '../options/webhooks.js'
import { print, reportError } from '../output/print.js'
import { startProgress } from '../output/progress.js'
import type { Row } from '../output/records.js'
import { countOf, formatNumber } from '../output/text.js'
import { sentAgain } from '../target/local-target.js'
import { targetIn } from '../target/resolve-target.js'
import type { OperationRequest } from './build.js'
import { reportSuccess, runSync, sendAndPrint, withSource } from './call.js'
import { confirmCall } from './confirm.js'
import { polledWork, toAcceptedWork, type Work } from './poll.js'
import { notifyMissing, reportNothingFound, reportRefusal, withFields } from './print.js'
import {
  type AcceptedWork,
  checkOutput,
  type KnownRecords,
  printFound,
  printNothing,
  readByOrdinal,
  refusalOfWork,
  resultCommand,
  stepText,
  successText,
  type WorkProgress,
} from './result.js'
import { sendRequest } from './send.js'
import { claimWork, findResult, recordSpent, storeResult } from './spending.js'

/** Returns the line of the file that a company of a list came from. */
type LineOf = (ordinal: number) => number | undefined

/**
 * Sends a request that starts work. On this machine it also does the work; where the result is asked for, it waits and prints
 * it in place of the reply. Returns the exit code.
 */
export async function runAsync(
  given: Context,
  request: OperationRequest,
  lineOf?: LineOf,
  known?: KnownRecords,
): Promise<number> {
  const { operation, shape, input, invocation } = request
  const { dryRun, publicUrl } = invocation.options
  const wait = waitOf(given, invocation, input)
  const isLocal = given.isLocal()
  if (publicUrl !== undefined && !wait.printsResult) throw new Refusal('usage.public_url_wait')
  const isSent = !isLocal && !wait.printsResult
  if (isSent && wantsWebhook(shape) && input.webhook_url === undefined)
    throw new Refusal('usage.no_webhook', { command: operation.command })
  const receiver = isLocal || isSent ? undefined : await receiverOf(given, request)
  const context = wait.printsResult ? await checkOutput(given, operation.id) : withFields(given, shape)
  if (dryRun === true) return runSync(given, receiver?.request ?? request)
  await context.requireRecords([operation])
  const stored = await findResult(context, request)
  const printKnown = (reply: Reply) =>
    isOk(reply) ? printStored(context, request, reply) : reportRefusal(context, operation, reply)
  if (stored) return printKnown(stored)
  await confirmCall(context, request)
  if (isSent) return runSync(context, request)
  const run = async (interrupted?: AbortSignal): Promise<number> => {
    // What is received here was sent with an address of its own.
    const claimed = receiver ? undefined : await claimWork(context, request)
    if (claimed && 'status' in claimed) return printKnown(claimed)
    const send = receiver?.send ?? (wait.printsResult ? sendRequest : sendAndPrint)
    const reply = await start(context, request, claimed, send)
    if (!isOk(reply)) return reportRefusal(context, operation, reply)
    const accepted = toAcceptedWork(request, reply.body)
    if (!accepted) return wait.printsResult ? printNothing(context, request) : exitCodes.ok
    if (claimed?.work === undefined) await claimed?.accept(accepted.id)
    context.log?.write('begun', { id: accepted.id })
    if (!wait.printsResult) await reportSuccess(context, request, reply)
    if (!wait.doesWork) {
      context.notify(`The job is queued. Run it with ${serversText}`)
      return exitCodes.ok
    }
    const polled = isLocal ? undefined : polledWork(context, accepted)
    const work = polled ? (receiver?.work(polled) ?? polled) : await engineWork(context, accepted, lineOf)
    const follow = (signal: AbortSignal) => waitFor(context, work, request, wait, known, signal, claimed)
    return interrupted ? follow(interrupted) : interruptible(context.streams, follow)
  }
  if (isLocal) return run()
  const listening = await receiver?.listen()
  // What a server accepts has an id that must not be lost.
  return interruptible(context.streams, run).finally(() => listening?.close())
}

/** Starts work under the key of its lookup, or returns what stands for the reply where a killed command has started it. */
async function start(
  context: Context,
  request: OperationRequest,
  claimed: ClaimedWork | undefined,
  send: (context: Context, request: OperationRequest) => Promise<Reply>,
): Promise<Reply> {
  if (!claimed) return send(context, request)
  const { invocation, operation, input } = request
  if (claimed.work !== undefined) {
    const body = { enrichment_id: claimed.work }
    if (!waitOf(context, invocation, input).printsResult) await print(context, body)
    return { status: operation.ok, body, headers: {}, credits: 0 }
  }
  if (claimed.isAgain) context.notify(sentAgain)
  const options = { ...invocation.options, idempotencyKey: claimed.key }
  const sent = await send(context, { ...request, invocation: { ...invocation, options } }).catch(lostCall)
  // Otherwise it may have been started, and is sent under the same key again.
  if (!sent.unknown && !('status' in sent && isOk(sent))) await claimed.forget()
  if (sent instanceof ConnectionLost) throw sent
  return sent
}

/** Prints the result of work that was paid for before. Returns the exit code. */
async function printStored(context: Context, request: OperationRequest, reply: Reply): Promise<number> {
  const kind = eventOf(request.operation.id) ?? 'contact_enrichment'
  const empty = await printFound(context, { kind, single: true }, () => [withSource(context, reply) as Row])
  return empty ? reportNothingFound(context, null, empty, request) : exitCodes.ok
}

async function receiverOf(context: Context, request: OperationRequest) {
  const { prepareToReceive, receivingAddress } = await import('./receive.js')
  const address = receivingAddress(targetIn(context), request)
  return address && prepareToReceive(context, request, address)
}

/** Waits until work ends, a signal comes or the time is up, and reports the outcome. Returns the exit code. */
async function waitFor(
  context: Context,
  work: Work,
  request: OperationRequest,
  { seconds, printsResult }: ReturnType<typeof waitOf>,
  known: KnownRecords | undefined,
  interrupted: AbortSignal,
  claimed?: ClaimedWork,
): Promise<number> {
  const { accepted, next } = work
  const display = await startProgress(context, stepText(accepted))
  const onProgress = ({ done, spent, expected }: WorkProgress) =>
    display.update({ rows: done, found: done, credits: spent, total: expected })
  const over = anySignal(interrupted, timeLimit(seconds))
  const progress = await work
    .follow(over, onProgress)
    .catch(async (error: unknown) => {
      // The target does not have the work any more.
      if (error instanceof Stop && error.exit === exitCodes.notFound) await claimed?.forget()
      throw error
    })
    .finally(() => display.stop())
  const { state, done, spent, isSuppressed } = progress
  const interruption = exitOfSignal(interrupted)
  if (state !== 'going')
    await recordSpent(context, accepted.operation.id, spent, { once: `work ${accepted.id}` })
  if (state === 'finished' && accepted.single) {
    const [result] = await Array.fromAsync(work.records())
    if (claimed) await claimed.keep({ status: 200, body: result, headers: {}, credits: spent })
    else await storeResult(context, request, result, spent)
  } else if (state === 'failed') await claimed?.forget()
  const empty =
    state === 'finished' && printsResult
      ? await printFound(context, accepted, () => work.records(), known)
      : undefined
  const refusal = refusalOfWork(accepted, progress, next, interruption)
  const report = refusal && reportOf(refusal)
  let code: number = exitCodes.ok
  if (report) code = await reportError(context, report)
  else if (empty)
    code = await reportNothingFound(context, null, empty, request, { credits: spent, isSuppressed })
  else {
    if (done === 0) await notifyMissing(context, request)
    await context.notifySamples()
    context.notify(`${successText(accepted, progress)}${printsResult ? '' : ` See: ${next.see}`}`)
  }
  if (state !== 'going') await work.end?.()
  return exitOfSignal(interrupted) ?? code
}

/** How long a slow receiver of deliveries may hold up the end of a command, in milliseconds. */
const stopWorkerMs = 2_000

/** Returns work that this machine's engine accepted. It is done here, unless another process does it. */
async function engineWork(context: Context, accepted: AcceptedWork, lineOf?: LineOf): Promise<Work> {
  const { id, kind } = accepted
  const [worker, admin] = [await context.worker(), await context.admin()]
  let delivered: Promise<unknown> = Promise.resolve()
  let onStep: (job: AsyncJob) => void
  const polled = polledWork(context, accepted, async (over) => {
    if (over.aborted) return
    // Deliveries come after the last step, and the result need not wait for them.
    const last = Promise.withResolvers<void>()
    const finishing = worker.finish(id, (job) => {
      onStep(job)
      if (progressOf(job).state !== 'going') last.resolve()
    })
    delivered = Promise.race([finishing, aborted(over)])
    // A failure after the command has ended cannot be reported.
    delivered.catch(() => {})
    await Promise.race([last.promise, finishing])
  })
  const see = resultCommand(kind, id)
  return {
    ...polled,
    follow: async (over, onProgress) => {
      onStep = (job) => onProgress(progressOf(job))
      over.addEventListener('abort', () => void worker.stop(stopWorkerMs), { once: true })
      await polled.follow(over, () => {})
      return progressOf(await admin.job(id))
    },
    next: {
      see,
      afterFailure: `Try it again: prospect engine jobs retry ${id}`,
      toContinue: `Continue it with: prospect engine jobs run. Get its results with: ${see}`,
    },
    end: async () => {
      const job = await admin.job(id)
      if (kind === 'list_import' && job.state === 'finished') await reportUnresolved(context, job, lineOf)
      await delivered
      await reportDeliveries(context, job)
    },
  }
}

const progressOf = ({ state, error, expected, ...job }: AsyncJob): WorkProgress => ({
  ...job,
  state: state === 'finished' || state === 'failed' ? state : 'going',
  error: error ?? undefined,
  expected: expected ?? undefined,
})

/** The most companies that are named; the others are counted. */
const maxNames = 10

async function reportUnresolved(context: Context, job: AsyncJob, lineOf?: LineOf): Promise<void> {
  const names: string[] = []
  let count = 0
  const admin = await context.admin()
  const listed = readByOrdinal((...page) => admin.listed(job.id, ...page))
  for await (const { company, ordinal, account_id } of listed) {
    if (account_id !== null) continue
    count++
    const line = lineOf?.(ordinal)
    const name = company.name ?? company.domain ?? company.url ?? `company ${ordinal}`
    if (names.length < maxNames) names.push(line === undefined ? name : `${name} (line ${line})`)
  }
  if (count === 0) return
  const more = count > names.length ? ` and ${formatNumber(count - names.length)} more` : ''
  const of = `${formatNumber(count)} of ${countOf(job.expected, 'company', 'companies')}`
  context.notify(`${of} could not be resolved: ${names.join(', ')}${more}.`)
}

const serversText = 'prospect serve, prospect worker or prospect engine jobs run.'

async function reportDeliveries(context: Context, { id, webhookUrl }: AsyncJob): Promise<void> {
  if (webhookUrl === null || webhookUrl === ownWebhook) return
  const admin = await context.admin()
  const of = (state: 'pending' | 'failed') => admin.deliveries({ jobId: id, state }, 1)
  const [open] = [...(await of('pending')), ...(await of('failed'))]
  const { host } = new URL(webhookUrl)
  if (!open) return context.notify(`Delivered to ${host}.`)
  const later = open.state === 'pending' ? ` It is tried again by ${serversText}` : ''
  const reason = withoutStop(open.error ?? 'not attempted yet')
  context.notify(
    `Not delivered to ${host}: ${reason}.${later} See: prospect engine deliveries list --job ${id}`,
  )
}
