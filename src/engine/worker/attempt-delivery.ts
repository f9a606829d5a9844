import { engineTime } from '../clock.js'
import { bodiesOf, RecordsGone } from '../deliveries/payloads.js'
import { secretsOf, validSecrets } from '../deliveries/secrets.js'
import type { WorkerPorts } from '../jobs/progress.js'
import type { AttemptResult, Delivery, DeliveryChange, Transaction } from '../ports/ports.js'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** Pauses before each attempt, the first included; each varies by a fifth. */
export const schedule = [0, 5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour]
const variation = 0.2
/** No pause is longer than what a receiver may ask for, a day; engine time. */
export const longestPauseMs = 24 * hour

/** First attempts of one job that follow each other before what came of them is written down. */
export const mostInARow = 100
/** A longer row than this is written down before it goes on. */
const rowMs = 500

/** What came of an attempt, but for the time it took. */
type Result = Omit<AttemptResult, 'ms'>

/**
 * Makes one attempt at each of some claimed deliveries of a job, in their order, and writes down what came of them in
 * one transaction: a process that ends before makes those attempts again, with the same ids. It goes on only behind
 * a success, while they are quick, and until `signal` says stop; whatever is left is due again.
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
    // What our own end has cut off says nothing about the receiver.
    if (!result || (signal.aborted && result.status === null)) break
    results.push(result)
    if (result.error !== null || performance.now() - began > rowMs) break
  }
  const chances = results.map(() => chance(ports.ids.bytes(4)))
  await ports.store.transaction(async (tx) => {
    const now = engineTime(await tx.clock(), ports.clock.now())
    const changes = results.map((result, at): DeliveryChange => {
      const attempts = claimed[at]?.attempts ?? 0
      return toDeliveryChange({ attempts }, result, now, chances[at] ?? 0)
    })
    await writeChanges(tx, claimed, changes, now)
  }, claimed[0].workspaceId)
}

/** Only while the first one is still ours: its holder alone attempts those behind it. Then the next one may leave. */
async function writeChanges(
  tx: Transaction,
  claimed: readonly [Delivery, ...Delivery[]],
  changes: readonly DeliveryChange[],
  now: number,
): Promise<void> {
  const [head] = claimed
  for (const [at, { id, token }] of claimed.entries()) {
    const isOurs = await tx.changeDelivery(id, token, changes[at] ?? {})
    if (at === 0 && !isOurs) return
    if (at >= changes.length) break
  }
  if (head.attempts === 0) await tx.releaseNext(head.jobId, now)
}

/** The bodies of some deliveries in their order, several read at once. */
async function* readBodies(
  { store }: WorkerPorts,
  claimed: readonly [Delivery, ...Delivery[]],
): AsyncGenerator<string, undefined> {
  let left: readonly Delivery[] = claimed
  for (let [first, ...others] = left; first; [first, ...others] = left) {
    const next = [first, ...others] as const
    const bodies = await store.read((reads) => bodiesOf(reads, next))
    left = left.slice(bodies.length)
    yield* bodies
  }
  return undefined
}

/** Posts deliveries of a workspace. */
async function createPoster(
  { store, sender, clock, ids, targets }: WorkerPorts,
  workspaceId: string,
): Promise<(delivery: Delivery, bodies: AsyncGenerator<string>) => Promise<Result | undefined>> {
  const [members, known] = await store.read(async (reads) => [
    await reads.members(workspaceId),
    await validSecrets(reads, workspaceId, engineTime(await reads.clock(), clock.now())),
  ])
  const made = () =>
    store.transaction(
      async (tx) => secretsOf(tx, ids, workspaceId, engineTime(await tx.clock(), clock.now())),
      workspaceId,
    )
  const secrets = known.length > 0 ? known : await made()
  const permitted = targets(members.length)
  return async ({ url, id }, bodies) => {
    try {
      const { value: body } = await bodies.next()
      return await sender?.send({ url, id, timestamp: clock.now(), body, secrets, ...permitted })
    } catch (error) {
      // Nothing brings it back, and the others wait for it.
      if (error instanceof RecordsGone) return { status: null, error: error.message, refused: true }
      throw error
    }
  }
}

/** A number from 0 to 1 of random bytes. */
const chance = (bytes: Uint8Array): number => Buffer.from(bytes).readUInt32BE() / 0xffff_ffff

/** What an attempt makes of its delivery: delivered, given up, or due again. */
export function toDeliveryChange(
  delivery: Pick<Delivery, 'attempts'>,
  { status, error, retryAfterMs = 0, refused }: Result,
  now: number,
  chance: number,
): DeliveryChange {
  const attempts = delivery.attempts + 1
  if (error === null) return { state: 'delivered', attempts, status, error, finishedAt: now }
  const pause = schedule[attempts]
  if (pause === undefined || status === 410 || refused)
    return { state: 'failed', attempts, status, error, finishedAt: now }
  const varied = pause * (1 - variation + 2 * variation * chance)
  return { attempts, status, error, dueAt: Math.round(now + Math.max(varied, retryAfterMs)) }
}
