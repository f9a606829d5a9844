import * as z from 'zod'
import type { OperationId } from '../operations/table.js'
import { describe } from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'

interface EventRow {
  readonly from: readonly OperationId[]
  /** How the work can progress or end: the second half of an event's name. */
  readonly phases: readonly ('record' | 'completed' | 'failed')[]
}

const imports = ['record', 'completed', 'failed'] as const

export const events = {
  account_import: { from: ['accounts.extract', 'accounts.search'], phases: imports },
  lead_search: {
    from: ['leads.extract', 'leads.advanced_search', 'leads.search', 'intents.post_engagers'],
    phases: imports,
  },
  list_import: { from: ['lists.create'], phases: ['completed', 'failed'] },
  contact_enrichment: { from: ['contacts.enrich', 'contacts.bulk_enrich'], phases: ['completed', 'failed'] },
  hiring_import: { from: ['intents.hiring'], phases: imports },
  stack_import: { from: ['intents.stack'], phases: imports },
  growth_import: { from: ['intents.growth'], phases: imports },
  lookalike_import: { from: ['intents.lookalikes'], phases: imports },
} as const satisfies Record<string, EventRow>

/** A kind of event, such as `lead_search`. */
export type EventKind = keyof typeof events
/** The name of an event, such as `lead_search.completed`. */
export type EventName = {
  [Kind in EventKind]: `${Kind}.${(typeof events)[Kind]['phases'][number]}`
}[EventKind]

const rows = (): [EventKind, EventRow][] => Object.entries(events) as [EventKind, EventRow][]

/** All events, in the order of the table. */
export const eventNames = (): EventName[] =>
  rows().flatMap(([kind, { phases }]) => phases.map((phase) => `${kind}.${phase}` as EventName))

/** Returns the kind of event of an operation's work; `undefined` when the work is done at once. */
export const eventOf = (id: OperationId) => rows().find(([, { from }]) => from.includes(id))?.[0]

export const isCompanyImport = (kind: EventKind): boolean =>
  kind !== 'lead_search' && kind !== 'list_import' && kind !== 'contact_enrichment'

/** Returns the body schema of an event, built on each call. */
export function eventBody(name: EventName): z.ZodObject {
  const [kind, phase] = name.split('.') as [EventKind, EventRow['phases'][number]]
  return z.object({
    event: describe(z.literal(name), 'Name of the event'),
    id: value.uuid('Identifier of the search, import, list or enrichment'),
    created_at: value.moment('When it happened'),
    custom: value.echo(),
    ...bodyFields(kind, phase),
  })
}

function bodyFields(kind: EventKind, phase: EventRow['phases'][number]): z.ZodRawShape {
  if (kind === 'list_import')
    return { list: describe(record.listRecord(), 'The list'), ...failureFields(phase) }
  if (phase === 'failed') return failureFields(phase)
  if (kind === 'contact_enrichment') return record.contactResult().shape
  return phase === 'record' ? recordFields(kind) : { ...completedFields(kind), ...endFields() }
}

/** How a delivery carries a record: in a field, or with its fields beside those of the event. */
export type DeliveryShape = 'nested' | 'flat'

const failureFields = (phase: EventRow['phases'][number]): z.ZodRawShape =>
  phase === 'failed' ? { error: value.string('What went wrong') } : {}

type FieldsByKind = Readonly<Partial<Record<EventKind, () => z.ZodRawShape>>>

/** What the search found out about a company, among its own fields, by the kind of event. */
const measured = {
  hiring_import: () => ({ job_count: value.count('Number of its job postings that match') }),
  growth_import: () => ({
    headcount_growth_percentage: value.maybeCount('Growth of its headcount in 12 months, in percent'),
  }),
  lookalike_import: () => ({
    similarity_score: describe(z.number(), 'Similarity to the companies given, from 0 to 1'),
  }),
} satisfies FieldsByKind

/** Additional findings with a company, by the kind of event. */
const found = {
  hiring_import: () => ({ jobs: value.list(record.jobRecord(), 'Its job postings that match') }),
  stack_import: () => ({ technologies_found: record.technologiesFound() }),
  lookalike_import: () => ({ similarity: record.similarity() }),
} satisfies FieldsByKind

