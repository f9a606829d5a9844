import { randomUUID } from 'node:crypto'
import { idempotencyTtlMs } from '../../api/operations/facts.js'
import type { Clock } from '../../api/ports/ports.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import { toFields } from '../../catalogue/suppression/source.js'
import type { Connection, Driver, StoredRow } from '../../storage/driver/connection.js'
import {
  type DryRun,
  eraseFromTables,
  eraseJson,
  type PersonalTable,
  type RowErasure,
  type SubjectMatcher,
} from '../../storage/erasure/traversal.js'
import { engineTime } from '../clock.js'
import { dropRepliesOfRun } from '../credits/settlement.js'
import {
  type AsyncJob,
  dropEndedJobs,
  enrichmentTable,
  type JobPlan,
  jobTable,
  releaseJobs,
} from '../tables/jobs.js'
import { readClock } from '../tables/members.js'
import { dropReplies } from '../tables/replies.js'

/** What was erased of accepted work: records, contacts of waterfalls, texts of jobs, stored replies. */
export const noWorkErased = { records: 0, contacts: 0, jobs: 0, replies: 0 }

/** Erases a person from accepted work and stored replies; with `dryRun` it only counts. Numbers and costs stay as they were. */
export async function eraseFromEngine(driver: Driver, subject: SubjectMatcher, dryRun: DryRun) {
  // Workers that run jobs now must not keep what they found before.
  if (!dryRun) await driver.transaction(releaseJobs)
  return { ...noWorkErased, ...(await eraseFromTables(driver, engineTables, subject, dryRun)) }
}

const emptyReply = { status: 404, body: JSON.stringify({ error: 'forgotten' }) }

const engineTables: readonly PersonalTable[] = [
  // With their contacts: what a waterfall found is judged with what it was given.
  { table: 'jobs', key: ['id'], columns: jobTable.columnNames, portion: 20, erase: eraseJob },
  // Of searches. The place that a finished job reached may name the person, so it goes with their record.
  {
    table: 'records',
    counted: 'records',
    key: ['job_id', 'ordinal'],
    columns: ['record'],
    where: () => ['NOT EXISTS (SELECT 1 FROM enrichments WHERE enrichments.job_id = records.job_id)'],
    erase({ job_id, record }: { readonly job_id: string; readonly record: string }, subject) {
      const erasure = eraseJson(subject, 'record', record)
      const sql = `UPDATE jobs SET place = NULL, token = NULL, lease_until = 0
        WHERE id = ? AND state IN ('finished', 'failed')`
      return erasure && { ...erasure, also: async (connection) => connection.run(sql, job_id) }
    },
  },
  // One about the person goes, and its key is free again.
  {
    table: 'replies',
    counted: 'replies',
    key: ['workspace_id', 'key'],
    columns: ['body'],
    where: () => ['status IS NOT NULL'],
    erase: ({ key, body }: { readonly key: string; readonly body: string }, subject) =>
      subject.mentions(key) ? { change: 'delete' } : eraseReply(subject, body),
  },
  // To rows of runs. One about the person stays in another form, so that the row is not paid for again.
  {
    table: 'run_replies',
    counted: 'replies',
    key: ['place'],
    columns: ['body'],
    erase: ({ body }: { readonly body: string }, subject) => eraseJson(subject, 'body', body, emptyReply),
  },
  {
    table: 'lists',
    key: ['id'],
    columns: ['name'],
    erase: ({ name }: { readonly name: string }, subject) =>
      subject.mentions(name) ? { change: { name: subject.redact(name) } } : undefined,
  },
  // What providers were asked about the person, and what they answered. What it cost stays.
  {
    table: 'provider_calls',
    counted: 'replies',
    key: ['workspace_id', 'provider', 'kind', 'identity', 'attempt'],
    columns: ['subject', 'answer', 'state'],
    erase(row: StoredRow, subject) {
      const [asked, answer] = [row.subject, row.answer].map((text) => text && parseExact(String(text)))
      if (!subject.isAbout({ ...(asked as object), ...(answer as object | null) })) return undefined
      const gone = { subject: '{}', answer: null, vendor_id: null, error: null }
      // A hash of a name is personal data, too.
      return { change: { ...gone, identity: `forgotten ${randomUUID()}` } }
    },
  },
]

async function eraseJob(row: StoredRow, subject: SubjectMatcher, connection: Connection) {
  const job = jobTable.toRecord(row)
  const contacts = await contactsOf(connection, subject, job)
  const own = contacts.filter(({ isOwn }) => isOwn)
  const texts = redactJob(job, subject, new Set(own.map(({ ordinal }) => ordinal)))
  if (contacts.length === 0 && !texts) return undefined
  return {
    // Without its token a worker loses the job, which then continues from its last step.
    ...(texts ? { change: { ...texts, token: null, lease_until: 0 } } : {}),
    counts: {
      records: own.filter(({ result }) => result !== null).length,
      contacts: contacts.length,
      jobs: texts ? 1 : 0,
    },
    found: own.map(({ id, ordinal, asked, result }) => ({ enrichment_id: id, ordinal, asked, result })),
    also: async (to: Connection) => {
      for (const contact of contacts) await eraseContact(to, subject, contact)
    },
  }
}

