import type { EventName } from '../api/events.js'
import { ownWebhook } from '../api/own-webhook.js'
import type { AsyncJob, CompanyList, Delivery, Ids, JobRecord, Reads } from './ports.js'

/** Records first to last of a job, and as which part of how many they go. */
interface Slice {
  readonly first: number
  readonly last: number
  readonly part?: number
  readonly parts?: number
}

/** One delivery for each record of a job that streams. */
export const streamed = (
  ids: Ids,
  reads: Reads,
  job: AsyncJob,
  records: readonly JobRecord[],
  now: number,
): Promise<Delivery[]> =>
  made(
    ids,
    reads,
    job,
    'record',
    records.map(({ ordinal }) => ({ first: ordinal, last: ordinal })),
    now,
  )

/** What tells of a finished job: of waterfalls one delivery for each contact, else all records in as few as hold them. */
export function completed(ids: Ids, reads: Reads, job: AsyncJob, now: number): Promise<Delivery[]> {
  const none: Slice = { first: 1, last: 0 }
  if (job.kind === 'contact_enrichment') {
    const each = Array.from({ length: job.done }, (_, at) => ({ first: at + 1, last: at + 1 }))
    return made(ids, reads, job, 'completed', each, now)
  }
  const slices = job.streaming || job.kind === 'list_import' || job.done === 0 ? [none] : partsOf(job)
  return made(ids, reads, job, 'completed', slices, now)
}

/** What tells of a job that could not be done. */
export const failed = (ids: Ids, reads: Reads, job: AsyncJob, now: number): Promise<Delivery[]> =>
  made(ids, reads, job, 'failed', [{ first: 1, last: 0 }], now)

function partsOf({ parts, done }: AsyncJob): Slice[] {
  if (parts.length <= 1) return [{ first: 1, last: done }]
  return parts.map((first, at) => ({
    ...{ first, last: (parts[at + 1] ?? done + 1) - 1 },
    ...{ part: at + 1, parts: parts.length },
  }))
}

async function made(
  ids: Ids,
  reads: Reads,
  job: AsyncJob,
  phase: string,
  slices: readonly Slice[],
  now: number,
): Promise<Delivery[]> {
  const { webhookUrl: url } = job
  if (url === null || url === ownWebhook) return []
  const { last, open } = await reads.deliveryQueue(job.id)
  return slices.map(
    (slice, at): Delivery => ({
      ...{ id: `msg_${ids.uuid()}`, workspaceId: job.workspaceId, jobId: job.id, seq: last + at + 1 },
      ...{ event: `${job.kind}.${phase}` as EventName, url, first: slice.first, last: slice.last },
      ...{ part: slice.part ?? null, parts: slice.parts ?? null, state: 'pending', attempts: 0 },
      // First attempts leave in order: each makes the next one due.
      dueAt: at === 0 && !open ? now : null,
      ...{ status: null, error: null, createdAt: now, finishedAt: null, token: null, leaseUntil: 0 },
    }),
  )
}

/** The body of a delivery, put together from what its job kept; the same every time it is asked for. */
export async function bodyOf(reads: Reads, delivery: Delivery): Promise<string> {
  const job = await reads.job(delivery.workspaceId, delivery.jobId)
  if (!job) throw new Error(`delivery ${delivery.id} has no job`)
  const range = { after: delivery.first - 1, last: delivery.last }
  const count = delivery.last - delivery.first + 1
  const records = count > 0 ? await reads.records(job.id, range, count) : []
  const id = job.kind === 'contact_enrichment' ? await enrichmentId(reads, job, delivery.first) : job.id
  const head = {
    event: delivery.event,
    id,
    created_at: new Date(delivery.createdAt).toISOString(),
    ...(job.custom && job.kind !== 'contact_enrichment' ? { custom: job.custom } : {}),
  }
  return joined([json(head), ...(await carried(reads, job, delivery, records))])
}

async function enrichmentId(reads: Reads, job: AsyncJob, ordinal: number): Promise<string> {
  return (await reads.enrichments(job.id)).find((one) => one.ordinal === ordinal)?.id ?? job.id
}

/** What a body holds behind its head, as the texts of JSON objects. */
async function carried(
  reads: Reads,
  job: AsyncJob,
  { event, part, parts }: Delivery,
  records: readonly JobRecord[],
): Promise<string[]> {
  const phase = event.split('.')[1]
  const error = phase === 'failed' ? [json({ error: job.error ?? 'Internal error' })] : []
  if (job.kind === 'list_import') return [json({ list: await listed(reads, job) }), ...error]
  if (phase === 'failed') return error
  const [only] = records
  if (job.kind === 'contact_enrichment') return only ? [only.record] : []
  if (phase === 'record') return only ? [json({ ordinal: only.ordinal }), only.record] : []
  const ending = { total: job.done, truncated: job.truncated, ...(parts === null ? {} : { part, parts }) }
  return [`{${all(job, records)}}`, json(ending)]
}

/** Completed records under their name, each with its ordinal. */
function all({ kind }: AsyncJob, records: readonly JobRecord[]): string {
  if (kind === 'lead_search')
    return `"leads":[${records.map(({ ordinal, record }) => joined([json({ ordinal }), record])).join(',')}]`
  return `"accounts":[${records.map(({ ordinal, record }) => withOrdinal(ordinal, record)).join(',')}]`
}

/** A company with its ordinal, and what was found with it among its own fields. */
function withOrdinal(ordinal: number, record: string): string {
  const { account, ...found } = JSON.parse(record) as { account: object }
  return JSON.stringify({ ordinal, ...account, ...found })
}

async function listed(reads: Reads, job: AsyncJob): Promise<unknown> {
  const list = await reads.list(job.workspaceId, job.id)
  return list && shownList(list)
}

/** A list as the API shows it. */
export const shownList = (list: CompanyList) => ({
  id: list.id,
  name: list.name,
  network_list_id: list.networkListId,
  created_at: new Date(list.createdAt).toISOString(),
  updated_at: new Date(list.updatedAt).toISOString(),
  status: list.status,
})

const json = (value: object): string => JSON.stringify(value)

/** The members of several JSON objects in one. */
const joined = (objects: readonly string[]): string =>
  `{${objects
    .map((text) => text.slice(1, -1))
    .filter((members) => members !== '')
    .join(',')}}`
