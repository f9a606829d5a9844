import { isMeteredPlan } from '../../api/operations/plans.js'
import { type Operation, operation } from '../../api/operations/table.js'
import type { Clock, Ids, Sender, Source, Targets, Vendors } from '../../api/ports/ports.js'
import { toJson } from '../../api/values/json.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { readEngineTime } from '../clock.js'
import { releaseHold, settleHold } from '../credits/charge.js'
import { costOf, type Used } from '../credits/cost.js'
import { takeQuota } from '../credits/quotas.js'
import { insertDeliveries } from '../tables/deliveries.js'
import { type AsyncJob, insertRecords, type JobRecord, lockJob, updateJob } from '../tables/jobs.js'
import { updateList } from '../tables/lists.js'
import { findWorkspace } from '../tables/members.js'
import { createDeliveries, sliceCompleted, sliceEach, sliceFailed } from './payloads.js'

export interface WorkerPorts {
  readonly store: Driver
  readonly source: Source
  /** The data vendors of workspaces; without them, only the source is asked. */
  readonly vendors?: Vendors | undefined
  readonly clock: Clock
  readonly ids: Ids
  /** Posts deliveries. Without one, deliveries wait for a process that has one. */
  readonly sender?: Sender
  /** Returns where a workspace with this number of members may deliver to, besides public addresses. */
  readonly targets: (members: number) => Targets
  /** Receives errors: the work will be tried again, or the job has failed because of a bug. */
  readonly onTrouble?: (error: unknown) => void
  /** How long work is leased without a heartbeat, in real time; 30 s by default. */
  readonly leaseMs?: number
  /** How many deliveries are made at once, 512 by default; half of them at most for one workspace. */
  readonly deliveriesAtOnce?: number
}

/** The records that a step of a job found, and where the next step begins. */
export interface JobStep {
  readonly records: readonly unknown[]
  /** Number of records done so far, when they are not stored as records. */
  readonly done?: number
  /** Units to pay for, record by record; absent when they are free. */
  readonly used?: readonly Used[]
  readonly place: string | null
  /** Whether this was the last step. */
  readonly ended: boolean
  /** Further changes of the step. */
  readonly also?: (tx: Connection, now: number) => Promise<void>
}

/** Thrown when another process has the job: every further write of this one is refused. */
export class LeaseLost extends Error {}

/**
 * Stores a step in one transaction: records, quota, payment from the hold, deliveries and progress. So no record is
 * stored unpaid, and none is paid twice (decision 9). Returns the updated job.
 */
export async function keepStep(ports: WorkerPorts, job: AsyncJob, step: JobStep): Promise<AsyncJob> {
  return await ports.store.transaction(async (tx) => {
    const { current, workspace, now } = await lockJobState(ports, tx, job)
    const row = operationOfJob(current)
    const wanted = step.records.length
    // Operations with a quota are free, so the quota never takes units that the hold cannot pay for.
    const isCounted = row.quota !== undefined && isMeteredPlan(workspace.plan)
    const allowed = isCounted ? await takeQuota(tx, workspace, row.quota, wanted, now) : wanted
    const { kept, credits } = limitToHold(row, current.held, step.used, allowed)
    const held = await settleHold(tx, current, credits, now)
    const records = recordsOf(current, step.records.slice(0, kept))
    await insertRecords(tx, current.id, records)
    await step.also?.(tx, now)
    const next: AsyncJob = {
      ...current,
      ...countParts(current, records),
      done: step.done ?? current.done + kept,
      place: step.place,
      held,
      spent: current.spent + credits,
      truncated: kept < wanted,
      enriched: current.enriched || step.records.slice(0, kept).some(isReachable),
    }
    if (current.streaming) {
      const slices = sliceEach('record', current.done + 1, current.done + kept)
      await insertDeliveries(tx, await createDeliveries(ports.ids, tx, next, slices, now))
    }
    return step.ended || next.truncated ? await finish(ports, tx, next, now) : await save(tx, next)
  }, job.workspaceId)
}

/** Returns the operation of a job as it was accepted: one that holds nothing and has spent nothing is free. */
export function operationOfJob({ operation: id, held, spent }: AsyncJob): Operation {
  const row = operation(id)
  return held === 0 && spent === 0 ? { ...row, price: {} } : row
}

/** Ends a job that cannot be done. Stored records stay, and the rest of the hold is released. */
export async function fail(ports: WorkerPorts, job: AsyncJob, error: string): Promise<AsyncJob> {
  return await ports.store.transaction(async (tx) => {
    const { current, now } = await lockJobState(ports, tx, job)
    await releaseHold(tx, current, current.held, now)
    if (current.plan.does === 'list') await updateList(tx, current.id, { status: 'failed', updated_at: now })
    const next = await save(tx, { ...current, state: 'failed', held: 0, error, finishedAt: now })
    await insertDeliveries(tx, await createDeliveries(ports.ids, tx, next, sliceFailed(next), now))
    return next
  }, job.workspaceId)
}

async function finish(ports: WorkerPorts, tx: Connection, job: AsyncJob, now: number): Promise<AsyncJob> {
  await releaseHold(tx, job, job.held, now)
  const next = await save(tx, { ...job, state: 'finished', held: 0, finishedAt: now })
  await insertDeliveries(tx, await createDeliveries(ports.ids, tx, next, sliceCompleted(next), now))
  return next
}

async function save(tx: Connection, job: AsyncJob): Promise<AsyncJob> {
  const { state, done, place, truncated, parts, partBytes, enriched, held, spent, error, finishedAt } = job
  const progress = { state, done, place, truncated, parts, partBytes, enriched, held, spent }
  // The job made progress, so it is not what kills its processes.
  const next = { ...job, attempts: 0 }
  await updateJob(tx, job.id, { ...progress, error, finishedAt, attempts: next.attempts })
  return next
}

/** Locks and returns the job, its workspace and engine time. Throws `LeaseLost` when another process has the job. */
async function lockJobState({ clock }: WorkerPorts, tx: Connection, { id, token, workspaceId }: AsyncJob) {
  const current = token === null ? undefined : await lockJob(tx, id, token)
  const workspace = await findWorkspace(tx, workspaceId)
  if (!current || !workspace) throw new LeaseLost()
  return { current, workspace, now: await readEngineTime(tx, clock) }
}

/** Returns how many of the records that a quota allows the hold can pay for, and their cost. */
function limitToHold(row: Operation, held: number, used: readonly Used[] | undefined, allowed: number) {
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

function isReachable(record: unknown): boolean {
  const { lead } = record as { lead?: { most_probable_email?: unknown; phones?: readonly unknown[] } }
  return lead !== undefined && (typeof lead.most_probable_email === 'string' || !!lead.phones?.length)
}

/** Largest body of a delivery, in bytes; a larger completed body is split into parts. */
const largestBody = 5_000_000
/** Most bytes of a body besides custom attributes and records. */
const frameBytes = 500
/** Most bytes around a record besides its ordinal. */
const aroundBytes = 16

/** Assigns records to the parts of the completed body. */
function countParts({ parts: before, partBytes: bytes, custom }: AsyncJob, records: readonly JobRecord[]) {
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
