import { parseExact, toJson } from '../../api/values/json.js'
import type { AsyncJob, Contact, Enrichment, Forgotten, JobRecord, JobTexts, Plan } from '../ports/ports.js'

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
