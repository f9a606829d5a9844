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

/** What told of somebody and is gone: records, contacts of waterfalls, texts of jobs, stored replies. */
export interface ErasedWork {
  readonly records: number
  readonly contacts: number
  readonly jobs: number
  readonly replies: number
}

/** What a row of a run is answered whose reply told of somebody who was forgotten. */
const forgottenReply = { status: 404, body: JSON.stringify({ error: 'forgotten' }) }

/**
 * Takes somebody out of all accepted work and all stored replies; with `dryRun` it only counts. Done again it does the
 * rest of one that was cut short. The numbers of records, and what work cost, stay as they were.
 */
export async function eraseFromWork(store: Store, who: Forgotten, dryRun: boolean): Promise<ErasedWork> {
  const step: Step = dryRun
    ? (work) => store.read((reads) => work(reads))
    : (work) => store.transaction((tx) => work(tx, tx))
  // What was found before is not kept by whoever is at it now.
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

/** Does a step with the store as it is, and with its transaction where it may change something. */
type Step = <T>(work: (reads: Reads, tx?: Transaction) => Promise<T>) => Promise<T>

const jobsAtOnce = 100
const rowsAtOnce = 500

/** The texts of a job and, of a waterfall, its contacts; answers how many of each told of them. */
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

/** The records of a job; where one of them goes, so does the place it may have been. */
async function forgetRecords(step: Step, who: Forgotten, job: AsyncJob): Promise<number> {
  // What a waterfall found is judged with what it was given.
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

/** The reply to a row of a run stays in another form: the row is not paid for again when its run goes on. */
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

/** Rows that are read in portions, and what becomes of each. */
interface Sweep<Row, After> {
  rows(reads: Reads, after: After): readonly Row[] | Promise<readonly Row[]>
  place(row: Row): After
  /** Answers whether the row told of them. */
  forget(row: Row, tx: Transaction | undefined): Promise<boolean>
}

/** Goes through all rows, each portion in a step of its own; answers how many told of them. */
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
    // A transaction may be run again, so it counts for itself.
    told += portion.theirs
    after = portion.last === undefined ? undefined : place(portion.last)
  }
  return told
}

type Waterfall = Extract<Plan, { does: 'waterfall' }>

/** A contact of a waterfall with its result. */
export interface Told {
  readonly enrichment: Enrichment
  readonly record: JobRecord | undefined
  /** Whether it is about them; else it mentions them in what was given to come back. */
  readonly isTheirs: boolean
}

/** The contacts of a waterfall that tell of somebody, by what was given of them or by what was found. */
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
    // What was given says where somebody works of whom a name was found.
    const isTheirs = who.isAbout({ ...given(contacts[ordinal - 1] ?? {}), custom, result })
    return isTheirs || who.isIn(custom) ? [{ enrichment, record, isTheirs }] : []
  })
}

/** The result of another contact, without what its custom attributes say of them. */
export function otherResult(who: Forgotten, { record }: JobRecord): string {
  const result = parseExact(record) as { custom?: unknown }
  return toJson({ ...result, custom: who.without(result.custom) })
}

const given = ({ url, firstName, lastName, companyName, domain }: Contact) => ({
  ...{ network_url: url, first_name: firstName, last_name: lastName, company_name: companyName, domain },
})

/** Whether a job will not go on. */
export const isOver = ({ state }: AsyncJob): boolean => state === 'finished' || state === 'failed'

/** What a job says without somebody, and without the contacts of these ordinals; nothing where that is what it says. */
export function textsWithout(
  job: AsyncJob,
  who: Forgotten,
  ordinals: ReadonlySet<number>,
): Partial<JobTexts> | undefined {
  const { name, custom, error } = job
  const plan = planWithout(job.plan, who, ordinals)
  // A search for them bears their name.
  const strip = plan === job.plan ? who.without : who.unnamed
  const texts = { name: strip(name), plan, custom: who.without(custom), error: who.without(error) }
  const isChanged = Object.entries(texts).some(([key, text]) => text !== job[key as keyof JobTexts])
  return isChanged ? texts : undefined
}

/** A waterfall looks for nobody in their place, and a search by their name finds nobody. */
function planWithout(plan: Plan, who: Forgotten, ordinals: ReadonlySet<number>): Plan {
  if (plan.does !== 'waterfall') return who.without(plan)
  if (ordinals.size === 0) return plan
  return { ...plan, contacts: plan.contacts.map((contact, at) => (ordinals.has(at + 1) ? {} : contact)) }
}

/** What may stay of a record or reply in JSON: the same text where all of it may, nothing where it is about them. */
export function leftOf(who: Forgotten, json: string): string | undefined {
  const value = parseExact(json)
  if (!who.isIn(value)) return json
  return who.isAbout(value) ? undefined : toJson(who.without(value))
}
