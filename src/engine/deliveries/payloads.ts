import { toJson } from '../../api/values/json.js'
import type { EventName } from '../../api/webhooks/events.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'
import type { AsyncJob, CompanyList, Delivery, Enrichment, Ids, JobRecord, Reads } from '../ports/ports.js'

/** Records first to last of a job, what they tell, and as which part of how many they go. */
interface Slice {
  readonly phase: 'record' | 'completed' | 'failed'
  readonly first: number
  readonly last: number
  readonly part?: number
  readonly parts?: number
}

/** One delivery for each record of a job that streams. */
export const createRecordDeliveries = (
  ids: Ids,
  reads: Reads,
  job: AsyncJob,
  records: readonly JobRecord[],
  now: number,
): Promise<Delivery[]> =>
  createDeliveries(
    ids,
    reads,
    job,
    records.map(({ ordinal }) => one('record', ordinal)),
    now,
  )

/** What tells of a finished job: of waterfalls one delivery for each contact, else all records in as few as hold them. */
export function createCompletedDeliveries(
  ids: Ids,
  reads: Reads,
  job: AsyncJob,
  now: number,
): Promise<Delivery[]> {
  if (job.kind === 'contact_enrichment')
    return createDeliveries(ids, reads, job, each('completed', 1, job.done), now)
  const isEmpty = job.streaming || job.kind === 'list_import' || job.done === 0
  return createDeliveries(ids, reads, job, isEmpty ? [none('completed')] : partsOf(job), now)
}

/** What tells of a job that could not be done; of a waterfall, what it had found by then is told all the same. */
export function createFailedDeliveries(
  ids: Ids,
  reads: Reads,
  job: AsyncJob,
  now: number,
): Promise<Delivery[]> {
  if (job.kind !== 'contact_enrichment') return createDeliveries(ids, reads, job, [none('failed')], now)
  const { done, expected } = job
  return createDeliveries(
    ids,
    reads,
    job,
    [...each('completed', 1, done), ...each('failed', done + 1, expected)],
    now,
  )
}

const one = (phase: Slice['phase'], ordinal: number): Slice => ({ phase, first: ordinal, last: ordinal })
const none = (phase: Slice['phase']): Slice => ({ phase, first: 1, last: 0 })

const each = (phase: Slice['phase'], first: number, last: number): Slice[] =>
  Array.from({ length: last - first + 1 }, (_, at) => one(phase, first + at))

function partsOf({ parts, done }: AsyncJob): Slice[] {
  if (parts.length <= 1) return [{ phase: 'completed', first: 1, last: done }]
  return parts.map((first, at) => ({
    ...{ phase: 'completed', first, last: (parts[at + 1] ?? done + 1) - 1 },
    ...{ part: at + 1, parts: parts.length },
  }))
}

async function createDeliveries(
  ids: Ids,
  reads: Reads,
  job: AsyncJob,
  slices: readonly Slice[],
  now: number,
): Promise<Delivery[]> {
  const { webhookUrl: url } = job
  if (url === null || url === ownWebhook || slices.length === 0) return []
  const { last, open } = await reads.deliveryQueue(job.id)
  return slices.map(
    (slice, at): Delivery => ({
      ...{ id: `msg_${ids.uuid()}`, workspaceId: job.workspaceId, jobId: job.id, seq: last + at + 1 },
      ...{ event: `${job.kind}.${slice.phase}` as EventName, url, first: slice.first, last: slice.last },
      ...{ part: slice.part ?? null, parts: slice.parts ?? null, state: 'pending', attempts: 0 },
      // First attempts leave in order: each makes the next one due.
      dueAt: at === 0 && !open ? now : null,
      ...{ status: null, error: null, createdAt: now, finishedAt: null, token: null, leaseUntil: 0 },
    }),
  )
}

/** What a delivery told of is not in the store any more. */
export class RecordsGone extends Error {}

/** The body of a delivery, put together from what its job kept; the same every time it is asked for. */
export async function bodyOf(reads: Reads, delivery: Delivery): Promise<string> {
  return await bodyIn(reads, await jobOf(reads, delivery), delivery)
}

/** Bodies that are read at once end with the one that goes beyond so many characters. */
const readAtOnce = 1_000_000

