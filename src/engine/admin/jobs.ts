import { parseExact } from '../../api/values/json.js'
import type { Connection } from '../../storage/driver/connection.js'
import { holdCredits } from '../credits/ledger.js'
import { buildBody } from '../deliveries/payloads.js'
import { personaTable } from '../handlers/personas.js'
import {
  type Delivery,
  type DeliveryFilter,
  findDelivery,
  listDeliveries,
  replayDeliveries,
} from '../tables/deliveries.js'
import {
  type AsyncJob,
  countJobs,
  findJob,
  insertEnrichments,
  insertJob,
  type JobFilter,
  type JobRecord,
  type JobState,
  listEnrichments,
  listJobs,
  listRecords,
  readFirstHold,
} from '../tables/jobs.js'
import { type ListedCompany, listCompanies } from '../tables/lists.js'
import { findWorkspace, listMembers } from '../tables/members.js'
import { AdminError, type AdminPorts, readCurrent, UnknownNameError } from './workspaces.js'

/** Lists and retries accepted work and its deliveries. */
export function jobAdmin(ports: AdminPorts) {
  const { store, clock } = ports
  const reading = <T>(work: (tx: Connection, workspaceId: string) => T | Promise<T>) =>
    store.read(async (tx) => work(tx, (await readCurrent(tx, clock)).workspace.id))
  const writing = <T>(work: (tx: Connection, workspaceId: string, now: number) => T | Promise<T>) =>
    store.transaction(async (tx) => {
      const { workspace, now } = await readCurrent(tx, clock)
      return work(tx, workspace.id, now)
    })
  return {
    /** Jobs of the workspace in use, newest first. */
    jobs: (limit: number, state?: JobState): Promise<readonly AsyncJob[]> =>
      reading((tx, id) => listJobs(tx, id, state ? { state } : {}, { skip: 0, limit })),
    /** Returns the ids of jobs that begin so, the newest first. */
    jobsStartingWith: (
      prefix: string,
      limit: number,
      filter: Pick<JobFilter, 'kind' | 'isSearch'> = {},
    ): Promise<readonly string[]> =>
      reading(async (tx, id) => idsOf(await listJobs(tx, id, { ...filter, prefix }, { skip: 0, limit }))),
    /** Returns the ids of all personas, the newest first. */
    personaIds: (): Promise<readonly string[]> =>
      reading(async (tx, id) =>
        idsOf(await personaTable.all(tx, 'WHERE workspace_id = ? ORDER BY created_at DESC, id DESC', id)),
      ),
    job: (id: string): Promise<AsyncJob> => reading((tx, workspaceId) => readJob(tx, workspaceId, id)),
    /** Records of a job after an ordinal. */
    jobRecords: (id: string, after: number, limit: number): Promise<readonly JobRecord[]> =>
      reading(async (tx, workspaceId) => {
        await readJob(tx, workspaceId, id)
        return listRecords(tx, id, { after }, limit)
      }),
    /** Companies of a list after an ordinal, with the accounts they were matched to. */
    listed: (id: string, after: number, limit: number): Promise<readonly ListedCompany[]> =>
      reading(async (tx, workspaceId) => {
        await readJob(tx, workspaceId, id)
        return listCompanies(tx, id, after, limit)
      }),
    /** How many lead searches the workspace has, and how many of them have a lead with contact data. */
    countSearches: (): Promise<{ readonly all: number; readonly enriched: number }> =>
      reading(async (tx, id) => ({
        all: await countJobs(tx, id, { kind: 'lead_search' }),
        enriched: await countJobs(tx, id, { kind: 'lead_search', enriched: true }),
      })),
    /** Queues the work of a failed job again. Returns the new job. */
    retryJob: (id: string): Promise<AsyncJob> =>
      writing((tx, workspaceId, now) => retry(ports, tx, workspaceId, id, now)),
    /** Deliveries of the workspace in use, newest first. */
    deliveries: (filter: DeliveryFilter, limit: number): Promise<readonly Delivery[]> =>
      reading((tx, workspaceId) => listDeliveries(tx, workspaceId, filter, limit)),
    /** Returns the ids of deliveries that begin so, the newest first. */
    deliveriesStartingWith: (prefix: string, limit: number): Promise<readonly string[]> =>
      reading(async (tx, id) => idsOf(await listDeliveries(tx, id, { prefix }, limit))),
    /** A delivery with its body. */
    delivery: (id: string): Promise<Delivery & { readonly body: unknown }> =>
      reading(async (tx, workspaceId) => {
        const delivery = await findDelivery(tx, workspaceId, id)
        if (!delivery)
          throw new UnknownNameError(`There is no delivery ${id}; see prospect engine deliveries list`)
        return { ...delivery, body: parseExact(await buildBody(tx, delivery)) }
      }),
    /** Makes ended deliveries due again, starting with their first attempt. Returns how many. */
    retryDeliveries: (deliveryIds: readonly string[]): Promise<number> =>
      writing((tx, workspaceId, now) => replayDeliveries(tx, workspaceId, deliveryIds, now)),
  }
}

const idsOf = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id)

async function readJob(tx: Connection, workspaceId: string, id: string): Promise<AsyncJob> {
  const job = await findJob(tx, workspaceId, id)
  if (!job) throw new UnknownNameError(`There is no job ${id}; see prospect engine jobs list`)
  return job
}

async function retry(
  { ids }: AdminPorts,
  tx: Connection,
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
  const workspace = await findWorkspace(tx, workspaceId)
  const member = (await listMembers(tx, workspaceId)).find((one) => one.id === failed.memberId)
  if (!workspace || !member) throw new AdminError('The member who requested it no longer exists')
  // The hold of the first time.
  const held = (await readFirstHold(tx, workspaceId, failed.id)) ?? 0
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
  await insertJob(tx, job)
  const enrichments = await listEnrichments(tx, failed.id)
  await insertEnrichments(
    tx,
    enrichments.map((one) => ({ ...one, id: ids.uuid(), jobId: job.id })),
  )
  return job
}
