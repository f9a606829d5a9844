import type { Admin } from '../../engine/admin/admin.js'
import type { AsyncJob } from '../../engine/ports/ports.js'
import type { Worker } from '../../engine/worker/worker.js'
import type { ClockContext, TargetContext } from '../context/context.js'
import { aborted } from '../context/interrupts.js'

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
