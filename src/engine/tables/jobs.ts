import type { VendorSpending } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Contact, ContactType, Search } from '../../api/ports/ports.js'
import type { EventKind } from '../../api/webhooks/events.js'
import {
  type Connection,
  joinGiven,
  perDialect,
  readNumber,
  type StoredRow,
  send,
  type Value,
} from '../../storage/driver/connection.js'
import { freeIn, leasesOf } from '../../storage/queue.js'
import { column, type RecordOf, RecordTable, type Slice } from './record-table.js'

/** `queued` → `running` → `finished` or `failed`; the last two are final. */
export const jobStates = ['queued', 'running', 'finished', 'failed'] as const

export type JobState = (typeof jobStates)[number]

export interface WaterfallAsk {
  readonly types: readonly ContactType[]
  readonly mobileOnly: boolean
  /** Only numbers of these countries; all when empty. */
  readonly phoneCountryCodes: readonly string[]
  /** What it may cost at vendors, where its run says so. */
  readonly vendors?: VendorSpending
}

/** What a job does: plain data, so that any process can do or resume it. */
export type JobPlan =
  /** `search` is null where somebody was forgotten whom it asked for: it finds nothing more. */
  | { readonly does: 'search'; readonly search: Search | null; readonly scale: boolean }
  | { readonly does: 'waterfall'; readonly ask: WaterfallAsk; readonly contacts: readonly Contact[] }
  | { readonly does: 'list' }

/** Accepted work that continues after its request. Its id is that of the search, import, list or enrichment. */
export const jobTable = new RecordTable('jobs', {
  id: column.text,
  workspaceId: column.text,
  memberId: column.text,
  operation: column.word<OperationId>(),
  kind: column.word<EventKind>(),
  name: column.text,
  webhookUrl: column.maybeText,
  /** Most records to store; null for all. */
  most: column.maybeNumber,
  /** Records expected when it was accepted. */
  expected: column.number,
  state: column.word<JobState>(),
  /** Records stored so far, numbered from 1. */
  done: column.number,
  /** Where the source continues; null at the start. */
  place: column.maybeText,
  /** Size of the last part of its completed body, in bytes. */
  partBytes: column.number,
  /** Credits it still holds. */
  held: column.number,
  /** Credits it has been charged. */
  spent: column.number,
  error: column.maybeText,
  /** Engine time. */
  createdAt: column.number,
  finishedAt: column.maybeNumber,
  /** Fencing token of its worker. */
  token: column.maybeText,
  /** Real time until which a running job counts as alive. */
  leaseUntil: column.number,
  /** How many times it was taken since it last made progress. */
  attempts: column.number,
  streaming: column.boolean,
  /** Whether a quota or the credits cut it short. */
  truncated: column.boolean,
  /** Whether one of its leads has an email address or a phone. */
  enriched: column.boolean,
  plan: column.json<JobPlan>(),
  custom: column.json<Readonly<Record<string, unknown>> | null>(),
  /** First ordinals of the parts of its completed body. */
  parts: column.json<readonly number[]>(),
})
export type AsyncJob = RecordOf<typeof jobTable>

export const notBegun = {
  state: 'queued',
  done: 0,
  place: null,
  truncated: false,
  parts: [],
  partBytes: 0,
  enriched: false,
  held: 0,
  spent: 0,
  error: null,
  finishedAt: null,
  token: null,
  leaseUntil: 0,
  attempts: 0,
} as const satisfies Partial<AsyncJob>

export interface JobRecord {
  readonly ordinal: number
  readonly status: 'QUALIFIED' | 'DISQUALIFIED'
  readonly record: string
}

/** One contact of a waterfall, with the id it is read by. */
export const enrichmentTable = new RecordTable('enrichments', {
  id: column.text,
  jobId: column.text,
  ordinal: column.number,
  firstName: column.maybeText,
  lastName: column.maybeText,
  custom: column.json<Readonly<Record<string, unknown>> | null>(),
})
export type Enrichment = RecordOf<typeof enrichmentTable>

export interface JobFilter {
  readonly kind?: EventKind
  readonly state?: JobState
  readonly enriched?: boolean
  /** A search of people or companies: no enrichment of contacts, and no list. */
  readonly isSearch?: true
  /** The beginning of its id. */
  readonly prefix?: string
}

/** Records with an ordinal above `after` up to `last`, of one status if given, without the first `skip`. */
interface RecordRange {
  readonly after: number
  readonly last?: number
  readonly status?: JobRecord['status'] | null
  readonly skip?: number
}

