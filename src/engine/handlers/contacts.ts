import type { InputOf, OutputOf } from '../../api/areas/shapes.js'
import type { RowColumns } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import { operationOn } from '../../api/operations/plans.js'
import { operation } from '../../api/operations/table.js'
import type { Asking, Contact } from '../../api/ports/ports.js'
import { parseExact, toJson } from '../../api/values/json.js'
import type { Connection } from '../../storage/driver/connection.js'
import { createFinishedJob, type NewJob } from '../credits/accept.js'
import {
  type AsyncJob,
  type Enrichment,
  findEnrichment,
  findJob,
  insertJob,
  insertRecords,
  listEnrichments,
  listRecords,
  type WaterfallAsk,
} from '../tables/jobs.js'
import type { HandlerContext, HandlersOf } from './handler.js'
import { withTenure } from './leads.js'
import { type ContactResult, outsideOf, runWaterfall, toContactRecord, toPendingRecord } from './waterfall.js'

export const contacts: HandlersOf<'contacts'> = {
  /** The person with a professional or personal email address; free when not found. */
  'contacts.reverse_lookup': async ({ input, source, now }) => {
    const person = await source.personByEmail(input.email)
    if (!person) throw new ApiError('no_person_found')
    return { output: withTenure(person, now), used: { person: 1 } }
  },
  /** `POST /contacts/single_enrich`: its highest cost is held until it is done. */
  'contacts.enrich': ({ input, ids, asking, columns }) => {
    const id = ids.uuid()
    const enrichment = toEnrichment(id, id, 1, input)
    const { firstName: first_name, lastName: last_name } = enrichment
    return {
      output: { enrichment_id: id, first_name, last_name, status: 'pending', ...echoCustom(enrichment) },
      job: toJob(id, input, [toContact(input, columns[0])], [enrichment], asking()),
    }
  },
  'contacts.bulk_enrich': ({ input, ids, asking, columns }) => {
    const id = ids.uuid()
    const enrichments = input.contacts.map((contact, at) => toEnrichment(ids.uuid(), id, at + 1, contact))
    const contacts = input.contacts.map((contact, at) => toContact(contact, columns[at]))
    return {
      output: {
        enrichment_id: id,
        status: 'queued',
        contacts: enrichments.map((one) => ({ enrichment_id: one.id, ...echoCustom(one) })),
      },
      job: toJob(id, input, contacts, enrichments, asking()),
    }
  },
  /** `POST /contacts/sync_single_enrich`: the result is stored, so that it can be read again. */
  'contacts.enrich_sync': async (work) => {
    const { input, source, ids, now, principal, vendors, asking, columns } = work
    const id = ids.uuid()
    const enrichment = toEnrichment(id, id, 1, input)
    const row = operationOn(operation('contacts.enrich_sync'), principal.workspace.plan)
    const outside = await outsideOf(vendors, asking(), source)
    const contact = toContact(input, columns[0])
    const result = await runWaterfall(await source.providers(), contact, toWaterfallAsk(input), outside)
    const record = toContactRecord(row, result, enrichment)
    const job = createFinishedJob(principal, row.id, toJob(id, input, [contact], [enrichment], asking()), now)
    return {
      output: withPhones(record),
      used: result.used,
      keep: async (tx) => {
        await insertJob(tx, { ...job, spent: record.credits_used }, [enrichment])
        await insertRecords(tx, id, [{ ordinal: 1, status: 'QUALIFIED', record: toJson(record) }])
      },
    }
  },
  /** `POST /contacts/check_data_availability`: only whether a waterfall finds something, never what. */
  'contacts.check_data_availability': async ({ input, source }) => {
    const providers = await source.providers()
    const found = await Promise.all(
      input.contacts.map((contact) => runWaterfall(providers, toContact(contact), askFor(contact))),
    )
    return {
      output: {
        results: found.map(({ used }) => ({
          email: used.email === 1,
          phone: used.phone === 1,
          personal_email: used.personal_email === 1,
        })),
      },
    }
  },
  'contacts.get': readEnrichment,
  'contacts.get_enrichment': readEnrichment,
}

/** Returns a result with its numbers under the names that clients of the synchronous waterfall read, too. */
const withPhones = (result: ContactResult): OutputOf<'contacts.enrich_sync'> =>
  result.phone === undefined
    ? result
    : { ...result, phones: result.phone, phone_status: result.phone.length > 0 ? 'valid' : null }

