import { parseExact } from '../../api/values/json.js'
import { holdCredits } from '../credits/ledger.js'
import { buildBody } from '../deliveries/payloads.js'
import type {
  AsyncJob,
  Delivery,
  DeliveryFilter,
  JobFilter,
  JobRecord,
  JobState,
  ListedCompany,
  Reads,
  Transaction,
} from '../ports/ports.js'
import { AdminError, type AdminPorts, readCurrent, UnknownNameError } from './workspaces.js'

/** Lists and retries accepted work and its deliveries. */
export function jobAdmin(ports: AdminPorts) {
  const { store, clock } = ports
  const reading = <T>(work: (reads: Reads, workspaceId: string) => T | Promise<T>) =>
    store.read(async (reads) => work(reads, (await readCurrent(reads, clock)).workspace.id))
  const writing = <T>(work: (tx: Transaction, workspaceId: string, now: number) => T | Promise<T>) =>
    store.transaction(async (tx) => {
      const { workspace, now } = await readCurrent(tx, clock)
      return work(tx, workspace.id, now)
    })
  return {
    /** Jobs of the workspace in use, newest first. */
    jobs: (limit: number, state?: JobState): Promise<readonly AsyncJob[]> =>
      reading((reads, id) => reads.jobs(id, state ? { state } : {}, { skip: 0, limit })),
    /** Returns the ids of jobs that begin so, the newest first. */
    jobsStartingWith: (
      prefix: string,
      limit: number,
      filter: Pick<JobFilter, 'kind' | 'isSearch'> = {},
    ): Promise<readonly string[]> =>
      reading(async (reads, id) => idsOf(await reads.jobs(id, { ...filter, prefix }, { skip: 0, limit }))),
    /** Returns the ids of all personas, the newest first. */
    personaIds: (): Promise<readonly string[]> =>
      reading(async (reads, id) =>
        idsOf(await reads.personas(id, { skip: 0, limit: Number.MAX_SAFE_INTEGER })),
      ),
    job: (id: string): Promise<AsyncJob> => reading((reads, workspaceId) => readJob(reads, workspaceId, id)),
    /** Records of a job after an ordinal. */
    jobRecords: (id: string, after: number, limit: number): Promise<readonly JobRecord[]> =>
      reading(async (reads, workspaceId) => {
        await readJob(reads, workspaceId, id)
        return reads.records(id, { after }, limit)
      }),
    /** Companies of a list after an ordinal, with the accounts they were matched to. */
    listed: (id: string, after: number, limit: number): Promise<readonly ListedCompany[]> =>
      reading(async (reads, workspaceId) => {
        await readJob(reads, workspaceId, id)
        return reads.listed(id, after, limit)
      }),
    /** How many lead searches the workspace has, and how many of them have a lead with contact data. */
    countSearches: (): Promise<{ readonly all: number; readonly enriched: number }> =>
      reading(async (reads, id) => ({
        all: await reads.countJobs(id, { kind: 'lead_search' }),
        enriched: await reads.countJobs(id, { kind: 'lead_search', enriched: true }),
      })),
    /** Queues the work of a failed job again. Returns the new job. */
    retryJob: (id: string): Promise<AsyncJob> =>
      writing((tx, workspaceId, now) => retry(ports, tx, workspaceId, id, now)),
    /** Deliveries of the workspace in use, newest first. */
    deliveries: (filter: DeliveryFilter, limit: number): Promise<readonly Delivery[]> =>
      reading((reads, workspaceId) => reads.deliveries(workspaceId, filter, limit)),
    /** Returns the ids of deliveries that begin so, the newest first. */
    deliveriesStartingWith: (prefix: string, limit: number): Promise<readonly string[]> =>
      reading(async (reads, id) => idsOf(await reads.deliveries(id, { prefix }, limit))),
    /** A delivery with its body. */
    delivery: (id: string): Promise<Delivery & { readonly body: unknown }> =>
      reading(async (reads, workspaceId) => {
        const delivery = await reads.delivery(workspaceId, id)
        if (!delivery)
          throw new UnknownNameError(`There is no delivery ${id}; see prospect engine deliveries list`)
        return { ...delivery, body: parseExact(await buildBody(reads, delivery)) }
      }),
    /** Makes ended deliveries due again, starting with their first attempt. Returns how many. */
    retryDeliveries: (deliveryIds: readonly string[]): Promise<number> =>
      writing((tx, workspaceId, now) => tx.replayDeliveries(workspaceId, deliveryIds, now)),
  }
}

const idsOf = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id)

async function readJob(reads: Reads, workspaceId: string, id: string): Promise<AsyncJob> {
  const job = await reads.job(workspaceId, id)
  if (!job) throw new UnknownNameError(`There is no job ${id}; see prospect engine jobs list`)
  return job
}

async function retry(
  { ids }: AdminPorts,
  tx: Transaction,
  workspaceId: string,
  id: string,
  now: number,
): Promise<AsyncJob> {
  const failed = await readJob(tx, workspaceId, id)
  if (failed.state !== 'failed')
    throw new AdminError(`The job ${id} is ${failed.state}; only a failed one can be retried`)
  if (failed.plan.does === 'list')
    throw new AdminError(
      'The import of a list cannot be retried; create the list again: prospect lists create',
    )
  const workspace = await tx.workspace(workspaceId)
  const member = (await tx.members(workspaceId)).find((one) => one.id === failed.memberId)
  if (!workspace || !member) throw new AdminError('The member who requested it no longer exists')
  // The hold of the first time.
  const held = (await tx.heldFor(workspaceId, failed.id)) ?? 0
  const fresh = { place: null, parts: [], partBytes: 0, truncated: false, enriched: false, error: null }
  const job: AsyncJob = {
    ...{ ...failed, ...fresh, id: ids.uuid(), state: 'queued', done: 0, held, spent: 0 },
    ...{ createdAt: now, finishedAt: null, token: null, leaseUntil: 0, attempts: 0 },
  }
  await holdCredits(
    tx,
    { workspace, member, operation: failed.operation, credits: held, topUpUrl: '' },
    job.id,
    now,
  )
  await tx.addJob(job)
  const enrichments = await tx.enrichments(failed.id)
  await tx.addEnrichments(enrichments.map((one) => ({ ...one, id: ids.uuid(), jobId: job.id })))
  return job
}