/** The bodies of the first of some deliveries of a job, of at least one. */
export async function bodiesOf(
  reads: Reads,
  deliveries: readonly [Delivery, ...Delivery[]],
): Promise<[string, ...string[]]> {
  const [first, ...others] = deliveries
  const job = await jobOf(reads, first)
  const bodies: [string, ...string[]] = [await bodyIn(reads, job, first)]
  let size = bodies[0].length
  for (const delivery of others) {
    if (size > readAtOnce) break
    const body = await bodyIn(reads, job, delivery).catch(unlessGone)
    if (body === undefined) break
    bodies.push(body)
    size += body.length
  }
  return bodies
}

/** Whoever asks for this one alone is told. */
function unlessGone(error: unknown): undefined {
  if (!(error instanceof RecordsGone)) throw error
}

async function jobOf(reads: Reads, { workspaceId, jobId }: Delivery): Promise<AsyncJob> {
  const job = await reads.job(workspaceId, jobId)
  if (!job) throw new RecordsGone('The work it tells of was deleted')
  return job
}

async function bodyIn(reads: Reads, job: AsyncJob, delivery: Delivery): Promise<string> {
  const contact = job.kind === 'contact_enrichment' && (await enrichmentOf(reads, job, delivery.first))
  const { id, custom } = contact || job
  const parts = await readBodyParts(reads, job, delivery)
  const head = {
    event: delivery.event,
    id,
    created_at: new Date(delivery.createdAt).toISOString(),
    // The result of a contact has its own.
    ...(custom && !(contact && delivery.event.endsWith('.completed')) ? { custom } : {}),
  }
  return joinObjects([json(head), ...parts])
}

async function enrichmentOf(reads: Reads, job: AsyncJob, ordinal: number): Promise<Enrichment | undefined> {
  return (await reads.enrichments(job.id)).find((enrichment) => enrichment.ordinal === ordinal)
}

async function recordsOf(reads: Reads, { jobId, first, last }: Delivery): Promise<readonly JobRecord[]> {
  const count = last - first + 1
  if (count === 0) return []
  const records = await reads.records(jobId, { after: first - 1, last }, count)
  // Where some are left, the rest of what was found is still to be told.
  if (records.length === 0) throw new RecordsGone('The records it told of were deleted')
  return records
}

/** What a body holds behind its head, as the texts of JSON objects. */
async function readBodyParts(reads: Reads, job: AsyncJob, delivery: Delivery): Promise<string[]> {
  const { event, part, parts } = delivery
  const phase = event.split('.')[1]
  const error = phase === 'failed' ? [json({ error: job.error ?? 'Internal error' })] : []
  if (job.kind === 'list_import') return [json({ list: await readList(reads, job) }), ...error]
  if (phase === 'failed') return error
  const records = await recordsOf(reads, delivery)
  if (job.kind === 'contact_enrichment') return records.map(({ record }) => record)
  if (phase === 'record') return records.flatMap(({ ordinal, record }) => [json({ ordinal }), record])
  const ending = { total: job.done, truncated: job.truncated, ...(parts === null ? {} : { part, parts }) }
  return [`{${all(job, records)}}`, json(ending)]
}

/** Completed records under their name, each with its ordinal. */
function all({ kind }: AsyncJob, records: readonly JobRecord[]): string {
  if (kind === 'lead_search')
    return `"leads":[${records.map(({ ordinal, record }) => joinObjects([json({ ordinal }), record])).join(',')}]`
  return `"accounts":[${records.map(({ ordinal, record }) => withOrdinal(ordinal, record)).join(',')}]`
}

/** A company with its ordinal, and what was found with it among its own fields. */
function withOrdinal(ordinal: number, record: string): string {
  const { account, ...found } = JSON.parse(record) as { account: object }
  return JSON.stringify({ ordinal, ...account, ...found })
}

async function readList(reads: Reads, job: AsyncJob): Promise<unknown> {
  const list = await reads.list(job.workspaceId, job.id)
  if (!list) throw new RecordsGone('The list it tells of was deleted')
  return toListOutput(list)
}

/** A list as the API shows it. */
export const toListOutput = (list: CompanyList) => ({
  id: list.id,
  name: list.name,
  network_list_id: list.networkListId,
  created_at: new Date(list.createdAt).toISOString(),
  updated_at: new Date(list.updatedAt).toISOString(),
  status: list.status,
})

const json = (value: object): string => toJson(value)

/** The members of several JSON objects in one. */
const joinObjects = (objects: readonly string[]): string =>
  `{${objects
    .map((text) => text.slice(1, -1))
    .filter((members) => members !== '')
    .join(',')}}`