export const messenger: HandlersOf<'messenger'> = {
  /** Whether a messaging app reaches each number; a duplicate number is charged once. */
  'messenger.validate': async ({ input, source, now }) => {
    const { phone_number, phone_numbers = phone_number === undefined ? [] : [phone_number] } = input
    const reachable = await source.reachable(phone_numbers)
    const checked_at = new Date(now).toISOString()
    return {
      output: {
        results: phone_numbers.map((number) => ({
          phone_number: number,
          reachable: reachable.has(number),
          checked_at,
        })),
      },
      used: { number: reachable.size },
    }
  },
}

/** `GET /contacts/{id}` and `GET /contacts/{id}/single_enrich`: one contact, or all of a bulk enrichment. */
async function readEnrichment({
  input,
  principal,
  store,
}: HandlerContext<'contacts.get' | 'contacts.get_enrichment'>) {
  const output = await store.read(async (tx) => {
    const enrichment = await findEnrichment(tx, input.id)
    const job = await findJob(tx, principal.workspace.id, enrichment?.jobId ?? input.id)
    if (job?.plan.does !== 'waterfall') throw new ApiError('not_found')
    return enrichment ? await readResult(tx, job, enrichment) : await readBulkResult(tx, job)
  })
  return { output }
}

async function readBulkResult(tx: Connection, job: AsyncJob) {
  const contacts: ContactResult[] = []
  for (const enrichment of await listEnrichments(tx, job.id))
    contacts.push(await readResult(tx, job, enrichment))
  const status =
    job.state === 'finished' || job.state === 'failed' ? ('finished' as const) : ('pending' as const)
  return { enrichment_id: job.id, status, total: contacts.length, finished: job.done, contacts }
}

async function readResult(tx: Connection, job: AsyncJob, enrichment: Enrichment): Promise<ContactResult> {
  const { ordinal } = enrichment
  const [stored] = await listRecords(tx, job.id, { after: ordinal - 1, last: ordinal }, 1)
  if (stored) return parseExact(stored.record) as ContactResult
  const { plan } = job
  if (plan.does !== 'waterfall') throw new ApiError('not_found')
  const pending = toPendingRecord(enrichment, plan.contacts[ordinal - 1], plan.ask)
  // A finished contact without a result was erased.
  const isOver = job.state === 'failed' || ordinal <= job.done
  return isOver ? { ...pending, status: 'finished', message: 'No data found' } : pending
}

type ContactInput = InputOf<'contacts.bulk_enrich'>['contacts'][number]
type WaterfallInput = HandlerContext<
  'contacts.enrich' | 'contacts.enrich_sync' | 'contacts.bulk_enrich'
>['input']

/** Asks for everything that a waterfall may be asked for: only a profile leads to phones and personal addresses. */
const askFor = ({ network_url: url }: Omit<ContactInput, 'custom'>): WaterfallAsk => ({
  types: url === undefined ? ['email'] : ['email', 'personal_email', 'phone'],
  mobileOnly: false,
  phoneCountryCodes: [],
})

const toContact = (given: Omit<ContactInput, 'custom'>, columns?: RowColumns): Contact => ({
  url: given.network_url,
  firstName: given.firstname,
  lastName: given.lastname,
  companyName: given.company_name,
  domain: given.domain,
  ...(columns && { columns }),
})

const toWaterfallAsk = ({
  enrichment_type,
  phone_type,
  phone_country_codes = [],
}: WaterfallInput): WaterfallAsk => ({
  types: [...new Set(enrichment_type)],
  mobileOnly: !phone_type.includes('all'),
  phoneCountryCodes: phone_country_codes,
})

const toEnrichment = (id: string, jobId: string, ordinal: number, given: ContactInput): Enrichment => ({
  id,
  jobId,
  ordinal,
  firstName: given.firstname ?? null,
  lastName: given.lastname ?? null,
  custom: given.custom ?? null,
})

const echoCustom = ({ custom }: Enrichment) => (custom ? { custom: { ...custom } } : {})

function toJob(
  id: string,
  input: WaterfallInput,
  contacts: readonly Contact[],
  enrichments: readonly Enrichment[],
  { run, most, others, accept, lostBefore }: Asking,
): NewJob {
  const ask = { ...toWaterfallAsk(input), vendors: { run, most, others, accept, lostBefore } }
  return {
    id,
    name: contacts.length === 1 ? 'Contact' : `${contacts.length} contacts`,
    plan: { does: 'waterfall', ask, contacts },
    expected: contacts.length,
    reserve: Object.fromEntries(ask.types.map((type) => [type, contacts.length])),
    webhookUrl: input.webhook_url,
    enrichments,
  }
}
