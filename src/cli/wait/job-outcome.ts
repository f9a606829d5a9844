import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, operation } from '../../api/operations/table.js'
import type { EventKind } from '../../api/webhooks/events.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { AsyncJob } from '../../engine/ports/ports.js'
import type { Worker } from '../../engine/worker/worker.js'
import type {
  ClockContext,
  Context,
  GlobalOptions,
  StreamsContext,
  TargetContext,
} from '../context/context.js'
import type { Report } from '../context/errors.js'
import { aborted } from '../context/interrupts.js'
import type { Step } from '../output/progress.js'
import { reportError } from '../output/report-error.js'
import { credited, grouped } from '../output/text.js'

/** What is told of work, wherever it is done. */
export type Told = Pick<AsyncJob, 'id' | 'kind' | 'operation' | 'done' | 'expected' | 'truncated' | 'spent'>

/** The command that prints what the work of a job found so far. */
export function resultCommand({ kind, id }: Pick<Told, 'kind' | 'id'>): string {
  if (kind === 'lead_search') return `prospect searches get ${id} --all`
  if (kind === 'list_import') return `prospect lists get ${id}`
  return kind === 'contact_enrichment'
    ? `prospect contacts get ${id}`
    : `prospect engine jobs show ${id} --records`
}

/** How to go on with a job that nobody is at. */
export const goOn = (job: AsyncJob): string =>
  `Go on with: prospect engine jobs run; then see: ${resultCommand(job)}`

/** Tells what is bad about the end of a job, or that it has not come; answers the exit code. */
export async function reportEnd(
  context: StreamsContext,
  job: AsyncJob,
  globals: GlobalOptions,
  interruption: number | undefined,
): Promise<number> {
  const told = isOver(job) ? ended(job) : left(job, interruption)
  return told ? reportError(context, told, globals) : exitCodes.ok
}

function ended(job: AsyncJob): Report | undefined {
  if (job.state === 'failed') {
    const kept = job.done > 0 ? `What was found before is kept: ${resultCommand(job)}. ` : ''
    const hint = `${kept}Try it again: prospect engine jobs retry ${job.id}`
    const error = `The work failed: ${job.error ?? 'Internal error'}`
    return { error, code: 'job_failed', status: null, exit_code: exitCodes.unreachable, hint }
  }
  return job.truncated ? cutShort(job) : undefined
}

/** What it means that a quota or the credits ended work before all was found. */
export function cutShort(job: Omit<Told, 'spent'>): Report {
  const row = operation(job.operation)
  const of = job.expected > job.done ? ` of ${grouped(job.expected)}` : ''
  return {
    error: `Only ${grouped(job.done)}${of} ${wordOf(job.kind, job.expected)} were imported: ${reasonOf(row)}`,
    code: 'truncated',
    status: null,
    exit_code: row.quota ? exitCodes.planLimit : exitCodes.credits,
    hint: row.quota
      ? 'Quotas reset at 00:00 UTC; see: prospect credits'
      : 'Buy credits, then import the rest; see: prospect credits',
  }
}

const reasonOf = ({ quota }: Operation): string => {
  if (quota === 'profiles') return 'the daily profile quota is used up.'
  return quota === 'companies'
    ? 'the daily or monthly company quota is used up.'
    : 'the credits are used up, or the weekly limit is reached.'
}

const left = (job: AsyncJob, interruption: number | undefined): Report => ({
  error: `The work is not done: ${countText(job)} so far`,
  code: interruption === undefined ? 'still_running' : 'stopped',
  status: null,
  exit_code: interruption ?? exitCodes.stillRunning,
  hint: goOn(job),
})

/** What a success brought, in a sentence. */
export function successText(job: Pick<Told, 'kind' | 'operation' | 'done' | 'spent'>): string {
  const paid = isPriced(operation(job.operation)) ? ` for ${credited(job.spent)}` : ''
  const done = job.kind === 'contact_enrichment' ? 'Looked up' : 'Imported'
  return `${done} ${grouped(job.done)} ${wordOf(job.kind, job.done)}${paid}.`
}

/** How far a job is, in a line. */
export const stepText =
  (job: Pick<AsyncJob, 'kind' | 'operation'>) =>
  ({ rows, total, credits }: Step): string =>
    [
      `${grouped(rows)}${total ? ` of ${grouped(Math.max(rows, total))}` : ''} ${wordOf(job.kind, total || rows)}`,
      ...(isPriced(operation(job.operation)) ? [credited(credits)] : []),
    ].join(' · ')

