import { parseExact, toJson } from '../../api/values/json.js'
import type {
  AsyncJob,
  Contact,
  Enrichment,
  Forgotten,
  JobRecord,
  JobTexts,
  Plan,
  Reads,
  ReplyKey,
  Store,
  Transaction,
} from '../ports/ports.js'

/** What an erasure removed: records, contacts of waterfalls, texts of jobs and stored replies about the subject. */
export interface ErasedWork {
  readonly records: number
  readonly contacts: number
  readonly jobs: number
  readonly replies: number
}

/** Replaces the reply to a row of a run when that reply was about the subject. */
const forgottenReply = { status: 404, body: JSON.stringify({ error: 'forgotten' }) }

/**
 * Erases a subject from all accepted work and all stored replies; with `dryRun` it only counts. A repeated call
 * finishes an interrupted one. The number of records and their cost stay as they were.
 */
export async function eraseFromWork(store: Store, who: Forgotten, dryRun: boolean): Promise<ErasedWork> {
  const step: Step = dryRun
    ? (work) => store.read((reads) => work(reads))
    : (work) => store.transaction((tx) => work(tx, tx))
  // Workers must not keep what they found before the erasure.
  await step(async (_, tx) => void (await tx?.takeBackJobs()))
  const counts = { records: 0, contacts: 0, jobs: 0, replies: 0 }
  for (let after: string | undefined = ''; after !== undefined; ) {
    const from: string = after
    const jobs = await step(async (reads) => reads.jobsBehind(from, jobsAtOnce))
    for (const job of jobs) {
      const { records, contacts, texts } = await step((reads, tx) => forgetInJob(reads, tx, who, job))
      counts.records += records + (await forgetRecords(step, who, job))
      counts.contacts += contacts
      counts.jobs += texts
    }
    after = jobs.at(-1)?.id
  }
  counts.replies = (await forgetReplies(step, who)) + (await forgetRunReplies(step, who))
  return counts
}

/** Runs a step against the store, with a transaction unless this is a dry run. */
type Step = <T>(work: (reads: Reads, tx?: Transaction) => Promise<T>) => Promise<T>

const jobsAtOnce = 100
const rowsAtOnce = 500

/** Erases the subject from the texts of a job and the contacts of a waterfall. Returns how many of each it found. */
async function forgetInJob(
  reads: Reads,
  tx: Transaction | undefined,
  who: Forgotten,
  { workspaceId, id }: AsyncJob,
): Promise<{ records: number; contacts: number; texts: number }> {
  const job = await reads.job(workspaceId, id)
  if (!job) return { records: 0, contacts: 0, texts: 0 }
  const told = await contactsOf(reads, who, job)
  for (const contact of told) await forgetContact(tx, who, contact)
  const theirs = told.filter(({ isTheirs }) => isTheirs)
  const texts = textsWithout(job, who, new Set(theirs.map(({ enrichment }) => enrichment.ordinal)))
  if (texts) await tx?.rewriteJob(id, texts)
  const records = theirs.filter(({ record }) => record !== undefined).length
  return { records, contacts: told.length, texts: texts ? 1 : 0 }
}

async function contactsOf(reads: Reads, who: Forgotten, { id, plan }: AsyncJob): Promise<Told[]> {
  if (plan.does !== 'waterfall') return []
  const records = await reads.records(id, { after: 0 }, plan.contacts.length)
  return toldContacts(who, plan, await reads.enrichments(id), records)
}

async function forgetContact(
  tx: Transaction | undefined,
  who: Forgotten,
  { enrichment, record, isTheirs }: Told,
): Promise<void> {
  const { id, jobId, ordinal, custom } = enrichment
  const blank = { firstName: null, lastName: null, custom: null }
  await tx?.rewriteEnrichment(id, isTheirs ? blank : { custom: who.without(custom) })
  if (record) await tx?.rewriteRecord(jobId, ordinal, isTheirs ? undefined : otherResult(who, record))
}

/** Erases records of a job. The job's position is cleared with them, since it may name the subject. */
async function forgetRecords(step: Step, who: Forgotten, job: AsyncJob): Promise<number> {
  // Results of a waterfall are matched together with their contacts.
  if (job.plan.does === 'waterfall') return 0
  const changed = await sweep(step, 0, {
    rows: (reads, after) => reads.records(job.id, { after }, rowsAtOnce),
    place: ({ ordinal }: JobRecord) => ordinal,
    forget: async ({ ordinal, record }, tx) => {
      const left = leftOf(who, record)
      if (left !== record) await tx?.rewriteRecord(job.id, ordinal, left)
      return left !== record
    },
  })
  if (changed > 0 && isOver(job)) await step(async (_, tx) => tx?.rewriteJob(job.id, { place: null }))
  return changed
}

const forgetReplies = (step: Step, who: Forgotten): Promise<number> =>
  sweep(
    step,
    { workspaceId: '', key: '' },
    {
      rows: (reads, after: ReplyKey) => reads.repliesBehind(after, rowsAtOnce),
      place: (reply) => reply,
      forget: async (reply, tx) => {
        const left = who.isIn(reply.key) ? undefined : leftOf(who, reply.body)
        if (left !== reply.body) await tx?.rewriteReply(reply, left)
        return left !== reply.body
      },
    },
  )

