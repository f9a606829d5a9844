import { bodyOf } from './deliveries.js'
import type { Attempted, Delivery, DeliveryChange, Transaction } from './ports.js'
import type { WorkerPorts } from './progress.js'
import { secretsOf } from './secrets.js'
import { engineTime } from './time.js'

/** How long a delivery belongs to whoever attempts it: longer than an attempt can take; real time. */
export const deliveryLeaseMs = 60_000

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** Pauses before each attempt, the first included; each varies by a fifth. */
export const schedule = [0, 5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour]
const variation = 0.2

/** Makes one attempt at a claimed delivery, and writes down what came of it. */
export async function attemptDelivery(ports: WorkerPorts, delivery: Delivery): Promise<void> {
  const { store, sender, clock, ids, targets } = ports
  if (!sender) return
  const { workspaceId } = delivery
  const { body, members } = await store.read(async (reads) => ({
    body: await bodyOf(reads, delivery),
    members: await reads.members(workspaceId),
  }))
  const secrets = await store.transaction(async (tx) =>
    secretsOf(tx, ids, workspaceId, engineTime(await tx.clock(), clock.now())),
  )
  const attempted = await sender.send({
    ...{ url: delivery.url, id: delivery.id, timestamp: clock.now(), body, secrets },
    ...targets(members.length),
  })
  await store.transaction(async (tx) => {
    const now = engineTime(await tx.clock(), clock.now())
    await note(tx, delivery, outcomeOf(delivery, attempted, now, chance(ids.bytes(4))), now)
  })
}

/** The first attempt of the next delivery of a job leaves when that of the one before was made. */
async function note(tx: Transaction, delivery: Delivery, change: DeliveryChange, now: number): Promise<void> {
  const isOurs = await tx.changeDelivery(delivery.id, delivery.token ?? '', change)
  if (isOurs && delivery.attempts === 0) await tx.releaseNext(delivery.jobId, now)
}

/** A number from 0 to 1 of random bytes. */
const chance = (bytes: Uint8Array): number => Buffer.from(bytes).readUInt32BE() / 0xffff_ffff

/** What an attempt makes of its delivery: delivered, given up, or due again. */
export function outcomeOf(
  delivery: Pick<Delivery, 'attempts'>,
  { status, error, retryAfterMs = 0, refused }: Attempted,
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
