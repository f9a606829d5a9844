import { parseUrl } from '../../../../api/values/url.js'
import type { AsyncJob, Delivery, Reads } from '../../../../engine/ports/ports.js'
import { isoTime } from '../../../options/time-values.js'
import { counted } from '../context/counted.js'
import { askEngine, type EngineState } from '../context/engine-store.js'
import type { Scene } from '../context/scene.js'
import { ok, orElse, type Verdict, warning } from '../context/verdict.js'

/** Most jobs and deliveries that are looked at, of each state. */
const most = 1_000
/** A worker takes up what is due within seconds; this long without one, nobody is at work. */
const unattendedMs = 600_000
/** Attempts without progress that are no accident; after 10, a job is given up. */
const manyAttempts = 3

/** Whether accepted work goes on. */
export const jobs = (scene: Scene): Promise<readonly Verdict[]> =>
  askEngine(scene, async (reads, state) => {
    const running = await reads.jobs(state.workspace.id, { state: 'running' }, { skip: 0, limit: most })
    const queued = await reads.jobs(state.workspace.id, { state: 'queued' }, { skip: 0, limit: most })
    const alone = running.filter(({ leaseUntil }) => leaseUntil <= scene.clock.now())
    const waiting = queued.filter(({ createdAt }) => createdAt <= state.now - unattendedMs)
    const failing = [...running, ...queued].filter(({ attempts }) => attempts >= manyAttempts)
    const { queued: waitingCount, running: runningCount } = await reads.countUnfinished(state.workspace.id)
    const open = waitingCount + runningCount
    const run = 'prospect engine jobs run does what is due.'
    const troubles = [
      ...some(alone, 'under way, and nobody is at it any more', run),
      ...some(waiting, 'waiting for longer than 10 minutes', run),
      ...some(
        failing,
        `at attempt ${manyAttempts} or a later one, without getting on`,
        'prospect engine jobs show ID tells more.',
      ),
    ]
    return orElse(
      troubles,
      open === 0 ? 'No work is open.' : `${counted(open, 'job')} open, and attended to.`,
    )
  })

/** Whether results reach those who asked for them. */
export const deliveries = (scene: Scene): Promise<readonly Verdict[]> =>
  askEngine(scene, async (reads, { workspace: { id }, now }) => {
    const counts = await reads.countDeliveries(id)
    const pending = await reads.deliveries(id, { state: 'pending' }, most)
    const failed = counts.failed === 0 ? [] : await reads.deliveries(id, { state: 'failed' }, 1)
    const overdue = pending.filter(({ dueAt }) => dueAt !== null && dueAt <= now - unattendedMs)
    const troubles = [
      ...some(
        overdue,
        'due for longer than 10 minutes',
        'prospect engine jobs run sends what is due; prospect worker goes on doing so.',
      ),
      ...failed.map((newest) => failedDelivery(newest, counts.failed)),
    ]
    const open = `${counted(counts.pending, 'delivery', 'deliveries')} open, none overdue.`
    return orElse(troubles, counts.pending === 0 ? 'No delivery is open or failed.' : open)
  })

function failedDelivery({ url, error, status }: Delivery, count: number): Verdict {
  const reason = error ?? (status === null ? 'no answer' : `answer ${status}`)
  // The rest of an address may be a secret of whoever receives there.
  const host = parseUrl(url)?.host ?? 'its receiver'
  return warning(
    `${counted(count, 'delivery', 'deliveries')} failed for good; the newest, to ${host}: ${reason.replace(/\.$/, '')}.`,
    'prospect engine deliveries list --state failed, then prospect engine deliveries retry ID',
  )
}

function some(found: readonly (AsyncJob | Delivery)[], what: string, hint: string): readonly Verdict[] {
  const [first] = found
  if (!first) return []
  const count =
    'url' in first ? counted(found.length, 'delivery', 'deliveries') : counted(found.length, 'job')
  const which = found.length === 1 ? `(${first.id}) is` : `(${first.id}, …) are`
  return [warning(`${count} ${which} ${what}.`, hint)]
}

const yearMs = 365 * 86_400_000
/** How long an old secret signs along after a rotation. */
const overlapMs = 86_400_000

/** How old the secret is that signs deliveries. */
export const signingSecret = (scene: Scene): Promise<readonly Verdict[]> =>
  askEngine(scene, async (reads, state) => {
    const since = await signingSince(reads, state)
    if (since === undefined) return [ok('There is no signing secret yet; the first delivery makes one.')]
    const text = `The signing secret has not been changed since ${isoTime(since)}`
    if (state.now - since <= yearMs) return [ok(`${text}.`)]
    return [warning(`${text}, for more than a year.`, 'prospect engine webhooks secret --rotate')]
  })

/** When the secret in use was made at the earliest: its own time is not kept, that of the one before it is. */
async function signingSince(reads: Reads, { workspace }: EngineState): Promise<number | undefined> {
  const secrets = await reads.signingSecrets(workspace.id)
  if (secrets.length === 0) return undefined
  const ended = secrets.flatMap(({ until }) => until ?? [])
  return ended.length === 0 ? workspace.createdAt : Math.max(...ended) - overlapMs
}
