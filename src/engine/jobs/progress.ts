import { type Operation, operation } from '../../api/operations/table.js'
import { toJson } from '../../api/values/json.js'
import { engineTime } from '../clock.js'
import { release, settle } from '../credits/holds.js'
import { costOf, type Used } from '../credits/price.js'
import { takeQuota } from '../credits/quotas.js'
import {
  createCompletedDeliveries,
  createFailedDeliveries,
  createRecordDeliveries,
} from '../deliveries/payloads.js'
import type {
  AsyncJob,
  Clock,
  Ids,
  JobRecord,
  Sender,
  Source,
  Store,
  Targets,
  Transaction,
  Workspace,
} from '../ports/ports.js'
import type { RowCaller } from '../settlement/row-caller.js'

/** What accepted work is done with. */
export interface WorkerPorts {
  readonly store: Store
  readonly source: Source
  readonly clock: Clock
  readonly ids: Ids
  /** Who posts deliveries; without one they wait for a process that has one. */
  readonly sender?: Sender
  /** Where a workspace of so many members may deliver to besides public addresses. */
  readonly targets: (members: number) => Targets
  /** Told of what failed: it will be tried again, or its job has failed for a reason that only we can understand. */
  readonly onTrouble?: (error: unknown) => void
  /** How long work belongs to whoever took it up without a sign of life, in real time: 30 s unless said. */
  readonly leaseMs?: number
  /** Who answers rows that are spread over machines; without one they are left to others. */
  readonly rowCaller?: RowCaller
}

/** Records that a step of a job found, and where the next one begins. */
export interface Step {
  readonly records: readonly unknown[]
  /** How many are done by now, where they are not kept as records. */
  readonly done?: number
  /** Units to pay for, record by record; nothing where they are free. */
  readonly used?: readonly Used[]
  readonly place: string | null
  /** Whether nothing comes behind them. */
  readonly ended: boolean
  /** What else the step changes. */
  readonly also?: (tx: Transaction, now: number) => Promise<void>
}

/** Somebody else has the job now: whatever this process would still write is refused. */
export class LeaseLost extends Error {}

/**
 * Keeps what a step found: records, quota, payment out of the hold, deliveries and how far the job is, all in one
 * transaction, so that no record is kept unpaid and none is paid twice. Answers the job as it is then.
 */
export async function keepStep(ports: WorkerPorts, job: AsyncJob, step: Step): Promise<AsyncJob> {
  return await ports.store.transaction(async (tx) => {
    const { current, workspace, now } = await lockJobState(ports, tx, job)
    const row = operation(current.operation)
    const wanted = step.records.length
    // What takes from a quota is free, so that nothing is taken that the hold cannot pay for.
    const allowed = row.quota ? await takeQuota(tx, workspace, row.quota, wanted, now) : wanted
    const { kept, credits } = payable(row, current.held, step.used, allowed)
    const held = await settle(tx, current, credits, now)
    const records = recordsOf(current, step.records.slice(0, kept))
    await tx.addRecords(current.id, records)
    await step.also?.(tx, now)
    const next: AsyncJob = {
      ...current,
      ...countParts(current, records),
      ...{ done: step.done ?? current.done + kept, place: step.place, held, spent: current.spent + credits },
      truncated: kept < wanted,
      enriched: current.enriched || step.records.slice(0, kept).some(isReachable),
    }
    if (current.streaming)
      await tx.addDeliveries(await createRecordDeliveries(ports.ids, tx, next, records, now))
    return step.ended || next.truncated ? await finish(ports, tx, next, now) : await save(tx, next)
  }, job.workspaceId)
}

/** Ends a job that cannot be done: what it kept stays, what it still holds is given back. */
export async function fail(ports: WorkerPorts, job: AsyncJob, error: string): Promise<AsyncJob> {
  return await ports.store.transaction(async (tx) => {
    const { current, now } = await lockJobState(ports, tx, job)
    await release(tx, current, current.held, now)
    if (current.plan.does === 'list') await tx.changeList(current.id, { status: 'failed', updatedAt: now })
    const next = await save(tx, { ...current, state: 'failed', held: 0, error, finishedAt: now })
    await tx.addDeliveries(await createFailedDeliveries(ports.ids, tx, next, now))
    return next
  }, job.workspaceId)
}

async function finish(ports: WorkerPorts, tx: Transaction, job: AsyncJob, now: number): Promise<AsyncJob> {
  await release(tx, job, job.held, now)
  const next = await save(tx, { ...job, state: 'finished', held: 0, finishedAt: now })
  await tx.addDeliveries(await createCompletedDeliveries(ports.ids, tx, next, now))
  return next
}

async function save(tx: Transaction, job: AsyncJob): Promise<AsyncJob> {
  const { state, done, place, truncated, parts, partBytes, enriched, held, spent, error, finishedAt } = job
  const progress = { state, done, place, truncated, parts, partBytes, enriched, held, spent }
  // Whoever took it up got on with it, so that it is not what ends processes.
  const next = { ...job, attempts: 0 }
  await tx.changeJob(job.id, { ...progress, error, finishedAt, attempts: next.attempts })
  return next
}

/** The job as it is now, its workspace and the engine's time; refuses when another process took the job over. */
async function lockJobState(
  { clock }: WorkerPorts,
  tx: Transaction,
  { id, token, workspaceId }: AsyncJob,
): Promise<{ current: AsyncJob; workspace: Workspace; now: number }> {
  const current = token === null ? undefined : await tx.lockJob(id, token)
  const workspace = await tx.workspace(workspaceId)
  if (!current || !workspace) throw new LeaseLost()
  return { current, workspace, now: engineTime(await tx.clock(), clock.now()) }
}

/** How many of the records that a quota allows the hold can pay for, and what they cost. */
function payable(
  row: Operation,
  held: number,
  used: readonly Used[] | undefined,
  allowed: number,
): { kept: number; credits: number } {
  let credits = 0
  for (let kept = 0; kept < allowed; kept++) {
    const cost = costOf(row, used?.[kept] ?? {})
    if (credits + cost > held) return { kept, credits }
    credits += cost
  }
  return { kept: allowed, credits }
}

const recordsOf = ({ done }: AsyncJob, records: readonly unknown[]): JobRecord[] =>
  records.map((record, at) => ({
    ordinal: done + at + 1,
    status: 'QUALIFIED',
    record: toJson(record),
  }))

/** Whether a record is a lead with an e-mail address or a phone. */
function isReachable(record: unknown): boolean {
  const { lead } = record as { lead?: { most_probable_email?: unknown; phones?: readonly unknown[] } }
  return lead !== undefined && (typeof lead.most_probable_email === 'string' || !!lead.phones?.length)
}

/** Largest body of a delivery, in bytes; a completed one above it goes in parts. */
const largestBody = 5_000_000
/** What a body holds around custom values and records, at most. */
const frameBytes = 500
/** What stands around a record in a body besides its ordinal, at most. */
const aroundBytes = 16

/** Counts records into the parts of the completed body. */
export function countParts(
  { parts: before, partBytes: bytes, custom }: AsyncJob,
  records: readonly JobRecord[],
): Pick<AsyncJob, 'parts' | 'partBytes'> {
  const empty = frameBytes + Buffer.byteLength(toJson(custom))
  const parts = [...before]
  let partBytes = bytes
  for (const { ordinal, record } of records) {
    const size = Buffer.byteLength(record) + String(ordinal).length + aroundBytes
    if (parts.length === 0 || partBytes + size > largestBody) {
      parts.push(ordinal)
      partBytes = empty
    }
    partBytes += size
  }
  return { parts, partBytes }
}
