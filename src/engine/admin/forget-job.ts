import type { AsyncJob, Contact, Enrichment, Forgotten, JobRecord, JobTexts, Plan } from '../ports.js'

type Waterfall = Extract<Plan, { does: 'waterfall' }>

/** A contact of a waterfall with all that tells who it is. */
export interface ToldContact {
  readonly enrichment: Enrichment
  readonly record: JobRecord | undefined
  /** In the words of records: what was given says where somebody works of whom a name was found. */
  readonly told: unknown
}

/** The contacts of a waterfall that have not been forgotten, each with its result. */
export function contactsOf(
  { contacts }: Waterfall,
  enrichments: readonly Enrichment[],
  records: readonly JobRecord[],
): ToldContact[] {
  const found = new Map(records.map((record) => [record.ordinal, record]))
  return enrichments.flatMap((enrichment) => {
    const { ordinal, custom } = enrichment
    const contact = contacts[ordinal - 1] ?? {}
    const record = found.get(ordinal)
    const result = record && (JSON.parse(record.record) as unknown)
    return isNobody(contact) && !record && !custom
      ? []
      : [{ enrichment, record, told: { custom, ...given(contact), result } }]
  })
}

const given = ({ url, firstName, lastName, companyName, domain }: Contact) => ({
  ...{ network_url: url, first_name: firstName, last_name: lastName, company_name: companyName, domain },
})

const isNobody = (contact: Contact): boolean => Object.values(contact).every((value) => value === undefined)

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

/** What may stay of a record or reply in JSON: the same text where all of it may, nothing where it is theirs. */
export function leftOf(who: Forgotten, json: string): string | undefined {
  const value = JSON.parse(json) as unknown
  const left = who.left(value)
  if (left === value) return json
  return left === undefined ? undefined : JSON.stringify(left)
}
