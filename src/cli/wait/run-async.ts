import { isOk } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { ownWebhook } from '../../api/validation/own-webhook.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { AsyncJob } from '../../engine/tables/jobs.js'
import type { Worker } from '../../engine/worker/worker.js'
import type { ClockContext, Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { aborted, exitOfSignal, interruptible, within } from '../context/io.js'
import { explainMissing, reportNothingFound, reportRefusal } from '../operation/call.js'
import { confirmCall } from '../operation/quote.js'
import { recordSpent } from '../operation/record-spending.js'
import type { OperationRequest } from '../operation/request.js'
import { reportSuccess, runSync, sendAndPrint, sendRequest, withFields } from '../operation/run-sync.js'
import { type Wait, waitOf } from '../options/webhooks.js'
import { reportError } from '../output/print.js'
import { startProgress } from '../output/progress.js'
import { countOf, formatNumber } from '../output/text.js'
import {
  checkOutput,
  jobIdOf,
  type KnownRecords,
  printNothing,
  printResult,
  readByOrdinal,
  reportOfWork,
  resultCommand,
  stepText,
  successText,
} from './result.js'

/**
 * Sends a request that starts work. On this machine it also does the work; with `--wait` it prints the result in place
 * of the reply. `lineOf` returns the line of the file that a company of a list came from. Returns the exit code.
 */
export async function runAsync(
  given: Context,
  request: OperationRequest,
  lineOf?: (ordinal: number) => number | undefined,
  known?: KnownRecords,
): Promise<number> {
  const { operation, shape, input } = request
  const { options } = request.invocation
  const wait = waitOf(given, request.invocation, input)
  if (options.publicUrl !== undefined && !wait.printsResult)
    throw new UsageError('--public-url needs --wait.')
  if (!given.isLocal()) {
    const { runRemote } = await import('./run-remote.js')
    return runRemote(given, request, wait.printsResult, known)
  }
  if (options.dryRun === true) return runSync(given, request)
  const context = wait.printsResult ? await checkOutput(given, operation.id) : withFields(given, shape)
  await confirmCall(context, request)
  const reply = await (wait.printsResult ? sendRequest(context, request) : sendAndPrint(context, request))
  if (!isOk(reply)) return reportRefusal(context, operation, reply)
  const id = jobIdOf(reply.body)
  if (id === undefined) return wait.printsResult ? printNothing(context, operation.id) : exitCodes.ok
  context.log?.write('begun', { id })
  if (!wait.printsResult) await reportSuccess(context, request, reply)
  if (wait.doesWork) return finishLocalWork(context, { id, wait, lineOf, known })
  context.notify(
    'The job is queued. Run it with prospect serve, prospect worker or prospect engine jobs run.',
  )
  return exitCodes.ok
}

interface LocalWork {
  readonly id: string
  readonly wait: Wait
  readonly lineOf?: ((ordinal: number) => number | undefined) | undefined
  readonly known?: KnownRecords | undefined
}

/** Ends with the work, a signal, or when the time is up. Returns the exit code. */
async function finishLocalWork(context: Context, work: LocalWork): Promise<number> {
  const { wait } = work
  return interruptible(context.streams, async (interrupted) => {
    const { job, delivered } = await within(context, interrupted, wait.seconds, (over) =>
      followWithProgress(context, work, over),
    )
    if (!isOver(job)) return reportOutcome(context, work, job, exitOfSignal(interrupted))
    await recordSpent(context, job.operation, job.spent)
    const code = await reportOutcome(context, work, job, exitOfSignal(interrupted))
    await awaitDeliveries(context, job, delivered)
    await reportDeliveries(context, job)
    return exitOfSignal(interrupted) ?? code
  })
}

const isOver = ({ state }: AsyncJob): boolean => state === 'finished' || state === 'failed'

async function followWithProgress(context: Context, { id }: LocalWork, over: AbortSignal) {
  const job = await (await context.admin()).job(id)
  const progress = await startProgress(context, stepText(job))
  try {
    return await follow(context, id, over, ({ done, spent, expected }) =>
      progress.update({ rows: done, found: done, credits: spent, total: expected }),
    )
  } finally {
    progress.stop()
  }
}

/** How often a job that another process works on is read, in milliseconds. */
const pollMs = 250

/** How long a slow receiver of deliveries may hold up the end of a command, in milliseconds. */
const stopWorkerMs = 2_000

/**
 * Does a job in this process, or waits for the process that does it. `over` ends that early and leaves the job queued. Returns
 * the job as it then stood. `delivered` resolves after the first attempt of each delivery, or when the command has to end.
 */
async function follow(context: Context, jobId: string, over: AbortSignal, onStep: (job: AsyncJob) => void) {
  const [worker, admin] = [await context.worker(), await context.admin()]
  const stopped = aborted(over)
  void stopped.then(() => worker.stop(stopWorkerMs))
  // Deliveries come after the last step, and the result need not wait for them.
  const last = Promise.withResolvers<AsyncJob>()
  const finishing = finish(context, { worker, admin }, jobId, over, (job) => {
    onStep(job)
    if (isOver(job)) last.resolve(job)
  })
  const job = await Promise.race([last.promise, finishing])
  const delivered = Promise.race([finishing.then(() => {}), stopped])
  // A failure after the command has ended cannot be reported.
  delivered.catch(() => {})
  return { job, delivered }
}

async function finish(
  context: ClockContext,
  { worker, admin }: { readonly worker: Worker; readonly admin: Admin },
  jobId: string,
  over: AbortSignal,
  onStep: (job: AsyncJob) => void,
): Promise<AsyncJob> {
  for (;;) {
    const job = (over.aborted ? undefined : await worker.finish(jobId, onStep)) ?? (await admin.job(jobId))
    if (over.aborted || isOver(job)) return job
    onStep(job)
    await context.sleep(pollMs, over).catch(() => {})
  }
}

/** Prints the result where it was asked for, and reports the outcome of a job; returns the exit code. */
async function reportOutcome(
  context: Context,
  { wait, lineOf, known }: LocalWork,
  job: AsyncJob,
  interruption: number | undefined,
): Promise<number> {
  const result = resultCommand(job.kind, job.id)
  const lost =
    job.state === 'finished' && wait.printsResult ? await printResult(context, job, known) : undefined
  const kept = job.done > 0 ? `What was found before is kept: ${result}. ` : ''
  const next = {
    afterFailure: `${kept}Try it again: prospect engine jobs retry ${job.id}`,
    toContinue: `Continue it with: prospect engine jobs run. Get its results with: ${result}`,
  }
  const report = reportOfWork(job, next, interruption)
  if (report) return reportError(context, report)
  if (job.kind === 'list_import') await reportUnresolved(context, job, lineOf)
  if (lost) return reportNothingFound(context, null, lost)
  const hint = job.done === 0 ? await explainMissing(context) : undefined
  if (hint !== undefined) context.notify(hint)
  context.notify(`${successText(job)}${wait.printsResult ? '' : ` See: ${result}`}`)
  return exitCodes.ok
}

/** The most companies that are named; the others are counted. */
const maxNames = 10

async function reportUnresolved(
  context: Context,
  job: AsyncJob,
  lineOf: (ordinal: number) => number | undefined = () => undefined,
): Promise<void> {
  const names: string[] = []
  let count = 0
  const admin = await context.admin()
  const listed = readByOrdinal((...page) => admin.listed(job.id, ...page))
  for await (const { company, ordinal, account_id } of listed) {
    if (account_id !== null) continue
    count++
    const line = lineOf(ordinal)
    const name = company.name ?? company.domain ?? company.url ?? `company ${ordinal}`
    if (names.length < maxNames) names.push(line === undefined ? name : `${name} (line ${line})`)
  }
  if (count === 0) return
  const more = count > names.length ? ` and ${formatNumber(count - names.length)} more` : ''
  const of = `${formatNumber(count)} of ${countOf(job.expected, 'company', 'companies')}`
  context.notify(`${of} could not be resolved: ${names.join(', ')}${more}.`)
}

/** How long deliveries may take before a notice explains the wait, in milliseconds. */
const noticeMs = 2_000

const serversText = 'prospect serve, prospect worker or prospect engine jobs run.'

/** Waits for the first attempt of each delivery. After a while it says what it waits for, and how to leave. */
export async function awaitDeliveries(
  context: Pick<Context, 'sleep' | 'notify'>,
  { webhookUrl }: Pick<AsyncJob, 'webhookUrl'>,
  delivered: Promise<void>,
): Promise<void> {
  if (webhookUrl === null || webhookUrl === ownWebhook) return delivered
  const done = new AbortController()
  const notice = `Delivering to ${new URL(webhookUrl).host}. Ctrl-C leaves the rest to ${serversText}`
  const waiting = context.sleep(noticeMs, done.signal).then(
    () => context.notify(notice),
    () => {},
  )
  await delivered.finally(() => done.abort())
  await waiting
}

async function reportDeliveries(context: Context, { id, webhookUrl }: AsyncJob): Promise<void> {
  if (webhookUrl === null || webhookUrl === ownWebhook) return
  const admin = await context.admin()
  const of = (state: 'pending' | 'failed') => admin.deliveries({ jobId: id, state }, 1)
  const [open] = [...(await of('pending')), ...(await of('failed'))]
  const { host } = new URL(webhookUrl)
  if (!open) return context.notify(`Delivered to ${host}.`)
  const later = open.state === 'pending' ? ` It is tried again by ${serversText}` : ''
  const reason = (open.error ?? 'not attempted yet').replace(/\.$/, '')
  context.notify(
    `Not delivered to ${host}: ${reason}.${later} See: prospect engine deliveries list --job ${id}`,
  )
}
