import { isRefusal } from '../../api/calls/errors.js'
import type { DeliveryResult } from '../../api/ports/ports.js'
import { readEngineTime } from '../clock.js'
import { buildBodies, findOrCreateSecrets, readValidSecrets } from '../jobs/payloads.js'
import { LeaseLost, type WorkerPorts } from '../jobs/progress.js'
import { type Delivery, hasDelivery, releaseNextDelivery, updateDelivery } from '../tables/deliveries.js'
import { countFaults, type FaultRules, faultId, takeFaults } from '../tables/faults.js'
import { findJob } from '../tables/jobs.js'
import { listMembers, openSuppressor } from '../tables/members.js'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** Pauses before each attempt, including the first; each varies by a fifth. */
export const schedule = [0, 5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour]
const variation = 0.2
/** First attempts of one job whose results are stored together, at most. */
export const maxInARow = 100
/** A series that takes longer than this is stored before it continues. */
const rowMs = 500

/** The result of an attempt without its duration; `heldMs` when a fault lets it come so much later. */
type Result = Omit<DeliveryResult, 'ms'> & { readonly heldMs?: number }

/**
 * Attempts some claimed deliveries of a job in order, and stores the results in one transaction. A process that dies
 * before it repeats those attempts with the same ids. The series continues only after a success, while it is quick,
 * and until `signal` aborts. The rest becomes due again. Returns how many were attempted.
 */
export async function attemptDeliveries(
  ports: WorkerPorts,
  claimed: readonly [Delivery, ...Delivery[]],
  signal: AbortSignal,
): Promise<number> {
  const began = performance.now()
  const results: Result[] = []
  const { post, faults } = await createPoster(ports, claimed[0].workspaceId)
  const bodies = readBodies(ports, claimed[0], claimed)
  while (!signal.aborted) {
    const [next, following] = claimed.slice(results.length)
    if (!next) break
    const attempted =
      faults > 0
        ? await attemptUnderFaults(ports, post, claimed[0], next, following)
        : [await post(next, bodies)]
    const ended = attempted.filter((result) => result !== undefined)
    // An attempt that our own stop cut off says nothing about the receiver.
    if (ended.length === 0 || (signal.aborted && ended.some(({ status }) => status === null))) break
    results.push(...ended)
    if (ended.some(({ error }) => error !== null) || performance.now() - began > rowMs) break
  }
  const chances = results.map(() => Buffer.from(ports.ids.bytes(4)).readUInt32BE() / 0xffff_ffff)
  await ports.store.transaction(async (tx) => {
    const now = await readEngineTime(tx, ports.clock)
    for (const [at, { id, token, attempts }] of claimed.entries()) {
      const result = results[at]
      const change = result ? toDeliveryChange(attempts, result, now, chances[at] ?? 0) : {}
      const isOurs = await updateDelivery(tx, id, token, change)
      // The holder of the first delivery alone attempts those after it.
      if (at === 0 && !isOurs) return
      if (!result) break
    }
    const [{ attempts, jobId }] = claimed
    if (attempts === 0) await releaseNextDelivery(tx, jobId, now)
  }, claimed[0].workspaceId)
  return results.length
}

/**
 * Yields the bodies of some deliveries in order, and reads several at once. A standby that has not seen that the first
 * delivery was taken may lack their records, which would be taken for deleted.
 */
async function* readBodies({ store }: WorkerPorts, head: Delivery, deliveries: readonly Delivery[]) {
  let left = deliveries
  for (let [first, ...others] = left; first; [first, ...others] = left) {
    const next = [first, ...others] as const
    const bodies = await store.read(async (tx) => {
      if (!(await hasDelivery(tx, head.id, head.token ?? ''))) throw new LeaseLost()
      return buildBodies(tx, next)
    })
    left = left.slice(bodies.length)
    yield* bodies
  }
  return undefined
}

/** Posts a delivery with the next body; signed with other secrets if a fault wants that. */
type Post = (
  delivery: Delivery,
  bodies: AsyncGenerator<string>,
  otherSecrets?: readonly string[],
) => Promise<Result | undefined>

