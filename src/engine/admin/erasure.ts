import { randomUUID } from 'node:crypto'
import { idempotencyTtlMs } from '../../api/operations/facts.js'
import type { Clock, Contact } from '../../api/ports/ports.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { toFields } from '../../catalogue/suppression/source.js'
import type { Connection, Driver, StoredRow } from '../../storage/driver/connection.js'
import {
  type DryRun,
  emptiedCount,
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

/** What was erased of accepted work: records, contacts of waterfalls, requests, stored replies; and rows of others emptied. */
export const noWorkErased = { records: 0, contacts: 0, jobs: 0, replies: 0, mentions: 0 }

/** Erases a person from accepted work and stored replies; with `dryRun` it only counts. Numbers and costs stay as they were. */
export async function eraseFromEngine(driver: Driver, subject: SubjectMatcher, dryRun: DryRun) {
  // Workers that run jobs now must not keep what they found before.
  if (!dryRun) await driver.transaction(releaseJobs)
  return { ...noWorkErased, ...(await eraseFromTables(driver, engineTables, subject, dryRun)) }
}

const emptyReply = { status: 404, body: JSON.stringify({ error: 'forgotten' }) }

/** Returns what becomes of columns with texts that are not about somebody: those that mention the person are emptied. */
function emptyTexts(
  subject: SubjectMatcher,
  row: StoredRow,
  blanks: Readonly<Record<string, string | null>>,
): TextErasure | undefined {
  const mentioned = Object.entries(blanks).filter(([column]) => subject.mentions(row[column]))
  if (mentioned.length === 0) return undefined
  return { change: Object.fromEntries(mentioned), counts: emptiedCount }
}

interface TextErasure {
  readonly change: Readonly<Record<string, string | null>>
  readonly counts: typeof emptiedCount
}

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
  // One about the person goes, and its key is free again. Of a bulk request the others stay paid.
  {
    table: 'replies',
    counted: 'replies',
    key: ['workspace_id', 'key'],
    columns: ['body'],
    where: () => ['status IS NOT NULL'],
    erase: ({ key, body }: { readonly key: string; readonly body: string }, subject) =>
      subject.mentions(key) ? { change: 'delete' } : eraseJson(subject, 'body', body),
  },
  // To rows of runs. One about the person stays in another form, so that the row is not paid for again.
  {
    table: 'run_replies',
    counted: 'replies',
    key: ['place'],
    columns: ['body'],
    erase: ({ body }: { readonly body: string }, subject) => eraseJson(subject, 'body', body, emptyReply),
  },
  // What providers were asked about the person, and what they answered. What it cost stays.
  {
    table: 'provider_calls',
    counted: 'replies',
    key: ['workspace_id', 'provider', 'kind', 'identity', 'attempt'],
    columns: ['subject', 'answer', 'delivery', 'vendor_id', 'error'],
    erase: eraseQuestion,
  },
  // Those that are made keep where they went, and a receiver may have answered with what it was sent.
  {
    table: 'deliveries',
    key: ['id'],
    columns: ['url', 'error', 'state'],
    erase: (row: StoredRow, subject) =>
      emptyTexts(subject, row, { error: '', ...(row.state === 'pending' ? {} : { url: '' }) }),
  },
  {
    table: 'lists',
    key: ['id'],
    columns: ['name'],
    erase: (row: StoredRow, subject) => emptyTexts(subject, row, { name: '' }),
  },
  {
    table: 'list_companies',
    key: ['list_id', 'ordinal'],
    columns: ['company'],
    erase: ({ company }: { readonly company: string }, subject) => emptyJson(subject, { company }),
  },
  {
    table: 'personas',
    key: ['id'],
    columns: ['name', 'job_titles', 'excluded_job_titles'],
    erase(row: StoredRow, subject) {
      const [job_titles, excluded_job_titles] = [row.job_titles, row.excluded_job_titles].map(String)
      const lists = emptyJson(subject, { job_titles, excluded_job_titles } as Readonly<
        Record<string, string>
      >)
      const texts = emptyTexts(subject, row, { name: '' })
      return lists || texts
        ? { change: { ...texts?.change, ...lists?.change }, counts: emptiedCount }
        : undefined
    },
  },
  {
    table: 'providers',
    key: ['workspace_id', 'name'],
    columns: ['paused_by'],
    erase: (row: StoredRow, subject) => emptyTexts(subject, row, { paused_by: '' }),
  },
  // Without its condition it would be the order of everybody.
  {
    table: 'provider_orders',
    key: ['workspace_id', 'kind', 'condition'],
    columns: [],
    erase: ({ condition }: { readonly condition: string }, subject) =>
      subject.mentions(condition) ? { change: 'delete' } : undefined,
  },
]