const fieldsOf = (fields: FieldsByKind, kind: EventKind): z.ZodRawShape => fields[kind]?.() ?? {}
const foundWith = (kind: EventKind): z.ZodRawShape => fieldsOf(found, kind)
const accountOf = (kind: EventKind): z.ZodObject => record.accountRecord().extend(fieldsOf(measured, kind))

/** Returns the schema of a company with everything that work of a kind finds out about it. */
export const companyOf = (kind: EventKind): z.ZodObject => accountOf(kind).extend(foundWith(kind))

/** Returns the schema of a company that a search of any kind found. What its kind does not find out is absent. */
export function foundCompany() {
  const ofOneKind = z.object({
    ...measured.hiring_import(),
    ...measured.growth_import(),
    ...measured.lookalike_import(),
    ...found.hiring_import(),
    ...found.stack_import(),
    ...found.lookalike_import(),
  })
  return record.accountRecord().extend({ ordinal: ordinal(), ...ofOneKind.partial().shape })
}

const ordinal = () => value.count('Number of the record in the order found, from 1')

/** A single record, as streaming delivers it. */
function recordFields(kind: EventKind): z.ZodRawShape {
  if (kind === 'lead_search')
    return {
      ordinal: ordinal(),
      lead: describe(record.leadRecord(), 'The person'),
      company: describe(record.accountRecord(), 'The company').nullable(),
    }
  return { ordinal: ordinal(), account: describe(accountOf(kind), 'The company'), ...foundWith(kind) }
}

/** All records, each with its ordinal; additional findings are among the fields of the company. */
function completedFields(kind: EventKind): z.ZodRawShape {
  if (kind === 'lead_search') {
    const lead = record.leadAndCompany().extend({ ordinal: ordinal() })
    return { leads: value.list(lead, 'The leads; empty after streaming') }
  }
  const account = accountOf(kind).extend({ ordinal: ordinal(), ...foundWith(kind) })
  return { accounts: value.list(account, 'The companies; empty after streaming') }
}

const endFields = (): z.ZodRawShape => ({
  total: value.count('Records in all'),
  truncated: value.yesNo('Whether a quota or the credits ended it'),
  part: value.count('Number of this part, from 1; only of a body too large for one delivery').optional(),
  parts: value.count('Number of parts').optional(),
})

export interface ReceivedDelivery {
  /** The sender's `webhook-id`, the same for all attempts; else `sha256:` and the hash of the body. */
  readonly id: string
  /** The unguessable part of the path. */
  readonly path: string
  /** Real time in milliseconds since 1970. */
  readonly receivedAt: number
  /** Its `event`. Without one, `completed` when it carries results, else `record`. */
  readonly event: string
  /** Id of the search, import, list or enrichment, when the body has an `id`. */
  readonly search: string | null
  readonly verified: boolean
  /** The headers that a forwarded copy needs, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The exact bytes that arrived. */
  readonly body: string
}

/** Stores received deliveries. */
export interface Inbox {
  /** Stores a delivery unless it is a duplicate. The result, whether it was new, is durable. */
  keep(delivery: ReceivedDelivery): Promise<boolean>
}

export interface Forward {
  /** Its number in the order of arrival. */
  readonly seq: number
  readonly attempts: number
  /** Fencing token of whoever forwards it. */
  readonly token: string
  readonly delivery: Pick<ReceivedDelivery, 'headers' | 'body'>
}

/** The result of forwarding a delivery. */
export interface Passed {
  readonly ok: boolean
  /** The status of the answer, or why there was none, such as `503` or `connection refused`. */
  readonly answer: string
  /** Whether the receiver wants no more deliveries, so that it is not tried again. */
  readonly isFinal?: boolean
}

/** The deliveries to forward to one address. The first attempts of one search wait for each other. */
export interface Outbox {
  /** Takes at most `limit` due deliveries, and keeps them from other processes for `leaseMs`. */
  take(now: number, limit: number, leaseMs: number): Promise<readonly Forward[]>
  /** Records an attempt. Without `retryAt` it was the last. */
  settle(forward: Forward, passed: Passed, now: number, retryAt?: number): Promise<void>
  /** Releases a delivery that was taken and not finished. */
  release(forward: Forward): Promise<void>
}

/** Returns the path of a receiver of deliveries. */
export const receiverPath = (token: string): string => `/hooks/${token}`