const unended = "state IN ('queued', 'running')"
export const jobsQueue = { table: 'jobs', key: ['id'], open: unended } as const
const leases = leasesOf(jobsQueue)
const dueSql = perDialect((dialect) => `SELECT id FROM jobs WHERE ${unended} AND ${freeIn(dialect)} LIMIT 1`)
const begun = ", state = 'running', attempts = attempts + 1"
const takeSql = (where: string, order?: string) =>
  leases.takeSql(jobTable.list(), leases.first(where, order), begun)
/** Takes the oldest job of the next workspace by id. */
const claimNextSql = takeSql('{free} AND workspace_id > ?', 'workspace_id, created_at, id')
const claimGivenSql = takeSql('({free} OR token LIKE ?) AND id = ?')
const lockSql = (where: string) =>
  perDialect(({ forUpdate }) => `SELECT ${jobTable.list()} FROM jobs WHERE id = ? AND ${where}${forUpdate}`)
const lockClaimedSql = lockSql("token = ? AND state = 'running'")
const lockOwnSql = lockSql('workspace_id = ?')
const unfinishedSql = `
  SELECT count(*) FILTER (WHERE state = 'queued') AS queued, count(*) FILTER (WHERE state = 'running') AS running
  FROM jobs WHERE workspace_id = ? AND ${unended}`
const endedSql = `
  SELECT id FROM jobs
  WHERE state IN ('finished', 'failed') AND finished_at < ? AND kind <> 'list_import'
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE job_id = jobs.id AND state = 'pending')
  ORDER BY finished_at, id LIMIT ?`
const holdSql = "SELECT amount FROM movements WHERE workspace_id = ? AND reference = ? AND kind = 'hold'"
const heldSql = 'SELECT coalesce(sum(held), 0) AS held FROM jobs WHERE member_id = ? AND held > 0'
const addRecordSql = 'INSERT INTO records (job_id, ordinal, status, record) VALUES (?, ?, ?, ?)'
const ofStatus = '(CAST(? AS TEXT) IS NULL OR status = ?)'
const recordsSql = `SELECT ordinal, status, record FROM records
  WHERE job_id = ? AND ordinal > ? AND ordinal <= ? AND ${ofStatus} ORDER BY ordinal LIMIT ? OFFSET ?`
const countRecordsSql = `SELECT count(*) AS total FROM records WHERE job_id = ? AND ${ofStatus}`

async function getJob(tx: Connection, sql: string, ...values: Value[]): Promise<AsyncJob | undefined> {
  const row = await tx.get<StoredRow>(sql, ...values)
  return row && jobTable.toRecord(row)
}

export const findJob = (tx: Connection, workspaceId: string, id: string) =>
  jobTable.get(tx, 'WHERE workspace_id = ? AND id = ?', workspaceId, id)

export function listJobs(tx: Connection, workspaceId: string, filter: JobFilter, slice: Slice) {
  const { where, values } = jobConditions(filter)
  return jobTable.slice(tx, slice, `workspace_id = ?${where}`, workspaceId, ...values)
}

export function countJobs(tx: Connection, workspaceId: string, filter: JobFilter): Promise<number> {
  const { where, values } = jobConditions(filter)
  return jobTable.count(tx, `workspace_id = ?${where}`, workspaceId, ...values)
}

const searchSql = ` AND kind NOT IN ('contact_enrichment', 'list_import')`

function jobConditions({ kind, state, enriched, isSearch, prefix }: JobFilter) {
  const { where, values } = joinGiven([
    [`substr(id, 1, ${prefix?.length}) = ?`, prefix],
    ['kind = ?', kind],
    ['state = ?', state],
    ['enriched = ?', enriched === undefined ? undefined : Number(enriched)],
  ])
  return { where: where + (isSearch ? searchSql : ''), values }
}

export const countUnfinishedJobs = async (tx: Connection, workspaceId: string) =>
  (await tx.get<Record<'queued' | 'running', number>>(unfinishedSql, workspaceId)) ?? {
    queued: 0,
    running: 0,
  }

/** Returns whether a job is queued, or running with an expired lease. */
export const isJobDue = async (tx: Connection, leaseMs: number): Promise<boolean> =>
  (await tx.get(dueSql(tx), leaseMs)) !== undefined

/** Returns the credits that a job held when it was accepted; `undefined` when it held none. */
export const readFirstHold = async (tx: Connection, workspaceId: string, jobId: string) =>
  (await tx.get<{ amount: number }>(holdSql, workspaceId, jobId))?.amount