/** Returns the contacts that mention the person, with results; those that are not `isOwn` only do so in custom attributes. */
async function contactsOf(connection: Connection, subject: SubjectMatcher, { id, plan }: AsyncJob) {
  if (plan.does !== 'waterfall') return []
  const sql = `SELECT ${enrichmentTable.list('enrichments')}, record
    FROM enrichments LEFT JOIN records USING (job_id, ordinal) WHERE job_id = ? ORDER BY ordinal`
  const rows = await connection.all<StoredRow & { record: string | null }>(sql, id)
  return rows.flatMap((row) => {
    const enrichment = enrichmentTable.toRecord(row, 'enrichments')
    const { ordinal, custom } = enrichment
    const result = row.record === null ? null : (parseExact(row.record) as { custom?: unknown })
    const asked = toFields(plan.contacts[ordinal - 1] ?? {})
    // What was given says where the person works whose name was found.
    const isOwn = subject.isAbout({ ...asked, custom, result })
    return isOwn || subject.mentions(custom) ? [{ ...enrichment, asked, result, isOwn }] : []
  })
}

async function eraseContact(
  connection: Connection,
  subject: SubjectMatcher,
  { id, jobId, ordinal, custom, result, isOwn }: Awaited<ReturnType<typeof contactsOf>>[number],
): Promise<void> {
  const rest = isOwn ? { firstName: null, lastName: null, custom: null } : { custom: subject.redact(custom) }
  await enrichmentTable.update(connection, rest, 'id = ?', id)
  if (result === null) return
  const at = 'WHERE job_id = ? AND ordinal = ?'
  if (isOwn) await connection.run(`DELETE FROM records ${at}`, jobId, ordinal)
  else {
    const record = toJson({ ...result, custom: subject.redact(result.custom) })
    await connection.run(`UPDATE records SET record = ? ${at}`, record, jobId, ordinal)
  }
}

/** Returns the columns of a job that change, given the ordinals of the person's contacts; `undefined` when none does. */
function redactJob(job: AsyncJob, subject: SubjectMatcher, ordinals: ReadonlySet<number>) {
  const { name, custom, error } = job
  const plan = redactPlan(job.plan, subject, ordinals)
  // A search for the person has their name.
  const redactName = plan === job.plan ? subject.redact : subject.redactName
  const texts = { name: redactName(name), plan, custom: subject.redact(custom), error: subject.redact(error) }
  if (Object.entries(texts).every(([key, text]) => text === job[key as keyof typeof texts])) return undefined
  return { ...texts, plan: toJson(plan), custom: texts.custom && toJson(texts.custom) }
}

/** Returns a plan without the person: a waterfall skips them, and a search by their name finds no one. */
function redactPlan(plan: JobPlan, subject: SubjectMatcher, ordinals: ReadonlySet<number>): JobPlan {
  if (plan.does !== 'waterfall') return subject.redact(plan)
  if (ordinals.size === 0) return plan
  return { ...plan, contacts: plan.contacts.map((contact, at) => (ordinals.has(at + 1) ? {} : contact)) }
}

/** Erases a stored reply. That of a bulk request loses the record of the person only: the others stay paid. */
function eraseReply(subject: SubjectMatcher, body: string): RowErasure | undefined {
  const reply = parseExact(body)
  if (!isObject(reply) || !isBulk(reply.results)) return eraseJson(subject, 'body', body)
  if (!subject.mentions(reply)) return undefined
  const results = reply.results.map((one) => (subject.isAbout(one) ? null : subject.redact(one)))
  return { change: { body: toJson({ ...reply, results }) } }
}

const isBulk = (results: unknown): results is unknown[] =>
  Array.isArray(results) && results.every((one) => one === null || (isObject(one) && 'id' in one))

/** Jobs deleted per transaction; a job may have many records. */
const jobsAtOnce = 50
const repliesAtOnce = 1_000

/**
 * Deletes ended work of all workspaces that is older than this by the engine's clock, and expired replies. Work in
 * progress, undelivered work and lists stay: searches refer to the companies of a list.
 */
export async function purgeWork(store: Driver, clock: Clock, olderThanMs: number) {
  const now = engineTime(await store.read((tx) => readClock(tx)), clock.now())
  const all = { jobs: 0, records: 0, contacts: 0, deliveries: 0, replies: 0 }
  for (let isMore = true; isMore; ) {
    const dropped = await store.transaction((tx) => dropEndedJobs(tx, now - olderThanMs, jobsAtOnce))
    for (const [name, count] of Object.entries(dropped)) all[name as keyof typeof dropped] += count
    isMore = dropped.jobs > 0
  }
  for (let isMore = true; isMore; ) {
    const dropped = await store.transaction((tx) => dropReplies(tx, now - idempotencyTtlMs, repliesAtOnce))
    all.replies += dropped
    isMore = dropped === repliesAtOnce
  }
  return all
}

/** Deletes the replies to rows of runs that no longer exist. Returns how many. */
export async function purgeRunReplies(store: Driver, runs: readonly string[]): Promise<number> {
  let dropped = 0
  for (const run of runs) dropped += await store.transaction((tx) => dropRepliesOfRun(tx, run))
  return dropped
}