/** Returns the change of columns of JSON that mention the person. */
function emptyJson(
  subject: SubjectMatcher,
  columns: Readonly<Record<string, string>>,
): TextErasure | undefined {
  const change: Record<string, string> = {}
  for (const [name, json] of Object.entries(columns)) {
    const value = parseExact(json)
    const left = subject.without(value, undefined)
    if (left !== value) change[name] = toJson(left)
  }
  return Object.keys(change).length === 0 ? undefined : { change, counts: emptiedCount }
}

/** A hash of a name is personal data, too. */
const goneQuestion = () => ({
  identity: `forgotten ${randomUUID()}`,
  subject: '{}',
  answer: null,
  webhook: null,
  delivery: null,
  vendor_id: null,
  error: null,
})

function eraseQuestion(row: StoredRow, subject: SubjectMatcher): RowErasure | undefined {
  const [asked, answer, delivery] = [row.subject, row.answer, row.delivery].map((text) =>
    text === null ? null : parseExact(String(text)),
  )
  // What was given says where the person works whose name was found.
  const isTheirs = subject.isAbout({ ...(asked as object), ...(answer as object | null) })
  if (isTheirs || [asked, row.vendor_id].some((one) => subject.mentions(one)))
    return { change: goneQuestion() }
  const texts = emptyTexts(subject, row, { error: '' })
  const changed = Object.entries({ answer, delivery }).flatMap(([name, value]) => {
    const left = subject.without(value, null)
    return left === value ? [] : [[name, left === null ? null : toJson(left)] as const]
  })
  if (changed.length === 0 && !texts) return undefined
  const change = { ...texts?.change, ...Object.fromEntries(changed) }
  return { change, counts: emptiedCount }
}

async function eraseJob(row: StoredRow, subject: SubjectMatcher, connection: Connection) {
  const job = jobTable.toRecord(row)
  const contacts = await contactsOf(connection, subject, job)
  const own = contacts.filter(({ isOwn }) => isOwn)
  const texts = emptyJob(job, subject, new Set(own.map(({ ordinal }) => ordinal)))
  if (contacts.length === 0 && !texts) return undefined
  const others = contacts.length - own.length + (texts?.isTheirs === false ? 1 : 0)
  return {
    // Without its token a worker loses the job, which then continues from its last step.
    ...(texts ? { change: { ...texts.change, token: null, lease_until: 0 } } : {}),
    counts: {
      records: own.filter(({ result }) => result !== null).length,
      contacts: own.length,
      jobs: texts?.isTheirs ? 1 : 0,
      mentions: others,
    },
    found: own.map(({ id, ordinal, asked, result }) => ({ enrichment_id: id, ordinal, asked, result })),
    also: async (to: Connection) => {
      for (const contact of contacts) await eraseContact(to, subject, contact)
    },
  }
}