export const readHeldBy = (tx: Connection, memberId: string) => readNumber(tx, heldSql, memberId)

/** Stores a job, and has workers told of it. */
export async function insertJob(tx: Connection, job: AsyncJob, enrichments: readonly Enrichment[] = []) {
  if (job.state === 'queued') tx.announce?.()
  await jobTable.insert(tx, job)
  for (const enrichment of enrichments) await enrichmentTable.insert(tx, enrichment)
}

/**
 * Takes a job that is queued or whose lease expired: the given one, or the oldest of the first workspace whose id
 * follows `after`, and of all workspaces when none does; `undefined` when there is none.
 * No other process gets it while the lease lasts. A lease does not keep out its own `owner`, the first word of the token.
 */
export async function claimJob(
  tx: Connection,
  {
    token,
    id,
    owner,
    after = '',
    leaseMs,
  }: {
    readonly token: string
    readonly leaseMs: number
    readonly id?: string
    readonly owner?: string
    readonly after?: string
  },
): Promise<AsyncJob | undefined> {
  const values = [token, leaseMs, leaseMs]
  if (id !== undefined)
    return await getJob(tx, claimGivenSql(tx), ...values, owner === undefined ? '' : `${owner} %`, id)
  const next = await getJob(tx, claimNextSql(tx), ...values, after)
  return next ?? (after === '' ? undefined : await getJob(tx, claimNextSql(tx), ...values, ''))
}

/** Locks and returns the job, if this token still has it. */
export const lockJob = (tx: Connection, id: string, token: string) =>
  getJob(tx, lockClaimedSql(tx), id, token)

/** Locks and returns a job of a workspace, whether or not a worker has it. */
export const lockJobOf = (tx: Connection, workspaceId: string, id: string) =>
  getJob(tx, lockOwnSql(tx), id, workspaceId)

/** Returns whether a token has a job: a standby that does not know of that may lack a part of what the job is about. */
export const hasJob = (tx: Connection, id: string, token: string) => leases.has(tx, token, id)

/** Makes the lease of a job last so much longer from now on. Returns whether this token still had it. */
export const renewJob = (tx: Connection, id: string, token: string, leaseMs: number) =>
  leases.extend(tx, token, leaseMs, id)

export async function updateJob(tx: Connection, id: string, change: Partial<AsyncJob>): Promise<void> {
  const statement = jobTable.updateStatement(change, 'id = ?', id)
  if (statement) await send(tx, ...statement)
}

/** Returns the records of a range in order, at most `limit`. */
export const listRecords = async (
  tx: Connection,
  jobId: string,
  { after, last = Number.MAX_SAFE_INTEGER, status = null, skip = 0 }: RecordRange,
  limit: number,
) => tx.all<JobRecord>(recordsSql, jobId, after, last, status, status, limit, skip)

export const countRecords = (tx: Connection, jobId: string, status: JobRecord['status'] | null = null) =>
  readNumber(tx, countRecordsSql, jobId, status, status)

export async function insertRecords(tx: Connection, jobId: string, records: readonly JobRecord[]) {
  for (const { ordinal, status, record } of records)
    await send(tx, addRecordSql, jobId, ordinal, status, record)
}

export const findEnrichment = (tx: Connection, id: string) => enrichmentTable.get(tx, 'WHERE id = ?', id)

export const listEnrichments = (tx: Connection, jobId: string) =>
  enrichmentTable.all(tx, 'WHERE job_id = ? ORDER BY ordinal', jobId)

/** Takes all jobs from their workers; returns how many. */
export async function releaseJobs(tx: Connection): Promise<number> {
  return await tx.run("UPDATE jobs SET token = NULL, lease_until = 0 WHERE state = 'running'")
}

/** Drops the oldest jobs that ended before, with what is theirs; not those with deliveries to make, nor imports of lists. */
export async function dropEndedJobs(tx: Connection, before: number, limit: number) {
  const ended = await tx.all<{ id: string }>(endedSql, before, limit)
  return await dropJobs(
    tx,
    ended.map(({ id }) => id),
  )
}

/** Drops jobs with all that refers to them. Returns how many rows. */
export async function dropJobs(tx: Connection, jobIds: readonly string[]) {
  const ids = JSON.stringify(jobIds)
  const drop = (table: string, column: string) =>
    tx.run(`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`, ids)
  return {
    records: await drop('records', 'job_id'),
    contacts: await drop('enrichments', 'job_id'),
    deliveries: await drop('deliveries', 'job_id'),
    jobs: await drop('jobs', 'id'),
  }
}
