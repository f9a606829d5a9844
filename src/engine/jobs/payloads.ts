import { isRefusal, Refusal } from '../../api/calls/errors.js'
import type { Account, Ids } from '../../api/ports/ports.js'
import { ownWebhook } from '../../api/validation/own-webhook.js'
import { toJson } from '../../api/values/json.js'
import type { EventName } from '../../api/webhooks/events.js'
import { newSecret } from '../../api/webhooks/signature.js'
import type { Connection } from '../../storage/driver/connection.js'
import {
  type Delivery,
  listSigningSecrets,
  readDeliveryQueue,
  type SigningSecret,
  setSigningSecrets,
} from '../tables/deliveries.js'
import { type AsyncJob, findJob, type JobRecord, listEnrichments, listRecords } from '../tables/jobs.js'
import { type CompanyList, findList } from '../tables/lists.js'

/** A range of a job's records, the phase it belongs to, and its part number. */
interface DeliverySlice {
  readonly phase: 'record' | 'completed' | 'failed'
  readonly first: number
  readonly last: number
  readonly part?: number
  readonly parts?: number
}

/** Returns what a finished job delivers: each contact of a waterfall, otherwise all records in as few as possible. */
export function sliceCompleted(job: AsyncJob): DeliverySlice[] {
  if (job.kind === 'contact_enrichment') return sliceEach('completed', 1, job.done)
  const isEmpty = job.streaming || job.kind === 'list_import' || job.done === 0
  return isEmpty ? [noRecords('completed')] : toParts(job)
}

/** Returns what a failed job delivers; a waterfall also delivers what it found before. */
export const sliceFailed = ({ kind, done, expected }: AsyncJob): DeliverySlice[] =>
  kind === 'contact_enrichment'
    ? [...sliceEach('completed', 1, done), ...sliceEach('failed', done + 1, expected)]
    : [noRecords('failed')]

const noRecords = (phase: DeliverySlice['phase']): DeliverySlice => ({ phase, first: 1, last: 0 })

export const sliceEach = (phase: DeliverySlice['phase'], first: number, last: number): DeliverySlice[] =>
  Array.from({ length: last - first + 1 }, (_, at) => ({ phase, first: first + at, last: first + at }))

function toParts({ parts, done }: AsyncJob): DeliverySlice[] {
  if (parts.length <= 1) return [{ phase: 'completed', first: 1, last: done }]
  return parts.map((first, at) => ({
    phase: 'completed',
    first,
    last: (parts[at + 1] ?? done + 1) - 1,
    part: at + 1,
    parts: parts.length,
  }))
}

export async function createDeliveries(
  ids: Ids,
  tx: Connection,
  job: AsyncJob,
  slices: readonly DeliverySlice[],
  now: number,
): Promise<Delivery[]> {
  const { webhookUrl: url } = job
  if (url === null || url === ownWebhook || slices.length === 0) return []
  const { last, open } = await readDeliveryQueue(tx, job.id)
  return slices.map(
    (slice, at): Delivery => ({
      id: `msg_${ids.uuid()}`,
      workspaceId: job.workspaceId,
      jobId: job.id,
      seq: last + at + 1,
      event: `${job.kind}.${slice.phase}` as EventName,
      url,
      first: slice.first,
      last: slice.last,
      part: slice.part ?? null,
      parts: slice.parts ?? null,
      state: 'pending',
      attempts: 0,
      // First attempts leave in order: each makes the next one due.
      dueAt: at === 0 && !open ? now : null,
      status: null,
      error: null,
      createdAt: now,
      finishedAt: null,
      token: null,
      leaseUntil: 0,
    }),
  )
}

/** Returns the body of a delivery, built from what its job stored. It is the same every time. */
export const buildBody = async (tx: Connection, delivery: Delivery) => (await buildBodies(tx, [delivery]))[0]

/** Reading ahead stops after the body that exceeds this number of characters. */
const readAtOnce = 1_000_000

/** Returns the bodies of the first deliveries of a job, at least one. */
export async function buildBodies(tx: Connection, deliveries: readonly [Delivery, ...Delivery[]]) {
  const [first, ...others] = deliveries
  const job = await readJob(tx, first)
  const bodies: [string, ...string[]] = [await buildJobBody(tx, job, first)]
  let size = bodies[0].length
  for (const delivery of others) {
    if (size > readAtOnce) break
    const body = await buildJobBody(tx, job, delivery).catch((error: unknown) => {
      // Thrown when this body is requested on its own.
      if (!isRefusal(error, 'engine.records_gone')) throw error
    })
    if (body === undefined) break
    bodies.push(body)
    size += body.length
  }
  return bodies
}

/** Returns the refusal of a delivery of which something is no longer in the store. */
const recordsGone = (of: 'work' | 'records' | 'list'): Refusal => new Refusal('engine.records_gone', { of })

