import { parseUrl } from '../../../api/values/url.js'
import { listMovements, readBalances, verifyLedger } from '../../../engine/credits/ledger.js'
import {
  countDeliveries,
  type Delivery,
  listDeliveries,
  listSigningSecrets,
} from '../../../engine/tables/deliveries.js'
import { type AsyncJob, countUnfinishedJobs, listJobs } from '../../../engine/tables/jobs.js'
import type { Connection } from '../../../storage/driver/connection.js'
import { isoTime } from '../../options/values.js'
import type { DoctorContext } from './context.js'
import { counted, type Findings, ok, orElse, problem, type Verdict, warning } from './context.js'
import { askEngine, type EngineState, engineState } from './data.js'

/** Number of movements to check; `engine ledger verify` checks all. */
const recent = 10_000

/** Checks the sums of the newest ledger movements. */
export async function ledger(context: DoctorContext): Promise<Findings> {
  const state = await engineState(context)
  if (!state) return []
  const { store, workspace } = state
  const { id } = workspace
  const from = await store.read(async (tx) => {
    const last = await readBalances(tx, id)
    const [movement] = last.seq <= recent ? [] : await listMovements(tx, id, last.seq - recent - 1, 1)
    return movement
  })
  const { movements, problems } = await verifyLedger(store, id, from)
  const [first, ...more] = problems
  if (first === undefined)
    return ok(`The ledger adds up: ${counted(movements, 'movement')}${from ? ', the newest' : ''}.`)
  const others = more.length === 0 ? '' : `, and ${more.length} more`
  return problem(
    `The ledger does not add up: ${first}${others}.`,
    'prospect engine ledger verify lists all problems.',
  )
}

/** Maximum number of jobs and of deliveries to read, by state. */
const most = 1_000
/** A worker takes due work within seconds, so none ran for this long. */
const unattendedMs = 600_000
/** Attempts that make a job suspicious; after 10 it fails. */
const manyAttempts = 3

/** Checks that accepted jobs make progress. */
export const jobs = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (tx, state) => {
    const running = await listJobs(tx, state.workspace.id, { state: 'running' }, { skip: 0, limit: most })
    const queued = await listJobs(tx, state.workspace.id, { state: 'queued' }, { skip: 0, limit: most })
    const alone = running.filter(({ leaseUntil }) => leaseUntil <= context.clock.now())
    const waiting = queued.filter(({ createdAt }) => createdAt <= state.now - unattendedMs)
    const failing = [...running, ...queued].filter(({ attempts }) => attempts >= manyAttempts)
    const { queued: waitingCount, running: runningCount } = await countUnfinishedJobs(tx, state.workspace.id)
    const open = waitingCount + runningCount
    const run = 'Run them: prospect engine jobs run'
    const troubles = [
      ...countTroubles(alone, 'running without a worker', run),
      ...countTroubles(waiting, 'waiting for longer than 10 minutes', run),
      ...countTroubles(
        failing,
        `at attempt ${manyAttempts} or later, without progress`,
        'prospect engine jobs show ID shows details.',
      ),
    ]
    return orElse(troubles, open === 0 ? 'No jobs are open.' : `${counted(open, 'job')} open, none stuck.`)
  })

/** Checks that results are delivered. */
export const deliveries = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (tx, { workspace: { id }, now }) => {
    const counts = await countDeliveries(tx, id)
    const pending = await listDeliveries(tx, id, { state: 'pending' }, most)
    const failed = counts.failed === 0 ? [] : await listDeliveries(tx, id, { state: 'failed' }, 1)
    const overdue = pending.filter(({ dueAt }) => dueAt !== null && dueAt <= now - unattendedMs)
    const troubles = [
      ...countTroubles(
        overdue,
        'due for longer than 10 minutes',
        'Send what is due with prospect engine jobs run, or continuously with prospect worker.',
      ),
      ...failed.map((newest) => failedDelivery(newest, counts.failed)),
    ]
    const open = `${counted(counts.pending, 'delivery', 'deliveries')} open, none overdue.`
    return orElse(troubles, counts.pending === 0 ? 'No delivery is open or failed.' : open)
  })

function failedDelivery({ url, error, status }: Delivery, count: number): Verdict {
  const reason = error ?? (status === null ? 'no answer' : `answer ${status}`)
  // The rest of the URL may be a secret of its receiver.
  const host = parseUrl(url)?.host ?? 'its receiver'
  return warning(
    `${counted(count, 'delivery', 'deliveries')} failed for good; the newest, to ${host}: ${reason.replace(/\.$/, '')}.`,
    'prospect engine deliveries list --state failed, then prospect engine deliveries retry ID',
  )
}

function countTroubles(
  found: readonly (AsyncJob | Delivery)[],
  what: string,
  hint: string,
): readonly Verdict[] {
  const [first] = found
  if (!first) return []
  const count =
    'url' in first ? counted(found.length, 'delivery', 'deliveries') : counted(found.length, 'job')
  const which = found.length === 1 ? `(${first.id}) is` : `(${first.id}, …) are`
  return [warning(`${count} ${which} ${what}.`, hint)]
}

const yearMs = 365 * 86_400_000
/** How long the old secret still signs after a rotation. */
const overlapMs = 86_400_000

/** Checks the age of the secret that signs deliveries. */
export const signingSecret = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (tx, state) => {
    const since = await signingSince(tx, state)
    if (since === undefined) return [ok('There is no signing secret yet; the first delivery creates one.')]
    const text = `The signing secret has not been changed since ${isoTime(since)}`
    if (state.now - since <= yearMs) return [ok(`${text}.`)]
    return [warning(`${text}, for more than a year.`, 'prospect engine webhooks secret --rotate')]
  })

/**
 * Returns the earliest time at which the current secret can have been created. Only the end of the one before is
 * stored.
 */
async function signingSince(tx: Connection, { workspace }: EngineState): Promise<number | undefined> {
  const secrets = await listSigningSecrets(tx, workspace.id)
  if (secrets.length === 0) return undefined
  const ended = secrets.flatMap(({ until }) => until ?? [])
  return ended.length === 0 ? workspace.createdAt : Math.max(...ended) - overlapMs
}
