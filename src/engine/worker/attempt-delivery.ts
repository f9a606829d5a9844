import { isRefusal } from '../../api/calls/errors.js'
import type { Connection } from '../../storage/driver/connection.js'
import { engineTime } from '../clock.js'
import { buildBodies, findOrCreateSecrets, readValidSecrets } from '../deliveries/payloads.js'
import type { WorkerPorts } from '../jobs/progress.js'
import type { DeliveryResult } from '../ports/ports.js'
import {
  type Delivery,
  type DeliveryChange,
  releaseNextDelivery,
  updateDelivery,
} from '../tables/deliveries.js'
import { listMembers, openSuppressor, readClock } from '../tables/members.js'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** Pauses before each attempt, including the first; each varies by a fifth. */
export const schedule = [0, 5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour]
const variation = 0.2
/** Longest pause that a receiver may ask for; engine time. */
export const longestPauseMs = 24 * hour

/** First attempts of one job whose results are stored together, at most. */
export const mostInARow = 100
/** A series that takes longer than this is stored before it continues. */
const rowMs = 500

/** The result of an attempt without its duration. */
type Result = Omit<DeliveryResult, 'ms'>

/**
 * Attempts some claimed deliveries of a job in order, and stores the results in one transaction. A process that dies
 * before it repeats those attempts with the same ids. The series continues only after a success, while it is quick,
 * and until `signal` aborts. The rest becomes due again.
 */
export async function attemptDeliveries(
  ports: WorkerPorts,
  claimed: readonly [Delivery, ...Delivery[]],
  signal: AbortSignal,
): Promise<void> {
  const began = performance.now()
  const results: Result[] = []
  const post = await createPoster(ports, claimed[0].workspaceId)
  const bodies = readBodies(ports, claimed)
  for (const delivery of claimed) {
    const result = signal.aborted ? undefined : await post(delivery, bodies)
    // An attempt that our own stop cut off says nothing about the receiver.
    if (!result || (signal.aborted && result.status === null)) break
    results.push(result)
    if (result.error !== null || performance.now() - began > rowMs) break
  }
  const chances = results.map(() => toFraction(ports.ids.bytes(4)))
  await ports.store.transaction(async (tx) => {
    const now = engineTime(await readClock(tx), ports.clock.now())
    const changes = results.map((result, at): DeliveryChange => {
      const attempts = claimed[at]?.attempts ?? 0
      return toDeliveryChange({ attempts }, result, now, chances[at] ?? 0)
    })
    await writeChanges(tx, claimed, changes, now)
  }, claimed[0].workspaceId)
}

/** Writes only while the first delivery is still ours: its holder alone attempts those after it. */
async function writeChanges(
  tx: Connection,
  claimed: readonly [Delivery, ...Delivery[]],
  changes: readonly DeliveryChange[],
  now: number,
): Promise<void> {
  const [head] = claimed
  for (const [at, { id, token }] of claimed.entries()) {
    const isOurs = await updateDelivery(tx, id, token, changes[at] ?? {})
    if (at === 0 && !isOurs) return
    if (at >= changes.length) break
  }
  if (head.attempts === 0) await releaseNextDelivery(tx, head.jobId, now)
}

/** Yields the bodies of some deliveries in order, and reads several at once. */
async function* readBodies(
  { store }: WorkerPorts,
  claimed: readonly [Delivery, ...Delivery[]],
): AsyncGenerator<string, undefined> {
  let left: readonly Delivery[] = claimed
  for (let [first, ...others] = left; first; [first, ...others] = left) {
    const next = [first, ...others] as const
    const bodies = await store.read((tx) => buildBodies(tx, next))
    left = left.slice(bodies.length)
    yield* bodies
  }
  return undefined
}

/** Returns a function that posts deliveries of a workspace. */
async function createPoster(
  { store, sender, clock, ids, targets }: WorkerPorts,
  workspaceId: string,
): Promise<(delivery: Delivery, bodies: AsyncGenerator<string>) => Promise<Result | undefined>> {
  const [members, known] = await store.read(async (tx) => [
    await listMembers(tx, workspaceId),
    await readValidSecrets(tx, workspaceId, engineTime(await readClock(tx), clock.now())),
  ])
  const createSecrets = () =>
    store.transaction(
      async (tx) => findOrCreateSecrets(tx, ids, workspaceId, engineTime(await readClock(tx), clock.now())),
      workspaceId,
    )
  const secrets = known.length > 0 ? known : await createSecrets()
  const permitted = targets(members.length)
  const suppressor = await openSuppressor(store, workspaceId)
  return async ({ url, id }, bodies) => {
    try {
      const { value: built } = await bodies.next()
      const body = suppressor && built !== undefined ? await suppressor.delivery(built) : built
      // Nothing is left of it, so that there is nothing to send.
      if (body === undefined && built !== undefined) return { status: null, error: null }
      const attempt = { url, workspaceId, id, timestamp: clock.now(), body, secrets }
      return await sender?.send({ ...attempt, ...permitted })
    } catch (error) {
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
}

/** Returns a number from 0 to 1 made of random bytes. */
const toFraction = (bytes: Uint8Array): number => Buffer.from(bytes).readUInt32BE() / 0xffff_ffff

/** Returns the change that an attempt makes to its delivery: delivered, failed, or due again. One without a connection is none. */
function toDeliveryChange(
  delivery: Pick<Delivery, 'attempts'>,
  { status, error, retryAfterMs = 0, refused, postponed }: Result,
  now: number,
  fraction: number,
): DeliveryChange {
  // Behind what has waited longer; the wait for a connection is its pause.
  if (postponed) return { dueAt: now }
  const attempts = delivery.attempts + 1
  if (error === null) return { state: 'delivered', attempts, status, error, finishedAt: now }
  const pause = schedule[attempts]
  if (pause === undefined || status === 410 || refused)
    return { state: 'failed', attempts, status, error, finishedAt: now }
  const varied = pause * (1 - variation + 2 * variation * fraction)
  return { attempts, status, error, dueAt: Math.round(now + Math.max(varied, retryAfterMs)) }
}