/** Erases replies to rows of runs. A replacement stays, so that a resumed run does not pay for the row again. */
const forgetRunReplies = (step: Step, who: Forgotten): Promise<number> =>
  sweep(step, 0, {
    rows: (reads, after) => reads.runRepliesBehind(after, rowsAtOnce),
    place: ({ id }) => id,
    forget: async ({ id, body }, tx) => {
      const left = leftOf(who, body)
      if (left === body) return false
      const { body: other, status } = left === undefined ? forgottenReply : { body: left, status: undefined }
      await tx?.rewriteRunReply(id, other, status)
      return true
    },
  })

/** Rows that are read in pages, and how each is erased. */
interface Sweep<Row, After> {
  rows(reads: Reads, after: After): readonly Row[] | Promise<readonly Row[]>
  place(row: Row): After
  /** Returns whether the row was about the subject. */
  forget(row: Row, tx: Transaction | undefined): Promise<boolean>
}

/** Visits all rows, one page a transaction. Returns how many were about the subject. */
async function sweep<Row, After>(step: Step, start: After, { rows, place, forget }: Sweep<Row, After>) {
  let told = 0
  for (let after: After | undefined = start; after !== undefined; ) {
    const from: After = after
    const portion = await step(async (reads, tx) => {
      const found = await rows(reads, from)
      let theirs = 0
      for (const row of found) if (await forget(row, tx)) theirs += 1
      return { theirs, last: found.at(-1) }
    })
    // A transaction may run again, so each run counts for itself.
    told += portion.theirs
    after = portion.last === undefined ? undefined : place(portion.last)
  }
  return told
}

type Waterfall = Extract<Plan, { does: 'waterfall' }>

/** A contact of a waterfall that is about the subject or mentions it, with its result. */
export interface Told {
  readonly enrichment: Enrichment
  readonly record: JobRecord | undefined
  /** Whether it is about the subject. Otherwise only its custom attributes mention the subject. */
  readonly isTheirs: boolean
}

/** Returns the contacts of a waterfall that are about the subject or mention it, by their input or their result. */
export function toldContacts(
  who: Forgotten,
  { contacts }: Waterfall,
  enrichments: readonly Enrichment[],
  records: readonly JobRecord[],
): Told[] {
  const found = new Map(records.map((record) => [record.ordinal, record]))
  return enrichments.flatMap((enrichment) => {
    const { ordinal, custom } = enrichment
    const record = found.get(ordinal)
    const result = record && parseExact(record.record)
    // The input says where a person works whose name was found.
    const isTheirs = who.isAbout({ ...given(contacts[ordinal - 1] ?? {}), custom, result })
    return isTheirs || who.isIn(custom) ? [{ enrichment, record, isTheirs }] : []
  })
}

/** Returns the result of another contact, with its custom attributes redacted. */
export function otherResult(who: Forgotten, { record }: JobRecord): string {
  const result = parseExact(record) as { custom?: unknown }
  return toJson({ ...result, custom: who.without(result.custom) })
}

const given = ({ url, firstName, lastName, companyName, domain }: Contact) => ({
  ...{ network_url: url, first_name: firstName, last_name: lastName, company_name: companyName, domain },
})

/** Returns whether a job has ended. */
export const isOver = ({ state }: AsyncJob): boolean => state === 'finished' || state === 'failed'

/**
 * Returns the texts of a job without the subject and the contacts of these ordinals; `undefined` when nothing
 * changes.
 */
export function textsWithout(
  job: AsyncJob,
  who: Forgotten,
  ordinals: ReadonlySet<number>,
): Partial<JobTexts> | undefined {
  const { name, custom, error } = job
  const plan = planWithout(job.plan, who, ordinals)
  // A search for the subject contains their name.
  const strip = plan === job.plan ? who.without : who.unnamed
  const texts = { name: strip(name), plan, custom: who.without(custom), error: who.without(error) }
  const isChanged = Object.entries(texts).some(([key, text]) => text !== job[key as keyof JobTexts])
  return isChanged ? texts : undefined
}

/** Redacts a plan: a contact of the subject becomes empty, and a search by their name finds no one. */
function planWithout(plan: Plan, who: Forgotten, ordinals: ReadonlySet<number>): Plan {
  if (plan.does !== 'waterfall') return who.without(plan)
  if (ordinals.size === 0) return plan
  return { ...plan, contacts: plan.contacts.map((contact, at) => (ordinals.has(at + 1) ? {} : contact)) }
}

/**
 * Returns what may stay of a record or reply in JSON: the same text when all of it may, `undefined` when it is about
 * the subject.
 */
export function leftOf(who: Forgotten, json: string): string | undefined {
  const value = parseExact(json)
  if (!who.isIn(value)) return json
  return who.isAbout(value) ? undefined : toJson(who.without(value))
}