/** Returns the contacts that mention the person, with results; those that are not `isOwn` only do so in texts. */
async function contactsOf(connection: Connection, subject: SubjectMatcher, { id, plan }: AsyncJob) {
  if (plan.does !== 'waterfall') return []
  const sql = `SELECT ${enrichmentTable.list('enrichments')}, record
    FROM enrichments LEFT JOIN records USING (job_id, ordinal) WHERE job_id = ? ORDER BY ordinal`
  const rows = await connection.all<StoredRow & { record: string | null }>(sql, id)
  return rows.flatMap((row) => {
    const enrichment = enrichmentTable.toRecord(row, 'enrichments')
    const { ordinal, custom } = enrichment
    const result = row.record === null ? null : parseExact(row.record)
    const asked = toFields(plan.contacts[ordinal - 1] ?? {})
    // What was given says where the person works whose name was found.
    const isOwn = subject.isAbout({ ...asked, result })
    // Where somebody else was asked for, the result alone may look like theirs.
    return isOwn || subject.mentions(custom) || subject.without(result, null) !== result
      ? [{ ...enrichment, asked, result, isOwn }]
      : []
  })
}

async function eraseContact(
  connection: Connection,
  subject: SubjectMatcher,
  { id, jobId, ordinal, custom, result, isOwn }: Awaited<ReturnType<typeof contactsOf>>[number],
): Promise<void> {
  const rest = isOwn
    ? { firstName: null, lastName: null, custom: null }
    : { custom: subject.without(custom, null) }
  await enrichmentTable.update(connection, rest, 'id = ?', id)
  if (result === null) return
  const at = 'WHERE job_id = ? AND ordinal = ?'
  if (isOwn) await connection.run(`DELETE FROM records ${at}`, jobId, ordinal)
  else {
    const record = toJson(subject.without(result, null))
    await connection.run(`UPDATE records SET record = ? ${at}`, record, jobId, ordinal)
  }
}

/** Returns the columns of a job that change, given the ordinals of the person's contacts; `undefined` when none does. */
function emptyJob(job: AsyncJob, subject: SubjectMatcher, ordinals: ReadonlySet<number>) {
  const { name, webhookUrl, custom, error, state } = job
  const plan = planWithout(job.plan, subject, ordinals)
  // What is delivered yet has to get there.
  const isOver = state === 'finished' || state === 'failed'
  const left = {
    // The name of a search for the person has theirs.
    name: isForThem(plan) || subject.mentions(name) ? '' : name,
    plan,
    custom: subject.without(custom, null),
    error: subject.mentions(error) ? '' : error,
    webhookUrl: isOver && subject.mentions(webhookUrl) ? null : webhookUrl,
  }
  if (Object.entries(left).every(([key, value]) => value === job[key as keyof typeof left])) return undefined
  const { webhookUrl: webhook_url, ...texts } = left
  return {
    isTheirs: plan !== job.plan,
    change: { ...texts, webhook_url, plan: toJson(plan), custom: left.custom && toJson(left.custom) },
  }
}

/** Whether nobody else is left whom a job is for. */
const isForThem = (plan: JobPlan): boolean =>
  plan.does === 'waterfall'
    ? plan.contacts.every((contact) => Object.keys(contact).length === 0)
    : plan.does === 'search' && plan.search === null

/** Returns a plan without the person: a waterfall skips them, and a search that asks for them finds nobody. */
function planWithout(plan: JobPlan, subject: SubjectMatcher, ordinals: ReadonlySet<number>): JobPlan {
  if (plan.does === 'waterfall') {
    const isNamed = ({ columns }: Contact) => columns !== undefined && subject.mentions(columns)
    return ordinals.size === 0 && !plan.contacts.some(isNamed)
      ? plan
      : {
          ...plan,
          contacts: plan.contacts.map((contact, at) => {
            const { columns: _, ...rest } = contact
            return ordinals.has(at + 1) ? {} : isNamed(contact) ? rest : contact
          }),
        }
  }
  // Without one of its filters it would find others.
  return plan.does === 'search' && subject.mentions(plan.search) ? { ...plan, search: null } : plan
}

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