const countText = (job: AsyncJob): string =>
  `${grouped(job.done)} of ${grouped(job.expected)} ${wordOf(job.kind, job.expected)}`

/** What the work of a kind finds, in a word. */
export function wordOf(kind: EventKind, count: number): string {
  if (kind === 'lead_search') return count === 1 ? 'person' : 'people'
  if (kind === 'contact_enrichment') return count === 1 ? 'contact' : 'contacts'
  return count === 1 ? 'company' : 'companies'
}

/** A webhook that has not taken everything by then is told of, in milliseconds. */
const patienceMs = 2_000

/** Waits for first attempts; while they keep a person waiting, it is told what for and how to leave. */
export async function awaitDeliveries(
  context: Pick<Context, 'sleep' | 'notify'>,
  { webhookUrl }: Pick<AsyncJob, 'webhookUrl'>,
  delivered: Promise<void>,
  globals: GlobalOptions,
): Promise<void> {
  if (webhookUrl === null || webhookUrl === ownWebhook) return delivered
  const done = new AbortController()
  const waiting = context.sleep(patienceMs, done.signal).then(
    () =>
      context.notify(
        `Delivering to ${new URL(webhookUrl).host}. Ctrl-C leaves the rest to prospect serve, prospect worker or prospect engine jobs run.`,
        globals,
      ),
    () => {},
  )
  await delivered.finally(() => done.abort())
  await waiting
}

/** Tells whether the webhook of a job took what it was sent. */
export async function reportDeliveries(
  context: StreamsContext,
  admin: Admin,
  { id, webhookUrl }: AsyncJob,
  globals: GlobalOptions,
): Promise<void> {
  if (webhookUrl === null || webhookUrl === ownWebhook) return
  const of = (state: 'pending' | 'failed') => admin.deliveries({ jobId: id, state }, 1)
  const [open] = [...(await of('pending')), ...(await of('failed'))]
  const { host } = new URL(webhookUrl)
  if (!open) return context.notify(`Delivered to ${host}.`, globals)
  const later =
    open.state === 'pending'
      ? ' It is tried again by prospect serve, prospect worker or prospect engine jobs run.'
      : ''
  const reason = (open.error ?? 'not attempted yet').replace(/\.$/, '')
  context.notify(
    `Not delivered to ${host}: ${reason}.${later} See: prospect engine deliveries list --job ${id}`,
    globals,
  )
}

/** Accepted work as a command left it. */
export interface Followed {
  /** The job at its end, or as it stood when the time was up or a signal came. */
  readonly job: AsyncJob
  /** Resolves when the first attempt of each delivery was made, or when it is time to go. */
  readonly delivered: Promise<void>
}

/** How often work that another process has taken up is looked at, in milliseconds. */
const lookEveryMs = 250

/** Whoever waits at a shell is not kept waiting by a receiver, in milliseconds. */
const leaveMs = 2_000

/** Whether nothing more happens to a job. */
export const isOver = ({ state }: AsyncJob): boolean => state === 'finished' || state === 'failed'

/**
 * Takes a job to its end in this process, or waits for whoever is at it; `over` ends that early, and leaves the job
 * to whoever comes next.
 */
export async function follow(
  context: ClockContext & TargetContext,
  jobId: string,
  over: AbortSignal,
  onStep: (job: AsyncJob) => void,
): Promise<Followed> {
  const [worker, admin] = [await context.worker(), await context.admin()]
  const isTime = aborted(over)
  void isTime.then(() => worker.stop(leaveMs))
  let ended: (job: AsyncJob) => void = () => {}
  // Deliveries come after the last step, and the result need not wait for them.
  const last = new Promise<AsyncJob>((resolve) => {
    ended = resolve
  })
  const finishing = finish(context, { worker, admin }, jobId, over, (job) => {
    onStep(job)
    if (isOver(job)) ended(job)
  })
  const job = await Promise.race([last, finishing])
  const delivered = Promise.race([finishing.then(() => {}), isTime])
  // What fails after everybody left has nobody to tell.
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
    await context.sleep(lookEveryMs, over).catch(() => {})
  }
}