async function readJob(tx: Connection, { workspaceId, jobId }: Delivery): Promise<AsyncJob> {
  const job = await findJob(tx, workspaceId, jobId)
  if (!job) throw recordsGone('work')
  return job
}

async function buildJobBody(tx: Connection, job: AsyncJob, delivery: Delivery): Promise<string> {
  const contact =
    job.kind === 'contact_enrichment'
      ? (await listEnrichments(tx, job.id)).find(({ ordinal }) => ordinal === delivery.first)
      : undefined
  const { id, custom } = contact ?? job
  const parts = await readBodyParts(tx, job, delivery)
  const head = {
    event: delivery.event,
    id,
    created_at: new Date(delivery.createdAt).toISOString(),
    // The result of a contact contains its own custom attributes.
    ...(custom && !(contact && delivery.event.endsWith('.completed')) ? { custom } : {}),
  }
  return joinObjects([toJson(head), ...parts])
}

async function readRecords(tx: Connection, { jobId, first, last }: Delivery): Promise<readonly JobRecord[]> {
  const count = last - first + 1
  if (count === 0) return []
  const records = await listRecords(tx, jobId, { after: first - 1, last }, count)
  // As long as some are left, the remaining records are delivered.
  if (records.length === 0) throw recordsGone('records')
  return records
}

/** Returns the parts of a body after its head, as texts of JSON objects. */
async function readBodyParts(tx: Connection, job: AsyncJob, delivery: Delivery): Promise<string[]> {
  const { event, part, parts } = delivery
  const phase = event.split('.')[1]
  const error = phase === 'failed' ? [toJson({ error: job.error ?? 'Internal error' })] : []
  if (job.kind === 'list_import') {
    const list = await findList(tx, job.workspaceId, job.id)
    if (!list) throw recordsGone('list')
    return [toJson({ list: toListOutput(list) }), ...error]
  }
  if (phase === 'failed') return error
  const records = await readRecords(tx, delivery)
  if (job.kind === 'contact_enrichment') return records.map(({ record }) => record)
  if (phase === 'record') return records.flatMap(({ ordinal, record }) => [toJson({ ordinal }), record])
  const ending = { total: job.done, truncated: job.truncated, ...(parts === null ? {} : { part, parts }) }
  return [`{${joinRecords(job, records)}}`, toJson(ending)]
}

/** Returns completed records under their field name, each with its ordinal. */
function joinRecords({ kind }: AsyncJob, records: readonly JobRecord[]): string {
  if (kind === 'lead_search')
    return `"leads":[${records.map(({ ordinal, record }) => joinObjects([toJson({ ordinal }), record])).join(',')}]`
  return `"accounts":[${records.map(({ ordinal, record }) => JSON.stringify(toFoundCompany(ordinal, record))).join(',')}]`
}

/** Returns a company with its ordinal, and the other findings among its own fields. */
export function toFoundCompany(ordinal: number, record: string): Account & { readonly ordinal: number } {
  const { account, ...found } = JSON.parse(record) as { account: Account }
  return { ordinal, ...account, ...found }
}

export const toListOutput = (list: CompanyList) => ({
  id: list.id,
  name: list.name,
  network_list_id: list.network_list_id,
  created_at: new Date(list.created_at).toISOString(),
  updated_at: new Date(list.updated_at).toISOString(),
  status: list.status,
})

/** Merges the members of several JSON objects into one. */
const joinObjects = (objects: readonly string[]): string =>
  `{${objects
    .map((text) => text.slice(1, -1))
    .filter((members) => members !== '')
    .join(',')}}`

/** How long the old secret keeps signing after a rotation, in engine time. */
const overlapMs = 24 * 3_600_000

/** Returns the secrets that sign a workspace's deliveries, newest first; the first use creates one. */
export async function findOrCreateSecrets(tx: Connection, ids: Ids, workspaceId: string, now: number) {
  const valid = await readValidSecrets(tx, workspaceId, now)
  if (valid.length > 0) return valid
  const secret = newSecret(ids.bytes(secretBytes))
  await setSigningSecrets(tx, workspaceId, [{ secret, until: null }])
  return [secret]
}

const secretBytes = 32

/** Creates a new secret; the previous one stays valid for a day. Returns the new one. */
export async function rotateSecret(tx: Connection, ids: Ids, workspaceId: string, now: number) {
  const secret = newSecret(ids.bytes(secretBytes))
  const [old] = await readValidSecrets(tx, workspaceId, now)
  const until = now + overlapMs
  const before: SigningSecret[] = old === undefined ? [] : [{ secret: old, until }]
  await setSigningSecrets(tx, workspaceId, [{ secret, until: null }, ...before])
  return secret
}

/** Returns the secrets that sign now, newest first; none before the first use. */
export async function readValidSecrets(tx: Connection, workspaceId: string, now: number): Promise<string[]> {
  const secrets = await listSigningSecrets(tx, workspaceId)
  return secrets.filter(({ until }) => until === null || until > now).map(({ secret }) => secret)
}