/** Attempts a delivery as the faults of its workspace say. Returns the results of it and of the next one, if they change places. */
async function attemptUnderFaults(
  ports: WorkerPorts,
  post: Post,
  head: Delivery,
  delivery: Delivery,
  next?: Delivery,
): Promise<readonly (Result | undefined)[]> {
  const send = (secrets?: readonly string[]) => post(delivery, readBodies(ports, head, [delivery]), secrets)
  const fault = delivery.attempts === 0 ? await takeFault(ports, delivery, next !== undefined) : undefined
  const { late, lose, double, badSignature, reorder } = fault?.rules ?? {}
  if (fault && late !== undefined)
    return [{ status: null, error: `Held back by the fault ${faultId(fault)}`, heldMs: late }]
  if (lose) return [{ status: null, error: null }]
  if (reorder && next) {
    const [later] = await attemptUnderFaults(ports, post, head, next)
    return [await send(), later]
  }
  if (double) await send()
  return [await send(badSignature ? [foreignSecret] : undefined)]
}

/** A valid secret that no workspace has. */
const foreignSecret = `whsec_${Buffer.alloc(24).toString('base64')}`

/** Counts the first attempt of a delivery for the faults of its workspace, and returns the one that changes it. */
const takeFault = ({ store, clock }: WorkerPorts, { workspaceId, jobId }: Delivery, isFollowed: boolean) =>
  store.transaction(async (tx) => {
    const memberId = (await findJob(tx, workspaceId, jobId))?.memberId ?? ''
    const permits = ({ reorder }: FaultRules) => !reorder || isFollowed
    const target = { workspaceId, memberId, places: ['deliveries'], permits }
    return (await takeFaults(tx, target, await readEngineTime(tx, clock)))[0]
  }, workspaceId)

/** Returns a function that posts deliveries of a workspace, and how many faults that has. */
async function createPoster({ store, sender, clock, ids, targets }: WorkerPorts, workspaceId: string) {
  const [members, known, faults] = await store.read(async (tx) => [
    await listMembers(tx, workspaceId),
    await readValidSecrets(tx, workspaceId, await readEngineTime(tx, clock)),
    await countFaults(tx, workspaceId),
  ])
  const createSecrets = () =>
    store.transaction(
      async (tx) => findOrCreateSecrets(tx, ids, workspaceId, await readEngineTime(tx, clock)),
      workspaceId,
    )
  const secrets = known.length > 0 ? known : await createSecrets()
  const permitted = targets(members.length)
  const suppressor = await openSuppressor(store, workspaceId)
  const post: Post = async ({ url, id }, bodies, otherSecrets = secrets) => {
    try {
      const { value: built } = await bodies.next()
      const body = suppressor && built !== undefined ? await suppressor.delivery(built) : built
      // Nothing is left of it, so that there is nothing to send.
      if (body === undefined && built !== undefined) return { status: null, error: null }
      const attempt = { url, workspaceId, id, timestamp: clock.now(), body, secrets: otherSecrets }
      return await sender?.send({ ...attempt, ...permitted })
    } catch (error) {
      if (error instanceof LeaseLost) return undefined
      // The records will not come back, and the other deliveries wait for this one.
      if (isRefusal(error, 'engine.records_gone'))
        return {
          status: null,
          error: `The ${error.details.of} of this delivery ${error.details.of === 'records' ? 'were' : 'was'} deleted`,
          refused: true,
        }
      throw error
    }
  }
  return { post, faults }
}

/** Returns the change that an attempt makes to its delivery: delivered, failed, or due again. One without a connection is none. */
function toDeliveryChange(
  before: number,
  { status, error, retryAfterMs = 0, refused, postponed, heldMs }: Result,
  now: number,
  fraction: number,
): Partial<Delivery> {
  // Behind what has waited longer; the wait for a connection is its pause.
  if (postponed) return { dueAt: now }
  const attempts = before + 1
  if (error === null) return { state: 'delivered', attempts, status, error, finishedAt: now }
  if (heldMs !== undefined) return { attempts, status, error, dueAt: now + heldMs }
  const pause = schedule[attempts]
  if (pause === undefined || status === 410 || refused)
    return { state: 'failed', attempts, status, error, finishedAt: now }
  const varied = pause * (1 - variation + 2 * variation * fraction)
  return { attempts, status, error, dueAt: Math.round(now + Math.max(varied, retryAfterMs)) }
}
